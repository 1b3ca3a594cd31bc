"""k-DF, Figure 9: the cases in which 2-DF completes more tasks than DRF."""

from __future__ import annotations

from fairlead.studies.claims import Row, whether
from fairlead.studies.kdf.combinations import Judged, capacities, enumeration, mean, wins
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Panel, Picture
from fairlead.studies.study import About, Findings, Setting, Table

LEAST = {3: 0.0, 5: 0.3}
"""The gain from which a case is in the paper's picture."""


def run(setting: Setting) -> Findings:
    """Sorts the cases by what 2-DF gains."""
    rows: list[Row] = []
    tables: list[Table] = []
    panels: list[Panel] = []
    for capacity in capacities(setting):
        found = enumeration(capacity, setting)
        gains = [one.total("2-DF") / one.total("DRF") - 1 for one in found]
        drawn = sorted(
            (
                (gain, one)
                for gain, one in zip(gains, found, strict=True)
                if wins(one) and gain >= LEAST[capacity]
            ),
            key=lambda each: -each[0],
        )
        part = mean(found, [float(gain >= 0.3) for gain in gains])
        rows.append(
            whether(
                f"C = {capacity}: some cases complete at least 30% more",
                part > 0,
                shown=f"{part:.1%} of all combinations, at most {max(gains):.1%} more",
            )
        )
        by_tasks = sorted((one for _, one in drawn), key=_tasks)
        order = list(range(1, len(drawn) + 1))
        panels.append(
            lines(
                [
                    Line(rule, order, [one.total(rule) for one in by_tasks])
                    for rule in ("2-DF", "DRF")
                ],
                "case, by its tasks",
                "tasks of three users",
                title=f"C = {capacity}: {len(drawn)} cases",
            )
        )
        tables.append(
            Table.of_rows(
                f"cases-{capacity}",
                ("demands", "combinations", "drf", "two_df", "gain"),
                [
                    (str(one.case), one.count, one.total("DRF"), one.total("2-DF"), gain)
                    for gain, one in drawn
                ],
            )
        )
    return Findings(
        rows=tuple(rows),
        tables=tuple(tables),
        pictures=(
            Picture(
                "Where 2-DF completes more tasks than DRF",
                "Cases that differ in more than the order of users and resources, by their"
                " tasks under DRF; for C = 5 those with at least 30% more, as in the paper.",
                tuple(panels),
            ),
        ),
    )


def _tasks(one: Judged) -> tuple[float, float]:
    """The tasks under DRF, then under 2-DF."""
    return one.total("DRF"), one.total("2-DF")


STUDY = About(
    figure="Figure 9",
    title="where 2-DF completes more tasks",
    shows="The cases of Table 1 in which 2-DF completes more tasks than DRF; for C = 5 only those"
    " with at least 30% more. The picture's points are not in the paper's text, so only their"
    " existence can be compared.",
)
