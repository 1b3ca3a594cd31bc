"""What an adversary tries on one input: forged proofs, mended by the check's own words until it
believes them, or gives them up. What he may not sell is judged by rational filling, which knows
neither prices nor proofs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from random import Random

from fairlead.model.errors import InputError
from fairlead.model.proof import Proof
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate.check import check_proof
from fairlead.sharing.certificate.input import Input as Start
from fairlead.sharing.certificate.input import read_input
from tests.reference.filling import exact_shares, scales, weights
from tests.reference.instances import Instance, instance
from tests.reference.policies import POLICIES
from tests.sharing.certificate.corruption import corruptions
from tests.sharing.certificate.forging import (
    PARTS,
    believed,
    changed,
    mended,
    other_weights,
    wished,
)

CHANGED, WISHED, CORNERS, CORRUPT = 12, 12, 30, 12
"""Forgeries of each kind that are tried on an input."""


@dataclass(frozen=True)
class Fair:
    """An input, the right proof of its shares under a policy, and those shares by the reference."""

    given: Instance
    policy: str
    proof: Proof

    @cached_property
    def tasks(self) -> dict[str, Fraction]:
        """The tasks of each job, by rational filling."""
        known = POLICIES[self.policy]
        return exact_shares(*self.given, known.scale, known.looks).tasks

    @cached_property
    def start(self) -> Start:
        """The input as the check reads it."""
        return read_input(*self.given)

    def proved(self, proof: Proof) -> dict[str, Fraction]:
        """The tasks of each job by this proof. Raises CertificateError where it does not hold."""
        tasks = check_proof(self.start, proof, as_stated=False).tasks
        each = zip(self.start.seen.names, tasks, strict=True)
        return {name: Fraction(int(x.p), int(x.q)) for name, x in each}

    def is_sold_by(self, proof: Proof) -> bool:
        """Whether what a proof that holds proves and states is the fair tasks, and no others."""
        stated = {name: float(x) for name, x in self.tasks.items() if x}
        return self.proved(proof) == self.tasks and dict(proof.tasks) == stated


@dataclass
class Sales:
    """How many forgeries were tried on an input, how many of them the check believed in the end,
    and those of them that sell other tasks than the fair ones."""

    tried: int = 0
    believed: int = 0
    frauds: list[Proof] = field(default_factory=list)


def draw(policy: str, random: Random) -> Fair | None:
    """A small input with the proof of its shares; None where nothing is shared on what is drawn."""
    known = POLICIES[policy]
    cluster, jobs = drawn = instance(random, known.kind)
    if not jobs or not known.takes(drawn):
        return None
    try:
        proof = allocate(cluster, jobs, policy).proof
    except InputError:
        return None  # a pool that could give nothing
    assert proof is not None
    return Fair(drawn, policy, proof) if proof.rounds else None


def attempts(fair: Fair, random: Random) -> Iterator[Proof]:
    """Forged proofs: what the right one says put otherwise, and proofs of what is not so."""
    given, proof = fair.given, fair.proof
    for _ in range(CHANGED):
        forged = proof
        for _ in range(random.randint(1, 3)):
            if forged.rounds:
                forged = changed(forged, given, random)
        yield forged
    if proof.view == "each machine":
        return
    wishes = wished(given, proof.policy, dict(proof.tasks), random)
    yield from (forged for forged, _ in islice(wishes, WISHED))
    for wrong in believed(given, proof.policy, random):
        yield wrong
        if wrong.rounds:
            yield changed(wrong, given, random)
    known = POLICIES[fair.policy]
    scale = scales(known.scale, given[0].machines, given[1])
    weighed = scale, weights(*given, scale)
    for _ in range(CORNERS):
        yield from other_weights(given, proof, *weighed, random)


def corrupt(fair: Fair, random: Random) -> Iterator[Proof]:
    """The right proof with one number, name or item of it changed, anywhere, as a file may hold
    it: no file has a NaN."""
    every = corruptions(fair.proof, float(random.choice(PARTS)), "policy")
    wrong = [proof for path, proof in every if not path.endswith(" nan")]
    yield from random.sample(wrong, min(CORRUPT, len(wrong)))


def sell(fair: Fair, forgeries: Iterator[Proof]) -> Sales:
    """What the check says to each of these forgeries, mended as far as it can be."""
    sales = Sales()
    for forged in forgeries:
        sales.tried += 1
        sold = mended(forged, fair.proved)
        if sold is not None:
            sales.believed += 1
            if not fair.is_sold_by(sold):
                sales.frauds.append(sold)
    return sales
