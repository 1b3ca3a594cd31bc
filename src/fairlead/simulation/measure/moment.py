"""A moment of a run: who waits, who holds what, and which machines are there."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.scheduling.state.terms import Term
from fairlead.simulation.workload import Bools, Floats, Ints, Words


@dataclass(frozen=True)
class Moment:
    """The state after all that happened until `time`, and after the decisions on it.

    Machines are in the order in which they joined, jobs in the order of submission; jobs are those
    with waiting tasks or tasks on machines. All arrays are copies: a sink may keep them.
    """

    time: int  # microseconds

    machine: Ints  # (M,) index into the workload's machine names
    capacity: Ints  # (M, R) in units
    free: Ints  # (M, R)
    satisfied: Words  # (M, W) bit k: the machine satisfies term k
    open: Bools  # (M,) takes tasks (not draining)

    job: Ints  # (J,) number of the job in the workload's stream, from 0
    tenant: Ints  # (J,) index into the workload's tenants; -1: the job is its own tenant
    submitted: Ints  # (J,) microseconds
    demand: Ints  # (J, R)
    needs: Words  # (J, W)
    spread: Bools  # (J,)
    gang: Ints  # (J,)
    waiting: Ints  # (J,) tasks that wait
    held: Ints  # (J,) tasks on machines
    scale: Floats  # (J,) tasks that make one unit of share; 0: the job cannot run

    tenant_weight: Floats  # (T,) of the workload's tenants; of one with a pool, what it comes to

    terms: tuple[Term, ...]  # those that the words' bits stand for
