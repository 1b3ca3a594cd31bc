"""Whether a proof holds for an input, and whether an answer is what its proof proves."""

from __future__ import annotations

from collections.abc import Sequence

from flint import fmpq

from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.proof import Proof
from fairlead.model.shares import Certificate
from fairlead.sharing.certificate.arithmetic import NONE, nearest, rational
from fairlead.sharing.certificate.arrays import Classes
from fairlead.sharing.certificate.files import proof_from_json
from fairlead.sharing.certificate.input import Filled, Input, Proved, read_input
from fairlead.sharing.certificate.per_machine import Clock, check_stops
from fairlead.sharing.certificate.places import check_numbers, check_places, tasks_of
from fairlead.sharing.certificate.rounds import check_rounds
from fairlead.sharing.certificate.scales import Looks, Rule, rule
from fairlead.sharing.certificate.scarce import Rows
from fairlead.sharing.certificate.weights import tenant_weights

STATED = "the scales of `{policy}` are taken as stated: only its owner can compute them"
UNKNOWN = "`{policy}` is not a policy that I know, so its scales cannot be computed again"


def check_proof(given: Input, proof: Proof, *, as_stated: bool, exact: bool = False) -> Proved:
    """All that the proof establishes for the input; of a policy that is not built in only if its
    scales are to be taken `as_stated`. `exact`: also where tasks are is solved in rationals. Raises
    CertificateError with the first thing that does not hold."""
    known = rule(proof.policy)
    if known is not None:
        looks = known.looks
        if proof.view != looks.value:
            raise CertificateError(f"the view of {proof.policy} is not `{proof.view}`")
        if proof.scales:
            raise CertificateError(f"scales are stated, and those of {proof.policy} are known")
    elif not as_stated:
        raise CertificateError(UNKNOWN.format(policy=proof.policy))
    else:
        try:
            looks = Looks(proof.view)
        except ValueError:
            raise CertificateError(f"the view `{proof.view}` is none that there is") from None
    given.seen.partition(proof.classes)
    if looks is Looks.EACH_MACHINE:
        return _each_machine(given, proof, known)
    number = given.seen.number
    if looks is Looks.POOLED:
        if [each.index for each in proof.classes] != [0]:
            raise CertificateError(f"{proof.policy} looks at one class, of the number 0")
        classes = given.seen.pooled()
        machines = fmpq(len(given.seen.machines))
        number = tuple(
            machines if spreads and (most is None or machines < most) else most
            for most, spreads in zip(number, given.seen.spread.tolist(), strict=True)
        )
    else:
        classes = given.seen.classes(proof.classes)
    rows = Rows(given.seen, classes, given.tree, number, spreads=looks is Looks.MACHINES)
    if any(each.machine_class is not None for each in proof.rounds):
        raise CertificateError(f"a round of {proof.policy} is about one class of machines")
    scale = _scale(given, proof, known, classes)
    weight = tenant_weights(given.cluster, given.seen, given.tree, scale, proof.pools)
    filling = check_rounds(rows, weight, scale, proof.rounds)
    amounts = check_places(filling, proof, exact=exact)
    tasks = tasks_of(filling)
    check_numbers(rows, tasks)
    _same_tasks(given, proof, tasks)
    active = frozenset(job for job, each in enumerate(scale) if each > 0)
    numbers = {column: number for number, column in classes.column.items()}
    placed: dict[str, dict[int, float]] = {}
    parts: dict[str, dict[int, fmpq]] = {}
    by_entry: list[dict[int, fmpq]] = [{} for _ in proof.places]
    for (e, column), amount in amounts.items():
        if amount > 0:
            by_entry[e][column] = amount
    for places, on in zip(proof.places, by_entry, strict=True):
        whole = sum(nearest(amount) for amount in on.values())
        by_number = {numbers[c]: x for c, x in on.items()}
        for name in places.jobs:
            parts[name] = by_number
            each = nearest(tasks[given.seen.job[name]])
            placed[name] = {numbers[c]: each * (nearest(x) / whole) for c, x in on.items()}
    filled: dict[int | None, Filled] = {None: Filled(proof.rounds, tuple(filling.levels), active)}
    return Proved(_assumed(proof, known), looks, weight, scale, tasks, placed, filled, parts)


