"""The policies of the papers as the reference knows them, by what a user writes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from tests.reference.filling import Looks
from tests.reference.instances import EVERYTHING, Instance, Kind
from tests.reference.scales import Scale, asset, cdrf, cmmf, drfh, kdf, total, tsf

POSITIVE = replace(EVERYTHING, zeros=False)


@dataclass(frozen=True)
class Known:
    """A policy, and the instances on which its scale exists."""

    scale: Scale
    looks: Looks = Looks.MACHINES
    kind: Kind = EVERYTHING
    resources: int = 1

    def takes(self, instance: Instance) -> bool:
        """Whether the scale of every job exists."""
        cluster, jobs = instance
        demanded = {r for job in jobs for r, need in job.demand.items() if need}
        return len(demanded) >= self.resources and (
            self.kind.zeros or all(total(cluster.machines, r) > 0 for r in demanded)
        )


POLICIES = {
    "tsf": Known(tsf),
    "cdrf": Known(cdrf),
    "drfh": Known(drfh),
    "drf": Known(drfh, Looks.POOLED),
    # How numbers of tasks and limits are to be shared among machines is nowhere defined.
    "per-machine-drf": Known(drfh, Looks.EACH, replace(EVERYTHING, finite=False, limits=False)),
    "cmmf(cpu)": Known(cmmf("cpu"), kind=POSITIVE),
    "cmmf(memory)": Known(cmmf("memory"), kind=POSITIVE, resources=2),
    "asset": Known(asset),
    "asset(pooled=true)": Known(asset, Looks.POOLED),
    "2df": Known(kdf(2), kind=POSITIVE, resources=2),
    "2df(pooled=true, memory=3)": Known(
        kdf(2, {"memory": Fraction(3)}), Looks.POOLED, POSITIVE, resources=2
    ),
    "kdf(3, gpu=2)": Known(kdf(3, {"gpu": Fraction(2)}), kind=POSITIVE, resources=3),
    "kdf(1, cpu=2)": Known(kdf(1, {"cpu": Fraction(2)}), kind=POSITIVE),
}
