"""k-DF, sections 1.1 and 4.3, Figures 4 and 11: what a smaller demand of memory brings."""

from __future__ import annotations

from fairlead.model.job import Job
from fairlead.studies.cases import job, machines, share, tasks
from fairlead.studies.claims import compare, whether
from fairlead.studies.pictures.charts import Line, lines
from fairlead.studies.pictures.picture import Picture
from fairlead.studies.study import About, Findings, Setting, Table

RESOURCES = ("bandwidth", "memory", "cpu")
WHERE = machines((200, 200, 200), resources=RESOURCES)
MEMORY = (1, 2, 3, 4, 5, 6, 7, 8)
RULES = {"DRF": "drf", "2-DF": "2df"}
NO_INPUTS = "perhaps the figure has other demands; the paper does not say which"


def users(memory: int) -> tuple[Job, ...]:
    """The two users of section 1.1, the second with this demand of memory."""
    return (
        job("u1", 40, 8, 8, resources=RESOURCES),
        job("u2", 8, memory, 1, resources=RESOURCES),
    )


def amount_of_first(memory: int) -> float:
    """The share of all resources that section 1.1's first user has with this demand of memory."""
    pair = (job("u1", 40, memory, 8, resources=RESOURCES), users(5)[1])
    return tasks(share(WHERE, pair, "2df"))[0] * (40 + memory + 8)


def run(_: Setting) -> Findings:
    """Shares the example, and again with other demands of memory."""
    given = {name: tasks(share(WHERE, users(5), rule)) for name, rule in RULES.items()}
    most = tasks(share(WHERE, users(5), "most-tasks"))
    second = {
        name: [tasks(share(WHERE, users(m), rule))[1] for m in MEMORY]
        for name, rule in RULES.items()
    }
    amounts = {
        name: [count * (8 + m + 1) for count, m in zip(counts, MEMORY, strict=True)]
        for name, counts in second.items()
    }
    rising = all(a > b for a, b in zip(second["2-DF"], second["2-DF"][1:], strict=False))
    beyond = all(a > b for a, b in zip(amounts["2-DF"][:5], amounts["DRF"][:5], strict=True))
    first = {m: amount_of_first(m) for m in (8, 1)}
    return Findings(
        rows=(
            compare("DRF: tasks of u1 and u2", "2.5 and 12.5", given["DRF"]),
            compare("2-DF: tasks of u1 and u2", "1.9 and 15.4", given["2-DF"]),
            compare("most tasks in total", "25", sum(most)),
            whether(
                "Figure 4: under DRF u2's demand of memory changes nothing", flat(second["DRF"])
            ),
            whether("Figure 4: under 2-DF u2 has more tasks the less memory it asks for", rising),
            whether(
                "Figure 11, the user taken for section 1.1's second: with less memory than there,"
                " 2-DF gives more of all resources than DRF",
                beyond,
                NO_INPUTS,
                shown=f"{amounts['2-DF'][-1]:.1f} at memory 8, {amounts['2-DF'][0]:.1f} at 1",
            ),
            whether(
                "Figure 11, the user taken for section 1.1's first: with less memory 2-DF gives"
                " more of all resources",
                first[1] > first[8],
                NO_INPUTS,
                shown=f"{first[8]:.1f} at memory 8, {first[1]:.1f} at 1",
            ),
        ),
        tables=(
            Table(
                "memory",
                {
                    "memory": MEMORY,
                    **{f"u2 tasks, {name}": values for name, values in second.items()},
                    **{f"u2 resources, {name}": values for name, values in amounts.items()},
                },
            ),
        ),
        pictures=(
            Picture(
                "What a smaller demand of memory brings",
                "200 of each resource; u1 needs (40, 8, 8), u2 (8, 5, 1) but for its memory.",
                tuple(
                    lines(
                        [Line(name, MEMORY, values) for name, values in found.items()],
                        f"{who}'s memory a task",
                        what,
                        title=title,
                        marks=True,
                    )
                    for who, what, title, found in (
                        ("u2", "tasks of u2", "Figure 4", second),
                        ("u2", "u2's amount of all resources", "Figure 11", amounts),
                    )
                ),
            ),
        ),
    )


def flat(values: list[float]) -> bool:
    return max(values) - min(values) <= 1e-9 * max(values)


STUDY = About(
    figure="Figures 4 and 11",
    title="what a smaller demand of memory brings",
    shows="200 of each of three resources; u1 needs (40, 8, 8) a task, u2 (8, 5, 1). DRF sees the"
    " dominant resource only, so that a smaller demand of another brings nothing; 2-DF gives more"
    " tasks, and more of all resources together, to who asks for less.",
    assumes=(
        "The inputs of Figure 11 are not in the paper's text, which speaks of a user 1.",
        "Both users of section 1.1 are tried: the claim holds with the second, not with the first.",
    ),
)
