"""TSF, Table I: which policy keeps which property under constraints, with witnesses."""

from __future__ import annotations

from fairlead.studies.claims import Row as Claim
from fairlead.studies.claims import whether
from fairlead.studies.properties.inputs import Family
from fairlead.studies.properties.report import (
    cells_table,
    inputs_table,
    picture,
    sentence,
    witness_files,
)
from fairlead.studies.properties.rows import COLUMNS, OF_TABLE_I, REASONS, ROWS, TABLE_I, Row
from fairlead.studies.properties.search import (
    Cell,
    Key,
    Part,
    judge_part,
    search_table,
    with_smaller,
)
from fairlead.studies.properties.search import Table as Judged
from fairlead.studies.study import About, Findings, Setting

SEED = 1
INPUTS, FEW = 200, 2
"""Of each family, for all policies."""
ENDLESS, FEW_ENDLESS = 400, 4
"""Of each family, for the policies of Table I: jobs never run out of tasks, as in the paper."""
TRIES, FEW_TRIES = 60, 3
"""Allocations to spend on making each witness smaller: the inputs are small as they are."""

TOO_FEW = "a search may find nothing, and so many inputs are few"
"""Why a blank has no witness, where one exists."""

SPLIT: Key = ("drfh", "sharing-incentive-split")
MACHINES = "per-machine-drf"
LIES = "strategy-proofness"
RARE = (
    (
        Part(Family.GENERAL, 4148, 1, SEED, ((MACHINES, LIES),)),
        "a job that has all its tasks ties machines together; the paper's have tasks without end",
    ),
    (
        Part(Family.GENERAL, 7874, 1, SEED, ((MACHINES, LIES),), unlimited=True),
        "two lie together; the paper's property is about one who lies",
    ),
    (
        Part(Family.GENERAL, 4995, 1, SEED, (("independent", LIES),)),
        "two lie together: each claims the machine that is better for it",
    ),
)
"""Lies so rare that a search of ten thousand inputs found one each: the input is judged again."""

BY_NAME = {row.name: row for row in ROWS}
THEOREM_2, THEOREM_3 = "k-DF, Theorem 2", "Theorem 3"
CLAIMS = (
    (
        "2df",
        LIES,
        f"{THEOREM_2}: 2-DF is strategy-proof",
        "a product of two ratios falls to a quarter where a demand is halved: a smaller claim pays",
    ),
    ("kdf(k=3)", LIES, f"{THEOREM_2}: 3-DF is strategy-proof", "as with 2-DF"),
    (
        "tsf",
        "strategy-proofness-pools",
        f"{THEOREM_3}: TSF is strategy-proof with weights from pools",
        "",
    ),
    (
        "tsf",
        "strategy-proofness-unusable-pools",
        f"{THEOREM_3}, where an owner cannot use all of its pool",
        "its weight is what its pool could run: who claims to use more of the pool raises it",
    ),
)
SAID = {*TABLE_I, *(policy for policy, _, _, _ in CLAIMS)}
"""The policies of which a row says something: a quick run has no others."""


def run(setting: Setting) -> Findings:
    """Looks for a witness against each property of each policy."""
    inputs, endless = (FEW, FEW_ENDLESS) if setting.quick else (INPUTS, ENDLESS)
    tries = FEW_TRIES if setting.quick else TRIES
    table_i = [BY_NAME[name] for name in (*OF_TABLE_I, SPLIT[1])]
    paper = with_smaller(
        search_table(tuple(TABLE_I), endless, SEED, table_i, setting.spread, unlimited=True),
        tries,
        spread=setting.spread,
    )
    theorems = [(policy, name) for policy, name, _, _ in CLAIMS]
    columns = [p for p in COLUMNS if not setting.quick or p in SAID]
    every = with_smaller(
        search_table(columns, inputs, SEED, ROWS, setting.spread), tries, theorems, setting.spread
    )
    rare = setting.spread(judge_part, [part for part, _ in RARE])
    claims = [_claim(paper, policy, BY_NAME[name]) for policy in TABLE_I for name in OF_TABLE_I]
    split = paper.cells[SPLIT]
    claims.append(
        whether(
            "drfh: sharing incentive (an equal split)",
            split.witness is None,
            paper=False,
            shown=sentence(split),
        )
    )
    claims += [_theorem(every, *one) for one in CLAIMS]
    blanks = [(p, n) for p in TABLE_I for n in OF_TABLE_I if n not in TABLE_I[p]]
    return Findings(
        rows=tuple(claims),
        tables=(
            cells_table("table-1", paper),
            cells_table("all-policies", every),
            inputs_table("inputs", every),
        ),
        pictures=(
            picture("tsf-table1", "Table I, jobs without end", paper),
            picture("all-policies", "Every policy and mechanism, every property", every),
        ),
        notes=tuple(
            f"A lie so rare that a search of 10,000 inputs found it once, in number {part.first}:"
            f" under {policy} {sentence(judged.cells[policy, LIES])} ({why})."
            for (part, why), judged in zip(RARE, rare, strict=True)
            for policy, _ in part.open
        ),
        seeds=(SEED,),
        files=witness_files(paper, [*blanks, SPLIT]) | witness_files(every, theorems),
    )


def _claim(found: Judged, policy: str, row: Row) -> Claim:
    """The row of a mark or of a blank, which in the paper is a violation."""
    cell: Cell = found.cells[policy, row.name]
    return whether(
        f"{policy}: {row.title}",
        cell.witness is None,
        REASONS.get((policy, row.name), TOO_FEW),
        paper=row.name in TABLE_I[policy],
        shown=sentence(cell),
    )


def _theorem(found: Judged, policy: str, name: str, claim: str, because: str) -> Claim:
    cell = found.cells[policy, name]
    return whether(claim, cell.witness is None, because, shown=sentence(cell))


STUDY = About(
    figure="Table I",
    title="who keeps which promise",
    shows="Six properties of four policies where jobs have constraints: per-machine DRF is"
    " strategy-proof, envy-free and fair on a single machine; DRFH efficient, too; constrained CDRF"
    " has the sharing incentive, is efficient and fair on a single machine; TSF has all six. A"
    " blank is a violation.",
    assumes=(
        "A mark is a search that found nothing, which proves nothing; a blank is a witness.",
        (
            f"{ENDLESS} small inputs of each kind for Table I, with jobs that never run out of"
            f" tasks, and {INPUTS} for all policies, where a tenth of the jobs has few tasks; four"
            " lies an input. Every fourth input is constrained, contended and has several levels."
        ),
        "The sharing incentive is against dedicated pools with their weights (Definition 1).",
    ),
    weight=100.0,
)
