"""k-DF, section 6.1.2: sharing incentive and envy-freeness of 2-DF over all combinations."""

from __future__ import annotations

from fairlead.studies.claims import Row, compare
from fairlead.studies.kdf.combinations import MORE, Judged, capacities, enumeration, mean, wins
from fairlead.studies.pictures.charts import bars
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

PAPER = {3: ("0.04", "64.0%", "37.2%"), 5: ("0.08", "58.8%", "38.7%")}
BECAUSE = (
    "perhaps the paper's solver or its counting was not exact; it does not say how it counted. All"
    " combinations are gone through here, each exactly"
)


def run(setting: Setting) -> Findings:
    """Goes through all combinations."""
    rows: list[Row] = []
    parts: dict[str, list[float]] = {"envy-free": [], "… where 2-DF wins": []}
    for capacity in capacities(setting):
        found = enumeration(capacity, setting)
        gain, free, of_wins = PAPER[capacity]
        has = [has_sharing_incentive(one, capacity) for one in found]
        more = [one.total("2-DF") - one.total("DRF") for one in found]
        gained = mean(found, [m * h for m, h in zip(more, has, strict=True)])
        rows.append(
            compare(
                f"C = {capacity}: tasks gained where the sharing incentive holds",
                gain,
                gained / mean(found, list(map(float, has))),
                BECAUSE,
            )
        )
        envy_free = [is_envy_free(one) for one in found]
        part = mean(found, list(map(float, envy_free)))
        both = mean(found, [float(e and wins(o)) for e, o in zip(envy_free, found, strict=True)])
        winning = both / mean(found, [float(wins(one)) for one in found])
        rows.append(compare(f"C = {capacity}: envy-free cases", free, part, BECAUSE))
        rows.append(compare(f"C = {capacity}: … where 2-DF wins", of_wins, winning, BECAUSE))
        parts["envy-free"].append(100 * part)
        parts["… where 2-DF wins"].append(100 * winning)
    names = [f"C = {capacity}" for capacity in capacities(setting)]
    return Findings(
        rows=tuple(rows),
        tables=(Table("envy", {"capacity": names, **parts}),),
        pictures=(
            Picture(
                "Envy-free cases of 2-DF",
                "Of all combinations, and of those in which 2-DF completes more tasks than DRF.",
                (bars(names, parts, "envy-free (%)", numbers=".1f"),),
            ),
        ),
    )


def has_sharing_incentive(one: Judged, capacity: int) -> bool:
    """Whether everybody has a third of its dominant resource, as the paper has it."""
    return all(
        3 * mine * max(demand) >= capacity * (1 - MORE)
        for mine, demand in zip(one.tasks["2-DF"], one.case, strict=True)
    )


def is_envy_free(one: Judged) -> bool:
    """Whether nobody could run more tasks with what another has."""
    mine = one.tasks["2-DF"]
    return all(
        min(mine[b] * one.case[b][r] / one.case[a][r] for r in range(3)) <= mine[a] * (1 + MORE)
        for a in range(3)
        for b in range(3)
        if a != b
    )


STUDY = About(
    figure="section 6.1.2",
    title="sharing incentive and envy",
    shows="Of the cases of Table 1: by how much 2-DF beats DRF where its allocation has the sharing"
    " incentive, how many cases are envy-free, and how many of those in which 2-DF completes more.",
)