def _each_machine(given: Input, proof: Proof, known: Rule | None) -> Proved:
    """Every class of machines is a filling by itself, of one of its machines."""
    seen = given.seen
    classes = seen.classes(proof.classes)
    if proof.places or proof.full:
        raise CertificateError("a machine that is filled by itself needs no places")
    weight = tenant_weights(given.cluster, seen, given.tree, given.alone, proof.pools)
    if unknown := {each.machine_class for each in proof.rounds} - classes.column.keys():
        raise CertificateError(
            f"a round is about the class {min(unknown, key=str)}, which does not exist"
        )
    order = sorted(classes.column, key=lambda number: classes.column[number])
    scale = [
        _scale(given, proof, known, classes.only(classes.column[number]).alone(), number)
        for number in order
    ]
    clock = Clock(seen, classes, given.tree, weight, scale)
    placed: dict[str, dict[int, float]] = {}
    parts: dict[str, dict[int, fmpq]] = {}
    filled: dict[int | None, Filled] = {}
    for column, number in enumerate(order):
        rounds = tuple(each for each in proof.rounds if each.machine_class == number)
        levels = check_stops(clock, seen, column, rounds, f"class {number}")
        active = frozenset(job for job, each in enumerate(scale[column]) if each > 0)
        filled[number] = Filled(rounds, levels, active)
        for job, much in clock.held[column].items():
            if much > 0:
                there = much * clock.count[column]
                placed.setdefault(seen.names[job], {})[number] = nearest(there)
                parts.setdefault(seen.names[job], {})[number] = there
    tasks = clock.tasks()
    _same_tasks(given, proof, tasks)
    looks = Looks.EACH_MACHINE
    return Proved(_assumed(proof, known), looks, weight, None, tasks, placed, filled, parts)


def _same_tasks(given: Input, proof: Proof, tasks: Sequence[fmpq]) -> None:
    """Raises CertificateError where the proof states other tasks than it proves."""
    right = {
        name: nearest(each) for name, each in zip(given.seen.names, tasks, strict=True) if each > 0
    }
    stated = dict(proof.tasks)
    if len(stated) < len(proof.tasks):
        raise CertificateError("the tasks of a job are stated twice")
    if unknown := stated.keys() - given.seen.job.keys():
        raise CertificateError(f"tasks of job {min(unknown)}, which does not exist")
    for name in sorted(right.keys() | stated.keys()):
        if right.get(name) != stated.get(name):
            raise CertificateError(
                f"job {name} is said to run {stated.get(name, 0.0)!r} tasks, and its rounds give it"
                f" {right.get(name, 0.0)!r}"
            )


def _scale(
    given: Input, proof: Proof, known: Rule | None, classes: Classes, number: int | None = None
) -> list[fmpq]:
    """(J,) the policy's scale: computed again, or as stated where the policy is the user's own."""
    if known is not None:
        return known.scale(given.seen, classes)
    stated: dict[str, fmpq] = {}
    for each in proof.scales:
        if each.machine_class == number:
            if each.job not in given.seen.job:
                raise CertificateError(f"it has a scale of job {each.job}, which the input has not")
            if each.job in stated or not each.tasks > 0:
                raise CertificateError(f"the scale {each.tasks} is stated for job {each.job}")
            stated[each.job] = rational(each.tasks)
    runs = {name for name, able in zip(given.seen.names, classes.runs, strict=True) if able}
    if stated.keys() != runs:
        raise CertificateError("scales are not stated for exactly the jobs that can run")
    return [stated.get(name, NONE) for name in given.seen.names]


def _assumed(proof: Proof, known: Rule | None) -> tuple[str, ...]:
    return () if known is not None else (STATED.format(policy=proof.policy),)


def certify(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, proof: Proof | None
) -> Certificate:
    """The certificate of an answer that is what its proof proves; without a proof (a mechanism has
    none), of one that is possible. Raises CertificateError with the first thing that does not
    hold."""
    # Imported here because an outsider who verifies a proof has no answer.
    from fairlead.sharing.certificate.answer import check_answer, check_possible

    given = read_input(cluster, jobs)
    if proof is None:
        return Certificate(check_possible(given, allocation), None)
    proved = check_proof(given, proof, as_stated=True)
    check_answer(given, allocation, proof, proved)
    return Certificate(0.0, 0.0, proved.assumed, exact=True)


def verify(
    cluster: Cluster,
    jobs: Sequence[Job],
    proof: str | Proof,
    file: str = "<proof>",
    *,
    scales_as_stated: bool = False,
) -> Certificate:
    """The certificate of a proof (or the text of its file) that holds for this input: then each
    job's share is its exact fair share. Scales of a policy that is not built in are believed only
    with `scales_as_stated`. Raises InputError where the text is no proof, and CertificateError with
    the first thing that does not hold."""
    if isinstance(proof, str):
        proof = proof_from_json(proof, file)
    proved = check_proof(read_input(cluster, jobs), proof, as_stated=scales_as_stated)
    return Certificate(0.0, 0.0, proved.assumed, exact=True)
