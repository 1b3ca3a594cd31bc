"""Choosy, Figure 1: four users with constraints on ten machines."""

from __future__ import annotations

from fairlead.model.eligibility import may_use
from fairlead.studies.choosy.examples import FIGURE_1, TEN
from fairlead.studies.claims import compare
from fairlead.studies.pictures.charts import holdings
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table


def run(_: Setting) -> Findings:
    """Counts which user can use which machine."""
    can = {m.name: [user.name for user in FIGURE_1 if may_use(user, m)] for m in TEN}
    of_users = [sum(user.name in names for names in can.values()) for user in FIGURE_1]
    shared = sum(len(names) > 1 for names in can.values())
    parts = {machine: dict.fromkeys(names, 1.0) for machine, names in can.items()}
    return Findings(
        rows=(
            compare("machines that u1 … u4 can use", "2, 2, 5 and 6", of_users),
            compare("machines that several users can use", "4", shared),
        ),
        tables=(Table.of_rows("can-use", ("machine", "users"), [*_rows(can)]),),
        pictures=(
            Picture(
                "Who can use which machine",
                "A block for each user that can use the machine.",
                (
                    holdings(
                        parts,
                        "users who can use it",
                        order=[user.name for user in FIGURE_1],
                        y_most=4,
                    ),
                ),
            ),
        ),
    )


def _rows(can: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(machine, " ".join(names)) for machine, names in can.items()]


STUDY = About(
    figure="Figure 1",
    title="who can use which machine",
    shows="Four users share ten machines: u1 can use m1 and m4, u2 m3 and m4, u3 m2, m3, m4, m6"
    " and m7, u4 m5 to m10.",
)
