"""Whether a proof holds for an input, and whether an answer is what its proof proves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.proof import Proof
from fairlead.model.shares import Certificate
from fairlead.sharing.certificate.files import proof_from_json
from fairlead.sharing.certificate.given import Input, Proved, read_input
from fairlead.sharing.certificate.prices import Scarce
from fairlead.sharing.certificate.rounds import check_rounds
from fairlead.sharing.certificate.scales import Looks, Rule, rule
from fairlead.sharing.certificate.seen import Bools, Classes, Floats
from fairlead.sharing.certificate.tolerances import EXACT
from fairlead.sharing.certificate.weights import tenant_weights

STATED = "the scales of `{policy}` are taken as stated: only its owner can compute them"


def check_proof(given: Input, proof: Proof) -> Proved:
    """What the proof establishes for the input. Raises CertificateError with the first thing that
    does not hold."""
    known = rule(proof.policy)
    if known is None:
        try:
            looks = Looks(proof.view)
        except ValueError:
            raise CertificateError(f"the view `{proof.view}` is none that there is") from None
    else:
        looks = known.looks
        if proof.view != looks.value:
            raise CertificateError(f"the view of {proof.policy} is not `{proof.view}`")
    given.seen.partition(proof.classes)
    if looks is Looks.EACH_MACHINE:
        return _each_machine(given, proof, known)
    if looks is Looks.POOLED:
        if [each.index for each in proof.classes] != [0]:
            raise CertificateError(f"{proof.policy} looks at one class, of the number 0")
        classes = given.seen.pooled()
        bound = np.where(given.seen.spread, len(given.seen.machines), np.inf)
        scarce = Scarce(
            given.seen, classes, given.tree, np.minimum(given.seen.tasks, bound), spread=False
        )
    else:
        classes = given.seen.classes(proof.classes)
        scarce = Scarce(given.seen, classes, given.tree, given.seen.tasks)
    if any(each.machine_class is not None for each in proof.rounds):
        raise CertificateError(f"a round of {proof.policy} is about one class of machines")
    scale = _scale(given, proof, known, classes)
    weight, figures = tenant_weights(given.cluster, given.seen, given.tree, scale, proof.pools)
    tasks = scarce.placed(proof.placements)
    found = check_rounds(scarce, weight, scale, tasks, proof.rounds, scarce.violation(tasks))
    figures = figures.worse(found.feasibility, found.gap)
    return Proved(figures, _assumed(proof, known), looks, weight, scale, tasks, {None: scale > 0})


def _each_machine(given: Input, proof: Proof, known: Rule | None) -> Proved:
    """Every class of machines is a filling by itself, of one of its machines."""
    seen = given.seen
    classes = seen.classes(proof.classes)
    whole = Scarce(seen, classes, given.tree, seen.tasks)
    tasks = whole.placed(proof.placements)
    weight, figures = tenant_weights(given.cluster, seen, given.tree, given.alone, proof.pools)
    violation = whole.violation(tasks)
    if unknown := {each.machine_class for each in proof.rounds} - classes.column.keys():
        raise CertificateError(
            f"a round is about the class {min(unknown, key=str)}, which does not exist"
        )
    time = _times(given, proof, classes)
    active: dict[int | None, Bools] = {}
    for number, column in classes.column.items():
        at = slice(column, column + 1)
        one = Classes(
            classes.capacity[at],
            np.ones(1),
            classes.holds[:, at],
            classes.usable[:, at],
            {number: 0},
        )
        scarce = _on_one_machine(
            given, one, tasks, tasks[:, column] / classes.count[column], time, column
        )
        scale = _scale(given, proof, known, one, number)
        rounds = [each for each in proof.rounds if each.machine_class == number]
        share = tasks[:, at] / classes.count[column]
        found = check_rounds(scarce, weight, scale, share, rounds, violation)
        figures = figures.worse(found.feasibility, found.gap)
        active[number] = scale > 0
    return Proved(figures, _assumed(proof, known), Looks.EACH_MACHINE, weight, None, tasks, active)


def _times(given: Input, proof: Proof, classes: Classes) -> Floats:
    """(J, C) the share at which each job freezes on each class, -1 where it does not take part."""
    time = np.full(classes.usable.shape, -1.0)
    for each in proof.rounds:
        if each.machine_class is not None:
            column = classes.column[each.machine_class]
            rows = [given.seen.job[name] for name in each.frozen if name in given.seen.job]
            time[rows, column] = each.share
    return time


def _on_one_machine(
    given: Input, one: Classes, tasks: Floats, here: Floats, time: Floats, column: int
) -> Scarce:
    """What is scarce on one machine, whose jobs have `here` tasks on it, of `tasks` (J, C) in all.

    All machines fill at the same pace. A job whose tasks are used up stops everywhere at that
    time; so do all jobs under a limit that is used up. Their tasks on a machine are then its part
    of what all machines share. Who was stopped there before was stopped by something else.
    """
    seen, tree = given.seen, given.tree
    each = tasks.sum(axis=1)
    used_up = each >= seen.tasks * (1 - EXACT)
    last = time.max(axis=1, initial=0.0) * (1 - EXACT)
    caps = []
    for cap in tree.caps:
        under = cap.need > 0
        used = cap.need @ each >= cap.most * (1 - EXACT)
        if used and np.any(time[under, column] >= last[under].max(initial=0.0)):
            cap = replace(cap, most=float(cap.need @ here))
        caps.append(cap)
    part = used_up & (time[:, column] >= last)
    return Scarce(seen, one, replace(tree, caps=tuple(caps)), np.where(part, here, seen.tasks))


def _scale(
    given: Input, proof: Proof, known: Rule | None, classes: Classes, number: int | None = None
) -> Floats:
    """(J,) the policy's scale: computed again, or as stated where the policy is the user's own."""
    stated: dict[str, float] = {}
    for each in proof.scales:
        if each.machine_class == number:
            if each.job not in given.seen.job:
                raise CertificateError(f"it has a scale of job {each.job}, which the input has not")
            if each.job in stated or not 0 < each.tasks < np.inf:
                raise CertificateError(f"the scale {each.tasks} is stated for job {each.job}")
            stated[each.job] = each.tasks
    runs = classes.runs
    if stated.keys() != {given.seen.names[job] for job in np.flatnonzero(runs)}:
        raise CertificateError("scales are not stated for exactly the jobs that can run")
    scale = np.array([stated.get(name, 0.0) for name in given.seen.names])
    if known is None:
        return scale
    right = known.scale(given.seen, classes)
    off = np.abs(scale - right) > EXACT * right
    if off.any():
        job = int(off.argmax())
        raise CertificateError(
            f"the scale of job {given.seen.names[job]} is {right[job]:.12g}, not {scale[job]:.12g}"
        )
    return right


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
    proved = check_proof(given, proof)
    check_answer(given, allocation, proof, proved)
    return _certificate(proved)


def verify(
    cluster: Cluster, jobs: Sequence[Job], proof: str | Proof, file: str = "<proof>"
) -> Certificate:
    """The certificate of a proof (or the text of its file) that holds for this input. Raises
    InputError where the text is no proof, and CertificateError with the first thing that does not
    hold."""
    if isinstance(proof, str):
        proof = proof_from_json(proof, file)
    return _certificate(check_proof(read_input(cluster, jobs), proof))


def _certificate(proved: Proved) -> Certificate:
    return Certificate(proved.figures.feasibility, proved.figures.gap, proved.assumed)
