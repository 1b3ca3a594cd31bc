"""A paper's claims beside our numbers, and the verdict that follows from the two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from fairlead.model.errors import InternalError

NOISE = Fraction(1, 10**9)
"""Relative distance of two doubles that are the same number: ours are rounded from rationals."""

LARGEST_DENOMINATOR = 1000
"""Of fractions that are shown as such."""

NOT_KNOWN = "the reason is not known"


class Verdict(Enum):
    """The outcome of a comparison. The values are those of `--json`."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CONTRADICTION = "contradiction"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class Row:
    """A claim with what the paper has and what we got. `how` says how close the two had to be."""

    claim: str
    paper: str
    ours: str
    verdict: Verdict
    because: str = ""
    how: str = ""
    numbers: tuple[float, ...] = ()

    def tree(self) -> dict[str, object]:
        return {
            "claim": self.claim,
            "paper": self.paper,
            "ours": self.ours,
            "verdict": self.verdict.value,
            "because": self.because,
        }

    @staticmethod
    def from_tree(tree: dict[str, str]) -> Row:
        """The row that `tree` made, without its numbers."""
        return Row(
            tree["claim"],
            tree["paper"],
            tree["ours"],
            Verdict(tree["verdict"]),
            tree["because"],
        )


_NUMBER = re.compile(
    r"(?P<relation>[<>≤≥~]?)\s*(?P<number>-?[\d,]+(?:\.\d+)?(?:/\d+)?)\s*(?P<unit>%|s|×|GB)?"
)


@dataclass(frozen=True)
class Printed:
    """A number as a paper prints it: whole numbers and fractions are exact, decimals and percents
    are within half of their last digit, `<` and the like are bounds."""

    text: str
    relation: str
    value: Fraction
    slack: Fraction
    unit: str

    def holds(self, ours: float, within: float | None = None) -> bool:
        """Whether our number is the paper's: to its last digit, or within this part of it."""
        mine = Fraction(ours) * (100 if self.unit == "%" else 1)
        slack = self.slack if within is None else Fraction(within) * abs(self.value)
        noise = NOISE * max(abs(self.value), Fraction(1, 1000))
        if self.relation == "":
            return abs(mine - self.value) <= slack + noise
        if self.relation == "~":
            if within is None:
                raise InternalError(f"{self.text} needs a tolerance")
            return abs(mine - self.value) <= slack + noise
        if self.relation in "≤<":
            return mine < self.value or (self.relation == "≤" and mine <= self.value + noise)
        return mine > self.value or (self.relation == "≥" and mine >= self.value - noise)

    def beside(self, ours: float, *, exact: bool = True) -> str:
        """Our number, written as the paper writes its own, with a digit more where that shows
        something; as a fraction only where it is to be `exact`ly the paper's."""
        if self.unit == "%":
            return f"{_plain(100 * ours, self._digits)}%"
        unit = f" {self.unit}" if self.unit in ("s", "GB") else self.unit
        if exact and self.slack == 0 and not self.relation:
            near = Fraction(ours).limit_denominator(LARGEST_DENOMINATOR)
            if abs(near - Fraction(ours)) <= NOISE * max(abs(near), Fraction(1, 1000)):
                whole = near.denominator == 1
                return f"{near.numerator:,}{unit}" if whole else f"{near}{unit}"
        return f"{_plain(ours, self._digits)}{unit}"

    @property
    def _digits(self) -> int:
        """Digits after the point that ours is shown with: one more than the paper's."""
        if "/" in self.text:
            return 3
        after = self.text.partition(".")[2]
        return len(re.match(r"\d*", after)[0]) + 1 if after else 2  # type: ignore[index]


def _plain(value: float, digits: int) -> str:
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def printed(text: str) -> tuple[Printed, ...]:
    """The numbers of a text such as `12 and 4`, `51.7%` or `≤ 0.71%`."""
    found = []
    for part in re.split(r", (?=[\d<>≤≥~-])| and ", text):
        match = _NUMBER.fullmatch(part.strip())
        if match is None:
            raise InternalError(f"{part!r} is no number as papers print them")
        number, unit = match["number"].replace(",", ""), match["unit"] or ""
        digits = number.partition(".")[2]
        # A percent is rounded even where no digit follows a point; a whole number is counted.
        slack = Fraction(1, 2 * 10 ** len(digits)) if digits or unit == "%" else Fraction(0)
        relation = match["relation"]
        found.append(Printed(part.strip(), relation, Fraction(number), slack, unit))
    return tuple(found)


def compare(
    claim: str,
    paper: str,
    ours: float | Sequence[float],
    because: str = "",
    within: float | None = None,
) -> Row:
    """The row of a claim about numbers: it agrees if each of ours is the paper's, to the digits
    that are printed, or `within` this part of it. `because` is said where it differs."""
    theirs = printed(paper)
    mine = tuple(ours) if isinstance(ours, Sequence) else (ours,)
    if len(theirs) != len(mine):
        raise InternalError(f"{claim}: {paper} are not {len(mine)} numbers")
    agrees = all(t.holds(m, within) for t, m in zip(theirs, mine, strict=True))
    shown = _joined([t.beside(m, exact=within is None) for t, m in zip(theirs, mine, strict=True)])
    if within is not None:
        how = f"within {100 * within:g}%"
    elif any(t.relation for t in theirs):
        how = ""
    else:
        how = "to the digits printed" if any(t.slack for t in theirs) else "exactly"
    return _row(claim, paper, shown, agrees, because, how, tuple(map(float, mine)))


def by_hand(claim: str, numbers: str, ours: float | Sequence[float]) -> Row:
    """The row of numbers that the paper does not print and we worked out from its definitions."""
    return replace(compare(claim, numbers, ours), paper=f"not printed; by hand: {numbers}")


def whether(
    claim: str, ours: bool, because: str = "", *, paper: bool = True, shown: str = ""
) -> Row:
    """The row of a claim that holds or does not; `shown` are the numbers that decided it."""
    words = {True: "yes", False: "no"}
    text = words[ours] + (f" ({shown})" if shown else "")
    return _row(claim, words[paper], text, ours is paper, because, "", (float(ours),))


def contradiction(
    claim: str, paper: str, elsewhere: str, where: str, ours: float | Sequence[float]
) -> Row:
    """The row of a claim that the paper itself denies: `elsewhere` is what it prints, or what
    follows from what it prints, at another place. Where the two go together after all, the claim is
    compared like any other."""
    here, there = printed(paper), printed(elsewhere)
    together = len(here) == len(there) and all(
        a.holds(float(b.value / (100 if b.unit == "%" else 1)))
        or b.holds(float(a.value / (100 if a.unit == "%" else 1)))
        for a, b in zip(here, there, strict=True)
    )
    row = compare(claim, paper, ours)
    if together:
        return row
    return Row(
        claim,
        paper,
        row.ours,
        Verdict.CONTRADICTION,
        f"{where} has {elsewhere}",
        "",
        row.numbers,
    )


def impossible(claim: str, paper: str, because: str) -> Row:
    """The row of a claim whose inputs nobody has but the paper's authors."""
    return Row(claim, paper, "–", Verdict.IMPOSSIBLE, because)


def _row(
    claim: str,
    paper: str,
    ours: str,
    agrees: bool,
    because: str,
    how: str,
    numbers: tuple[float, ...],
) -> Row:
    if agrees:
        return Row(claim, paper, ours, Verdict.AGREES, "", how, numbers)
    return Row(claim, paper, ours, Verdict.DIFFERS, because or NOT_KNOWN, how, numbers)


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
