"""An adversary who mends forged proofs by the check's own words sells nothing but fair shares.

What he may not sell is judged by rational filling, which knows neither prices nor proofs: the
tests beside this one judge by what the check makes of the solver's own proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import islice
from random import Random

import pytest

from fairlead.model.errors import InputError
from fairlead.model.proof import Proof
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate.check import check_proof
from fairlead.sharing.certificate.input import Input as Start
from fairlead.sharing.certificate.input import read_input
from tests.reference.filling import exact_shares, scales, weights
from tests.reference.instances import instance
from tests.reference.policies import POLICIES
from tests.sharing.certificate.forging import (
    Input,
    believed,
    changed,
    mended,
    other_weights,
    wished,
)

Weights = dict[str, Fraction]

CHANGED, WISHED, CORNERS = 12, 12, 30
"""Forgeries of each kind that are tried on an input."""


def attempts(
    given: Input, proof: Proof, weighed: tuple[Weights, Weights], random: Random
) -> Iterator[Proof]:
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
    for _ in range(CORNERS):
        yield from other_weights(given, proof, *weighed, random)


def proved(given: Start, proof: Proof) -> dict[str, Fraction]:
    """The tasks of each job. Raises CertificateError where the proof does not hold."""
    tasks = check_proof(given, proof, as_stated=False).tasks
    each = zip(given.seen.names, tasks, strict=True)
    return {name: Fraction(int(x.p), int(x.q)) for name, x in each}


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_mended_until_it_is_believed_gives_the_fair_shares(policy: str, cases: int) -> None:
    known = POLICIES[policy]
    tried = believed = 0
    for seed in range(6 * cases):
        random = Random(f"{policy} {seed}")
        cluster, jobs = given = instance(random, known.kind)
        if not jobs or not known.takes(given):
            continue
        try:
            proof = allocate(cluster, jobs, policy).proof
        except InputError:
            continue  # a pool that could give nothing
        assert proof is not None
        if not proof.rounds:
            continue
        shares = partial(proved, read_input(cluster, jobs))
        fair = exact_shares(cluster, jobs, known.scale, known.looks).tasks
        assert shares(proof) == fair, seed
        scale = scales(known.scale, cluster.machines, jobs)
        weighed = scale, weights(cluster, jobs, scale)
        for forged in attempts(given, proof, weighed, random):
            tried += 1
            sold = mended(forged, shares)
            if sold is not None:
                believed += 1
                assert shares(sold) == fair, (seed, sold)
                stated = {name: float(x) for name, x in fair.items() if x}
                assert dict(sold.tasks) == stated, (seed, sold)
    assert tried >= 10  # kdf(3) has a share on few of the inputs
    # Some end as another proof of what is true: he does mend, and is not stopped by trifles.
    assert believed
