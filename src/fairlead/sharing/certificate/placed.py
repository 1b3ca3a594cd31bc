"""The places of an answer's tasks, exactly: as its proof has them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.proof import Proof
from fairlead.sharing.certificate.check import check_proof
from fairlead.sharing.certificate.input import read_input
from fairlead.sharing.numbers.sums import total

Placed = dict[str, dict[int, Fraction]]
"""By job and number of a class of machines."""


def exactly_placed(cluster: Cluster, jobs: Sequence[Job], proof: Proof) -> Placed:
    """The tasks of each job on each class of the proof: all of them where it looks at machines, and
    on the one class where it looks at one that holds everything. Raises CertificateError where the
    proof does not hold."""
    given = read_input(cluster, jobs)
    proved = check_proof(given, proof, as_stated=True, exact=True)
    found: Placed = {}
    for name, on in proved.parts.items():
        tasks, whole = proved.tasks[given.seen.job[name]], total(list(on.values()))
        each = ((number, tasks * (part / whole)) for number, part in on.items())
        found[name] = {n: Fraction(int(x.p), int(x.q)) for n, x in each}
    return found
