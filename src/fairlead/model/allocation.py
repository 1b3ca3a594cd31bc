"""The answer: who gets what, at which level each was stopped and by what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fairlead.model.proof import Proof
from fairlead.model.report import (
    class_tree,
    job_tree,
    json_text,
    level_tree,
    never_words,
    rounded,
    stop_tree,
)
from fairlead.model.shares import (
    Certificate,
    Freeze,
    JobShare,
    Level,
    MachineClass,
    Stop,
    Tasks,
    TenantShare,
)
from fairlead.model.unrounded import NONE, Unrounded, write_fraction
from fairlead.model.wholes import Whole
from fairlead.model.words import sentence

ALLOCATION_SCHEMA = "fairlead.allocation/1"


@dataclass(frozen=True)
class Allocation:
    """The whole answer, as printed. `warnings` are sentences for the user.

    `prices` are a market's; `proof` is what `certificate` was checked by (None for a mechanism),
    and `freezes` are its rounds with their prices;
    `whole` is there where tasks are whole. `unrounded` are the numbers behind what is shown:
    whatever compares answers compares these.
    """

    policy: str
    tasks: Tasks
    tenants: tuple[TenantShare, ...]
    jobs: tuple[JobShare, ...]
    classes: tuple[MachineClass, ...]
    levels: tuple[Level, ...]
    certificate: Certificate | None
    warnings: tuple[str, ...] = ()
    prices: tuple[Stop, ...] = ()
    proof: Proof | None = field(default=None, repr=False)
    freezes: tuple[Freeze, ...] = field(default=(), repr=False)
    whole: Whole | None = None
    unrounded: Unrounded = field(default=NONE, repr=False, compare=False)

    def job(self, name: str) -> JobShare:
        """The share of the job with this name; KeyError if there is none."""
        for job in self.jobs:
            if job.name == name:
                return job
        raise KeyError(name)

    def tenant(self, name: str) -> TenantShare:
        """The share of the tenant with this name; KeyError if there is none."""
        for tenant in self.tenants:
            if tenant.name == name:
                return tenant
        raise KeyError(name)

    def sentences(self) -> tuple[str, ...]:
        """All that a user must know beside the numbers: the warnings, and why each job that can
        never run cannot."""
        nowhere = (
            never_words(job.name, job.nowhere) for job in self.jobs if job.nowhere is not None
        )
        return (*(sentence(text) for text in self.warnings), *nowhere)

    def tree(self, *, fractions: bool = False) -> dict[str, object]:
        """The answer as `fairlead.allocation/1`: only dicts, lists, text, numbers and None. With
        `fractions`, exact numbers are written out however long they are."""
        certificate, unrounded = self.certificate, self.unrounded

        def exact(name: str, **numbers: Mapping[str, Fraction]) -> dict[str, str | None] | None:
            if unrounded.within or any(name not in each for each in numbers.values()):
                return None
            return {
                key: write_fraction(each[name], long=fractions) for key, each in numbers.items()
            }

        return {
            "schema": ALLOCATION_SCHEMA,
            "policy": self.policy,
            "tasks": self.tasks.value,
            "tenants": [
                {
                    "name": tenant.name,
                    "parent": tenant.parent,
                    "weight": tenant.weight,
                    "share": tenant.share,
                    "level": tenant.level,
                    "exact": exact(tenant.name, share=unrounded.tenant_share),
                }
                for tenant in self.tenants
            ],
            "jobs": [
                job_tree(job)
                | {"exact": exact(job.name, tasks=unrounded.tasks, share=unrounded.share)}
                for job in self.jobs
            ],
            "classes": [class_tree(group) for group in self.classes],
            "levels": [level_tree(level) for level in self.levels],
            "prices": [stop_tree(price) for price in self.prices],
            "certificate": None
            if certificate is None
            else {
                "feasibility": rounded(certificate.feasibility),
                "gap": rounded(certificate.gap),
                "exact": certificate.exact,
                "assumed": list(certificate.assumed),
            },
            "warnings": list(self.sentences()),
            **({} if self.whole is None else self.whole.tree()),
        }

    def to_json(self, *, fractions: bool = False) -> str:
        """The answer as `fairlead.allocation/1`, the same bytes for the same answer."""
        return json_text(self.tree(fractions=fractions))

    def table(self) -> list[dict[str, str | float | int | None]]:
        """One row per job, with its tenant's share beside it, as pandas and polars take them."""
        tenants = {tenant.name: tenant for tenant in self.tenants}
        return [
            {
                "job": job.name,
                "tenant": job.tenant,
                "weight": tenants[job.tenant].weight,
                "tenant_share": tenants[job.tenant].share,
                "share": job.share,
                "level": job.level,
                "tasks": job.tasks,
                "alone": job.alone,
                "scale": job.scale,
                "policy": self.policy,
            }
            for job in self.jobs
        ]
