"""The scales of the built-in policies, written once more from their definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

import numpy as np
from flint import fmpq

from fairlead.model.errors import CertificateError
from fairlead.sharing.certificate.arithmetic import NONE, ONE, rational
from fairlead.sharing.certificate.arrays import Bools, Classes, Ints, Seen


class Looks(Enum):
    """The machines as a policy looks at them."""

    MACHINES = "machines"
    POOLED = "pooled"
    EACH_MACHINE = "each machine"


@dataclass(frozen=True)
class Rule:
    """A built-in policy as it was written."""

    name: str
    arguments: Mapping[str, str]

    @property
    def looks(self) -> Looks:
        """The machines as it looks at them."""
        if self.name == "per-machine-drf":
            return Looks.EACH_MACHINE
        pooled = self.name == "drf" or self.arguments.get("pooled") == "true"
        return Looks.POOLED if pooled else Looks.MACHINES

    def scale(self, seen: Seen, classes: Classes) -> list[fmpq]:
        """(J,) tasks per unit of share; 0 for a job that can run on none of these machines."""
        scale = [
            each if runs else NONE
            for each, runs in zip(self._scale(seen, classes), classes.runs.tolist(), strict=True)
        ]
        if any(runs and not each > 0 for each, runs in zip(scale, classes.runs, strict=True)):
            raise CertificateError(f"{self.name} has no scale for some of the jobs")
        return scale

    def _scale(self, seen: Seen, classes: Classes) -> list[fmpq]:
        if self.name == "tsf":
            return held(seen, classes)
        if self.name == "cdrf":
            return held(seen, classes, classes.usable)
        there = classes.all.sum(axis=0).tolist()
        part = [
            [fmpq(need, all_) if all_ else NONE for need, all_ in zip(row, there, strict=True)]
            for row in seen.need.tolist()
        ]
        if self.name in ("drf", "drfh", "per-machine-drf"):
            cost = [max(row, default=NONE) for row in part]
        elif self.name == "asset":
            cost = [sum(row, NONE) for row in part]
        elif self.name == "cmmf":
            resource = self._resource(seen)
            cost = [row[resource] for row in part]
        elif self.name in ("kdf", "2df"):
            cost = self._product(seen, part)
        else:
            raise CertificateError(f"the check does not know the scale of {self.name}")
        return [1 / each if each > 0 else NONE for each in cost]

    def _resource(self, seen: Seen) -> int:
        name = self.arguments.get("resource", "")
        if name not in seen.resource:
            raise CertificateError(f"no job demands `{name}`, which cmmf is to share")
        return seen.resource[name]

    def _product(self, seen: Seen, part: list[list[fmpq]]) -> list[fmpq]:
        """(J,) of the k largest parts, each times the weight of its resource; 0 where a job demands
        fewer."""
        k = int(self.arguments.get("k", 2))
        for name in self.arguments.keys() - {"k", "pooled"} - seen.resource.keys():
            raise CertificateError(f"no job demands `{name}`, which {self.name} gives a weight")
        weight = [rational(Fraction(self.arguments.get(name, "1"))) for name in seen.resources]
        product = []
        for row in part:
            # Of equal parts the one with the larger weight comes first.
            pairs = sorted((each, w) for each, w in zip(row, weight, strict=True) if each > 0)
            found = ONE if len(pairs) >= k else NONE
            for each, w in pairs[-k:]:
                found = found * each * w
            product.append(found)
        return product


def held(
    seen: Seen, classes: Classes, where: Bools | None = None, count: Ints | None = None
) -> list[fmpq]:
    """(J,) the tasks that all machines together hold of each job by itself: on these classes
    (J, C) where any are named, and so many machines of each where they are counted."""
    need, one = seen.need, classes.one
    most = max(1, int(need.max(initial=0))) * max(1, int(one.max(initial=0)))
    if most < 2**62:
        need, one = need.astype(np.int64), one.astype(np.int64)
    jobs, columns = len(need), len(one)
    machines = classes.count.astype(np.int64) if count is None else count
    count = np.broadcast_to(machines, (jobs, columns))
    if where is not None:
        count = count * where
    least = np.full((jobs, columns), -1)  # the resource of which there is the least
    rows, cols = np.arange(jobs)[:, None], np.arange(columns)[None, :]
    for r in range(need.shape[1]):
        less = (one[None, :, r] * need[rows, least]) < (one[cols, least] * need[:, r, None])
        takes = (need[:, r] > 0)[:, None]
        least = np.where(takes & ((least < 0) | less.astype(np.bool_)), r, least)
    found = [NONE] * jobs
    fits = np.zeros((jobs, columns), dtype=np.bool_)
    if seen.spread.any():
        own = np.flatnonzero(seen.spread)
        whole = (need[own][:, None, :] <= one[None, :, :]).all(axis=2)
        fits[own] = whole.astype(np.bool_)
    once = np.where(fits, count, 0).sum(axis=1).tolist()
    # No sum of products can pass 64 bits, or whole numbers of any length are added up.
    short = one.size and int(count.max(initial=0)) * int(one.max()) * columns < 2**62
    for r in range(need.shape[1]):
        here = np.where((least == r) & ~fits, count, 0)
        amount = (here @ one[:, r] if short else here.astype(object) @ classes.one[:, r]).tolist()
        for j in range(jobs):
            if amount[j]:
                found[j] += fmpq(int(amount[j]), int(need[j, r]))
    return [each + number for each, number in zip(found, once, strict=True)]


# The parameters that each takes; `*` stands for a weight for any resource.
# A new parameter stands in `_NEEDED`, `_takes` and `_written`, too.
_KNOWN = {
    "tsf": (),
    "cdrf": (),
    "drfh": (),
    "drf": (),
    "per-machine-drf": (),
    "cmmf": ("resource",),
    "asset": ("pooled",),
    "kdf": ("k", "pooled", "*"),
    "2df": ("pooled", "*"),
}
_NEEDED = {"resource", "k"}
_RULE = re.compile(r"([a-z0-9-]+)(?:\((.+)\))?", re.DOTALL)
_TEXT = r'"[^"]*"|[^\s,()="][^,()="]*'
_ARGUMENT = re.compile(rf"(?:({_TEXT})=)?({_TEXT})(?:, |$)")
# Doubles as Python writes them: longer text would be another number to another reader.
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[1-9][0-9]{0,5}")


def rule(policy: str) -> Rule | None:
    """The built-in policy that is written so, letter by letter as answers write it; None where it
    is none of them, and where it is one written in another way: what looks like a policy and is
    not quite it must not be taken for it."""
    match = _RULE.fullmatch(policy)
    if match is None or match[1] not in _KNOWN:
        return None
    known, arguments = _KNOWN[match[1]], {}
    inside, at = match[2] or "", 0
    while at < len(inside):
        argument = _ARGUMENT.match(inside, at)
        if argument is None:
            return None
        key, value = (_bare(text or "") for text in argument.groups())
        key = key or "resource"  # the only one that is written without its name
        if key in arguments or not _takes(known, key, value):
            return None
        arguments[key] = value
        at = argument.end()
    found = Rule(match[1], arguments)
    complete = _NEEDED & set(known) <= arguments.keys()
    return found if complete and _write_rule(found, known) == policy else None


def _takes(known: Sequence[str], key: str, value: str) -> bool:
    """Whether the parameter is there, and may be that."""
    if key in ("resource", "k", "pooled") and key in known:
        may_be = {"resource": None, "k": _WHOLE, "pooled": re.compile("true")}[key]
        return may_be is None or may_be.fullmatch(value) is not None
    return "*" in known and _NUMBER.fullmatch(value) is not None and Fraction(value) > 0


def _write_rule(found: Rule, known: Sequence[str]) -> str:
    """The one way to write it: parameters in their order, weights by their names."""
    arguments = found.arguments
    parts = [
        _quoted(arguments[key]) if key == "resource" else f"{key}={arguments[key]}"
        for key in known
        if key in arguments
    ]
    weights = sorted(arguments.keys() - set(known))
    parts += [f"{_quoted(key)}={_digits(arguments[key])}" for key in weights]
    return f"{found.name}({', '.join(parts)})" if parts else found.name


def _digits(number: str) -> str:
    """A number as answers write it."""
    near = float(number)
    return str(int(near)) if near.is_integer() and near < 1e15 else repr(near)


def _quoted(text: str) -> str:
    return text if re.fullmatch(_TEXT, text) and text == text.strip() else f'"{text}"'


def _bare(text: str) -> str:
    return text[1:-1] if text.startswith('"') else text
