"""CDRF, Figure 3: whole-task allocations of two users, and the lottery between two of them."""

from __future__ import annotations

from fairlead.studies.cases import share, tasks
from fairlead.studies.cdrf.examples import USERS, WHERE
from fairlead.studies.claims import compare, contradiction
from fairlead.studies.pictures.charts import Cloud, points
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

PARETO = ((3, 1), (2, 2), (1, 3), (0, 4))
"""The paper's Pareto-optimal points."""


def run(_: Setting) -> Findings:
    """Draws the lottery of CDRF, and the points between which it draws."""
    found = share(WHERE, USERS, "cdrf-lottery")
    assert found.whole is not None
    lottery = sorted(found.whole.lottery, key=lambda chance: chance.probability)
    ends = [tuple(count for _, count in chance.jobs) for chance in lottery]
    alone = [tasks(share(WHERE, (user,), "tsf", whole=True))[0] for user in USERS]
    point = tasks(found)
    scale = min(one / all_ for one, all_ in zip(point, alone, strict=True))
    return Findings(
        rows=(
            contradiction(
                "whole tasks that u1 and u2 could run alone",
                "4 and 3",
                "3 and 4",
                "section 2.4, with the points (3, 1) and (0, 4) of the same figure,",
                alone,
            ),
            compare("tasks of u1 and u2 in expectation", "12/7 and 16/7", point),
            compare(
                "probability of the less likely allocation, and of the other",
                "2/7 and 5/7",
                [float(chance.probability) for chance in lottery],
            ),
            compare("the less likely allocation", "1 and 3", ends[0]),
            compare("the other", "2 and 2", ends[1]),
            compare(
                "both have the same part of what they could run alone",
                "4/7 and 4/7",
                [one / all_ for one, all_ in zip(point, alone, strict=True)],
            ),
        ),
        tables=(
            Table.of_rows(
                "lottery",
                ("probability", "u1", "u2"),
                [
                    (str(chance.probability), *end)
                    for chance, end in zip(lottery, ends, strict=True)
                ],
            ),
        ),
        pictures=(
            Picture(
                "Whole tasks of u1 and u2",
                "The line goes from nothing to what both could run alone; the lottery's mean is"
                " where it leaves what can be given.",
                (
                    points(
                        [
                            Cloud(
                                "Pareto-optimal (the paper)",
                                [x for x, _ in PARETO],
                                [y for _, y in PARETO],
                            ),
                            Cloud(
                                "drawn by the lottery",
                                [x for x, _ in ends],
                                [y for _, y in ends],
                                words=[str(chance.probability) for chance in lottery],
                            ),
                            Cloud(
                                "CDRF in expectation", [point[0]], [point[1]], words=["12/7, 16/7"]
                            ),
                        ],
                        "tasks of u1",
                        "tasks of u2",
                        line=(
                            (0.0, 0.0),
                            (alone[0] * min(1, 1.4 * scale), alone[1] * min(1, 1.4 * scale)),
                        ),
                    ),
                ),
            ),
        ),
    )


STUDY = About(
    figure="Figure 3",
    title="the lottery",
    shows="On the machines of Figure 1 the Pareto-optimal whole allocations are (3, 1), (2, 2),"
    " (1, 3) and (0, 4). CDRF is the point with equal parts of what each could run alone,"
    " (12/7, 16/7): a lottery gives (1, 3) with probability 2/7 and (2, 2) with 5/7.",
)
