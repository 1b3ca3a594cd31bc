"""k-DF, Figure 10: tasks of two users, of whom one asks for much of everything or unevenly."""

from __future__ import annotations

from fairlead.studies.cases import share, tasks
from fairlead.studies.claims import whether
from fairlead.studies.kdf.table3 import COMBINATIONS, RULES, TYPES, WHERE, request
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

CASES = {"a": TYPES[0], "b": TYPES[4]}
"""The type of user 1 in the paper's two typical cases."""
SMALLEST = TYPES.index((5, 1, 1))
MORE = 1e-9
"""Relative: less is rounding."""


def run(_: Setting) -> Findings:
    """Shares both cases in the three combinations, user 2 being of each type."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for case, kind in CASES.items():
        for name, (first, second) in COMBINATIONS.items():
            pairs = [(request("u1", first, kind), request("u2", second, each)) for each in TYPES]
            for rule, spec in RULES.items():
                found[case, name, rule] = [sum(tasks(share(WHERE, pair, spec))) for pair in pairs]
    gains = {
        (case, name): [
            more / less - 1
            for more, less in zip(found[case, name, "2-DF"], found[case, name, "DRF"], strict=True)
        ]
        for case in CASES
        for name in COMBINATIONS
    }
    every = [gain for some in gains.values() for gain in some]
    most = max(gains, key=lambda key: max(gains[key]))
    at = gains[most].index(max(gains[most]))
    places = list(range(1, len(TYPES) + 1))
    return Findings(
        rows=(
            whether(
                "2-DF completes at least as many tasks as DRF",
                min(every) >= -MORE,
                shown=f"in {sum(gain >= -MORE for gain in every)} of {len(every)} pairs, more in"
                f" {sum(gain > MORE for gain in every)}, {sum(every) / len(every):.0%} more on"
                " average",
            ),
            whether(
                "… above all where user 1 asks for much of everything and user 2 for little",
                most[0] == "a" and at == SMALLEST,
                shown=f"{max(every):.0%} more in case ({most[0]}), combination {most[1]}, user 2"
                f" of {TYPES[at]}",
            ),
        ),
        tables=(
            Table.of_rows(
                "tasks",
                ("case", "combination", "user_2", "drf", "two_df"),
                [
                    (case, name, str(kind), drf, two)
                    for case in CASES
                    for name in COMBINATIONS
                    for kind, drf, two in zip(
                        TYPES, found[case, name, "DRF"], found[case, name, "2-DF"], strict=True
                    )
                ],
            ),
        ),
        pictures=(
            Picture(
                "Tasks of two users",
                "1000 of each of three resources; (a) user 1 asks for (25x, 25x, 25x), (b) for"
                " (25x, 5x, x); I: both are heavy, II: user 1 is heavy and user 2 light, III: both"
                " are light.",
                tuple(
                    lines(
                        [Line(rule, places, found[case, name, rule]) for rule in ("2-DF", "DRF")],
                        "type of user 2",
                        "tasks of both",
                        title=f"({case}), {name}",
                        marks=True,
                    )
                    for case in CASES
                    for name in COMBINATIONS
                ),
            ),
        ),
    )


STUDY = About(
    figure="Figure 10",
    title="two typical cases",
    shows="The users of section 6.2, user 1 asking for (25x, 25x, 25x) or for (25x, 5x, x) and user"
    " 2 for each of eight types: 2-DF completes more tasks than DRF, especially if user 1 asks for"
    " much of every resource and user 2 for little. The picture's points are not in the text.",
    assumes=(
        "x is 8 for heavy requests and 1 for light ones, as in Table 3.",
        "Types are numbered in the order in which section 6.2 lists them.",
    ),
)
