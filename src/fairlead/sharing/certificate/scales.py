"""The scales of the built-in policies, written once more from their definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from fairlead.model.errors import CertificateError
from fairlead.sharing.certificate.seen import Classes, Floats, Seen


class Looks(Enum):
    """What the cluster looks like to a policy."""

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
        """What the cluster looks like to it."""
        if self.name == "per-machine-drf":
            return Looks.EACH_MACHINE
        pooled = self.name == "drf" or self.arguments.get("pooled") == "true"
        return Looks.POOLED if pooled else Looks.MACHINES

    def scale(self, seen: Seen, classes: Classes) -> Floats:
        """(J,) tasks per unit of share; 0 for a job that can run on none of these machines."""
        runs = classes.runs
        scale = np.zeros(len(runs))
        scale[runs] = self._scale(seen, classes)[runs]
        if not np.all(np.isfinite(scale)) or np.any(scale[runs] <= 0):
            raise CertificateError(f"{self.name} has no scale for some of the jobs")
        return scale

    def _scale(self, seen: Seen, classes: Classes) -> Floats:
        if self.name == "tsf":
            alone: Floats = classes.holds @ classes.count
            return alone
        if self.name == "cdrf":
            own: Floats = np.where(classes.usable, classes.holds, 0.0) @ classes.count
            return own
        there = classes.total.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(seen.demand > 0, seen.demand / there, 0.0)
            if self.name in ("drf", "drfh", "per-machine-drf"):
                part = part.max(axis=1, initial=0.0)
            elif self.name == "asset":
                part = part.sum(axis=1)
            elif self.name == "cmmf":
                part = part[:, self._resource(seen)]
            else:
                part = self._product(seen, part)
            return np.divide(1.0, part)

    def _resource(self, seen: Seen) -> int:
        name = self.arguments.get("resource", "")
        if name not in seen.resource:
            raise CertificateError(f"no job demands `{name}`, which cmmf is to share")
        return seen.resource[name]

    def _product(self, seen: Seen, part: Floats) -> Floats:
        """(J,) of the k largest parts, each times the weight of its resource."""
        k = 2 if self.name == "2df" else int(_number(self.arguments.get("k", "")))
        weight = [_number(self.arguments.get(name, "1")) for name in seen.resources]
        product = np.ones(len(part))
        for job, row in enumerate(part):
            # Parts that differ by rounding alone are equal: then the larger weight comes first.
            pairs = [(float(f"{x:.12e}"), w, x) for x, w in zip(row, weight, strict=True) if x > 0]
            if len(pairs) < k:
                product[job] = np.nan
            for _, w, x in sorted(pairs)[-k:]:
                product[job] *= w * x
        return product


# The parameters that each takes; `*` stands for a weight for any resource.
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
_RULE = re.compile(r"([\w-]+)(?:\((.*)\))?", re.DOTALL)
_TEXT = r'"[^"]*"|[^\s,()="][^,()="]*'
_ARGUMENT = re.compile(rf"(?:({_TEXT})=)?({_TEXT})(?:, |$)")


def rule(policy: str) -> Rule | None:
    """The built-in policy that is written so; None where it is none of them."""
    match = _RULE.fullmatch(policy)
    if match is None or match[1] not in _KNOWN:
        return None
    arguments: dict[str, str] = {}
    inside, at = match[2] or "", 0
    while at < len(inside):
        argument = _ARGUMENT.match(inside, at)
        if argument is None:
            raise CertificateError(f"`{policy}` cannot be read as a policy")
        key, value = ((text or "").strip('"') for text in argument.groups())
        known = _KNOWN[match[1]]
        key = key or next((name for name in known if name != "pooled"), "")
        if key in arguments or key in ("", "*") or (key not in known and "*" not in known):
            raise CertificateError(f"`{policy}` cannot be read as a policy")
        arguments[key] = value
        at = argument.end()
    return Rule(match[1], arguments)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not 0 < number < np.inf:
        raise CertificateError(f"`{text}` in the policy is not a positive number")
    return number
