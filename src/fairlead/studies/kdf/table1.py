"""k-DF, Table 1: mean total tasks of three users without fairness, with DRF and with 2-DF."""

from __future__ import annotations

from fairlead.studies.claims import Row, compare, contradiction
from fairlead.studies.kdf.combinations import RULES, capacities, enumeration, mean, wins
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

PAPER = {
    3: ({"NFC": "1.62", "DRF": "1.34", "2-DF": "1.39"}, "51.7%"),
    5: ({"NFC": "1.81", "DRF": "1.48", "2-DF": "1.56"}, "58.1%"),
}
BECAUSE = (
    "perhaps the paper's solver or its counting was not exact; it does not say how it counted. All"
    " combinations are gone through here, each exactly"
)


def run(setting: Setting) -> Findings:
    """Goes through all combinations."""
    rows: list[Row] = []
    means: dict[str, list[float]] = {rule: [] for rule in RULES}
    for capacity in capacities(setting):
        found = enumeration(capacity, setting)
        printed, often = PAPER[capacity]
        for rule in RULES:
            ours = mean(found, [one.total(rule) for one in found])
            means[rule].append(ours)
            rows.append(
                compare(f"C = {capacity}, {rule}: mean tasks", printed[rule], ours, BECAUSE)
            )
        more = mean(found, [float(wins(one)) for one in found])
        rows.append(compare(f"C = {capacity}: 2-DF completes more than DRF", often, more, BECAUSE))
        rows.append(
            contradiction(
                f"C = {capacity}: combinations, 3^(3C)",
                f"{3 ** (3 * capacity):,}",
                f"{capacity**9:,}",
                f"the experiment itself ({capacity}^9)",
                sum(one.count for one in found),
            )
        )
    names = [f"C = {capacity}" for capacity in capacities(setting)]
    return Findings(
        rows=tuple(rows),
        tables=(Table("means", {"capacity": names, **means}),),
        pictures=(
            Picture(
                "Mean total tasks",
                "Over all combinations of the demands of three users.",
                (bars(names, means, "tasks of three users", numbers=".3f"),),
            ),
        ),
    )


STUDY = About(
    figure="Table 1",
    title="tasks in total",
    shows="Three users share C of each of three resources; every combination of whole demands"
    " from 1 to C is shared without fairness (NFC: most tasks), by DRF and by 2-DF, and the"
    " total of tasks is averaged.",
    assumes=(
        "A user's second-largest part of a resource is counted with ties.",
        "Combinations that differ in the order of users or resources are shared once.",
    ),
    weight=20.0,
)
