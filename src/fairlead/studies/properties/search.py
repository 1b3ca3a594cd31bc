"""A table of properties, by looking for a witness against each property of each policy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fairlead.audit.finding import Finding, Split, Verdict, Witness
from fairlead.audit.lottery import ask
from fairlead.audit.outcome import Options, solve
from fairlead.audit.properties.registry import PROPERTIES
from fairlead.audit.properties.strategy_lies import unusable_pools
from fairlead.audit.witness.shrink import shrink
from fairlead.model.errors import InputError
from fairlead.model.shares import Tasks
from fairlead.studies.properties.inputs import POOLED, Family, drawn, traits
from fairlead.studies.properties.rows import ROWS, Row
from fairlead.studies.properties.whole import WHOLE_ROWS
from fairlead.studies.study import Spread, here

LIES = 4
"""So many changes are tried on each input for each property that tries changes: many inputs with
few lies each find more than few inputs with many."""

PART = 25
WAVES = (10, 50)
"""A cell that has a witness is closed: later inputs are not judged for it. What is closed is known
at the end of a wave: the first ones are short, the others of WAVE inputs of each family."""
WAVE = 100

Key = tuple[str, str]  # policy, row


@dataclass(frozen=True)
class Part:
    """Inputs of one family to judge: the numbers from `first` on, for the cells that are open."""

    family: Family
    first: int
    count: int
    seed: int
    open: tuple[Key, ...]
    tasks: Tasks = Tasks.DIVISIBLE
    unlimited: bool = False


@dataclass
class Cell:
    """The knowledge about one property of one policy.

    `judged` are the inputs that the property says something about and that did not violate it,
    `refused` those that the policy does not take; `trials` the changes tried, `best` the largest
    sure gain of a lie. `at` is the number of the input that the witness comes from; `silent` the
    last reason why the property said nothing.
    """

    judged: int = 0
    refused: int = 0
    trials: int = 0
    best: float | None = None
    witness: Witness | None = None
    at: int | None = None
    silent: str = ""

    def add(self, other: Cell) -> None:
        """Counts what another part found, too. The witness of the smallest number stays."""
        self.judged += other.judged
        self.refused += other.refused
        self.trials += other.trials
        if other.best is not None:
            self.best = other.best if self.best is None else max(self.best, other.best)
        self.silent = self.silent or other.silent
        if other.at is not None and (self.at is None or other.at < self.at):
            self.witness, self.at = other.witness, other.at


@dataclass
class Counts:
    """The hardness of the inputs of a family."""

    instances: int = 0
    constrained: int = 0
    contended: int = 0
    levels: int = 0
    hard: int = 0  # all three

    def add(self, other: Counts) -> None:
        """Counts other inputs, too."""
        self.instances += other.instances
        self.constrained += other.constrained
        self.contended += other.contended
        self.levels += other.levels
        self.hard += other.hard


@dataclass
class Judged:
    """The result of a part."""

    family: Family
    counts: Counts = field(default_factory=Counts)
    cells: dict[Key, Cell] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """The whole: `cells` has every policy and row that was asked for."""

    policies: tuple[str, ...]
    rows: tuple[Row, ...]
    trials: int
    seed: int
    cells: dict[Key, Cell]
    counts: dict[Family, Counts]
    tasks: Tasks = Tasks.DIVISIBLE
    unlimited: bool = False


def search_table(
    policies: Sequence[str],
    trials: int,
    seed: int,
    rows: Sequence[Row] = ROWS,
    spread: Spread = here,
    tasks: Tasks = Tasks.DIVISIBLE,
    unlimited: bool = False,
) -> Table:
    """The table, by `trials` inputs of each family, with tasks of this kind, `unlimited` in jobs
    that never run out of them. Deterministic: the same arguments give the same table, whoever
    judges the parts. It ends early where every cell has a witness."""
    cells: dict[Key, Cell] = {(policy, row.name): Cell() for policy in policies for row in rows}
    families = list(dict.fromkeys(row.family for row in rows))
    counts = {family: Counts() for family in families}
    first = 0
    while first < trials:
        last = min(trials, next((end for end in WAVES if end > first), first + WAVE))
        still = tuple(key for key, cell in cells.items() if cell.witness is None)
        if not still:
            break
        parts = [
            Part(family, start, min(PART, last - start), seed, still, tasks, unlimited)
            for start in range(first, last, PART)
            for family in families
        ]
        for judged in spread(judge_part, parts):
            counts[judged.family].add(judged.counts)
            for key, cell in judged.cells.items():
                cells[key].add(cell)
        first = last
    return Table(tuple(policies), tuple(rows), trials, seed, cells, counts, tasks, unlimited)


def judge_part(part: Part) -> Judged:
    """Judges each input of the part for each open cell of its family."""
    rows = {row.name: row for row in rows_of(part.tasks) if row.family is part.family}
    found = Judged(part.family)
    open_ = {key: Cell() for key in part.open if key[1] in rows}
    found.cells = open_
    policies = list(dict.fromkeys(policy for policy, _ in open_))
    for number in range(part.first, part.first + part.count):
        given, solved = drawn(part.family, part.seed, number, part.unlimited)
        tsf = solved or solve(given, "tsf")
        known = {"tsf": tsf} if part.tasks is Tasks.DIVISIBLE else {}
        about = traits(tsf)
        found.counts.add(Counts(1, about.constrained, about.contended, about.levels, about.hard))
        for policy in policies:
            names = [n for p, n in open_ if p == policy and open_[p, n].witness is None]
            if not names:
                continue
            try:
                outcome = known[policy] if policy in known else solve(given, policy, part.tasks)
            except InputError as error:
                for name in names:
                    open_[policy, name].refused += 1
                    open_[policy, name].silent = str(error)
                continue
            options = Options(trials=LIES, seed=part.seed + number, smallest=0)
            said: dict[str, list[Finding]] = {}
            for name in names:
                row = rows[name]
                if row.ante and outcome.moment is None:
                    open_[policy, name].silent = "nothing is drawn"
                    continue
                if row.property not in said:
                    said[row.property] = list(ask(PROPERTIES[row.property], outcome, options))
                # Of a lottery the first is before the draw, and a second after it.
                finding = said[row.property][0 if row.ante else -1]
                _count(open_[policy, name], finding, row, number)
    return found


def rows_of(tasks: Tasks) -> Sequence[Row]:
    """The rows of the table with tasks of this kind."""
    return ROWS if tasks is Tasks.DIVISIBLE else WHOLE_ROWS


def _count(cell: Cell, finding: Finding, row: Row, number: int) -> None:
    if finding.verdict is Verdict.NOT_APPLICABLE:
        cell.silent = finding.note
        return
    witness = finding.witness
    if row.apart:
        witness = next((one for one in finding.apart if isinstance(one.change, Split)), None)
    if witness is not None:
        cell.witness, cell.at = witness, number
        return
    cell.judged += 1
    cell.trials += finding.trials or 0
    if finding.best is not None and not row.apart:
        cell.best = finding.best if cell.best is None else max(cell.best, finding.best)


def smaller(large: tuple[Row, Witness, int]) -> Witness:
    """The witness of a row made smaller by so many tries, if it is still of the row's family
    then."""
    row, witness, tries = large
    small = shrink(witness, tries)
    if row.family not in POOLED:
        return small
    before, now = (bool(unusable_pools(each.input)) for each in (witness, small))
    return small if now is before else witness


def with_smaller(
    table: Table, tries: int, keys: Iterable[Key] | None = None, spread: Spread = here
) -> Table:
    """The table with smaller witnesses in these cells, in all if none are named."""
    rows = {row.name: row for row in table.rows}
    wanted = set(table.cells if keys is None else keys)
    large = {
        key: (rows[key[1]], cell.witness, tries)
        for key, cell in table.cells.items()
        if cell.witness is not None and key in wanted
    }
    small = dict(zip(large, spread(smaller, list(large.values())), strict=True))
    cells = {
        key: replace(cell, witness=small[key]) if key in small else cell
        for key, cell in table.cells.items()
    }
    return replace(table, cells=cells)
