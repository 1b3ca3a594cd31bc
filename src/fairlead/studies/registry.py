"""The studies that there are, by name: `tsf-fig2` is the module `tsf.fig2`."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from fairlead.model.errors import InputError
from fairlead.studies.study import Study

STUDIES = {
    "tsf": ("fig2", "fig3", "fig4", "fig5", "fig5-live", "fig6", "fig7", "google", "table1"),
    "choosy": (
        "fig1",
        "fig2",
        "fig3",
        "fig4",
        "fig5",
        "fig6",
        "fig7",
        "schedulers",
        "fig10",
        "fig14",
        "fig14-live",
        "fig15",
    ),
    "drf": ("demands", "fig3", "alternatives", "slots"),
    "kdf": ("table1", "fig9", "fairness", "fig4", "fig10", "table3", "fig12"),
    "cdrf": ("fig1", "fig2", "fig3", "section3", "theorems", "promises"),
    "ours": ("audit", "gpu", "placement", "growth", "unusable"),
}
"""The studies of each paper: the modules in its folder."""

PAPERS = {"choosy": "Choosy", "kdf": "k-DF", "ours": "Ours"}
"""Papers whose name is not that of their folder, in capitals."""

NAMES = tuple(f"{paper}-{name}" for paper, names in STUDIES.items() for name in names)


def study_of(name: str) -> Study:
    """The study of this name. Raises InputError where there is none."""
    if name not in NAMES:
        close = get_close_matches(name, NAMES, n=1)
        raise InputError(
            f"there is no study {name!r}",
            f"did you mean {close[0]}?" if close else f"there are {', '.join(NAMES)}",
        )
    paper, _, module = name.partition("-")
    found = import_module(f"fairlead.studies.{paper}.{module.replace('-', '_')}")
    return Study(
        **vars(found.STUDY), name=name, paper=PAPERS.get(paper, paper.upper()), run=found.run
    )


def every() -> tuple[Study, ...]:
    """All studies, in the order of the papers."""
    return tuple(map(study_of, NAMES))
