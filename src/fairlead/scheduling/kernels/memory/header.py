"""What the core's state has one of: the time, how many records are in use, what is pending."""

from __future__ import annotations

import numpy as np

HEADER = np.dtype(
    [
        ("now", np.int64),
        ("trail", np.uint64),  # what happened so far, mixed
        ("full", np.int64),
        ("decided", np.int64),  # decisions asked for so far
        ("machines", np.int64),  # slots in use
        ("jobs", np.int64),
        ("tenants", np.int64),
        ("tasks", np.int64),
        ("nodes", np.int64),
        ("stakes", np.int64),
        ("free_job", np.int64),  # head of the list of slots to use again
        ("free_tenant", np.int64),
        ("free_task", np.int64),
        ("free_node", np.int64),
        ("free_stake", np.int64),
        ("present", np.int64),  # machines that are not gone
        ("job_seq", np.int64),  # the next
        ("turns", np.int64),  # the next
        ("tenant_seq", np.int64),
        ("root", np.int64),  # of the trie of tenants without a parent
        ("active", np.int64),  # how many jobs are
        ("dirty", np.int64),  # how many machines are in `dirty`
        ("deciding", np.int64),  # a decision was left for a larger table
        ("heap", np.int64),  # how many nodes are still to be looked at; -1: all
        ("near", np.int64),  # how many machines are in `near`
        ("growing", np.int64),  # of these, where somebody may still be placed
        ("asked", np.int64),  # sets that are asked for
        ("owned", np.int64),  # those whose room grew where only one job may be placed
        ("unset", np.int64),  # how many machines are in `unset`
        ("begun", np.int64),  # searches over them, ever
        ("reshaped", np.int64),  # some trie got another shape since
        ("out", np.int64),
        ("alarms", np.int64),
        ("fell", np.int64),  # some level fell since the heap was made
        ("fifo", np.int64),  # all levels are 0
        ("filling", np.int64),  # tenants are filled (Options); 0: as an older version
        ("leveled", np.int64),  # how often levels of tenants' jobs changed, ever
        ("limits", np.int64),  # how often walks had another bound, ever
        ("reserve_after", np.int64),  # NEVER: off
        ("reserve_for", np.int64),  # the least of a lease; NEVER: there are none
        ("longest", np.int64),  # run of a task that ended, lately
        ("longest_at", np.int64),  # when it was remembered
        ("lapse", np.int64),  # when the first lease ends, NEVER
        ("rest", np.int64),  # when the first tenant has rested, NEVER
        ("look_at", np.int64),  # when it is looked next for whom machines are reserved, NEVER
        ("crowded", np.int64),  # more kinds wait than are asked at a time
        ("stirs", np.int64),  # how often something changed by which some could be, ever
        ("first", np.int64),  # job seq that is first in line, NONE
        ("first_slot", np.int64),
        ("first_since", np.int64),
        ("first_held", np.int64),  # the most that it held since
        ("relook", np.int64),  # another job may be first in line
        ("told", np.int64),  # some job told how long its tasks take
        ("hopeless", np.int64),  # nothing could be reserved, and nothing changed since: no alarm
        ("reservations", np.int64),  # machines that are reserved
        ("due", np.int64),  # jobs whose reservation is made anew
        ("asides", np.int64),  # how many tenants are in `asides`
        ("stints", np.int64),  # how many tenants are in `stints`
        ("rested", np.int64),  # one of them owes nothing any more since it was last decided
        ("last", np.int64),  # gangs of those who rest are asked: nobody else may be placed
        ("gangs", np.int64),  # the first in the list of active gangs, NONE
        ("changed", np.int64),  # how many machines are
        ("picky", np.int64),  # the rule's scores matter (first fit: 0)
        ("tight", np.int64),  # the rule is tight (placement.registry.Placement)
        ("choice", np.int64),  # the job whose candidates are in `fits`, NONE
        ("choices", np.int64),  # how many they are
        ("sorted", np.int64),  # they are a heap; else only the first and second are the least
        ("groups", np.int64),  # of machines, in advice; 0: no advice
        ("launched", np.int64),  # tasks, ever
        ("soonest", np.int64),  # when the next alarm rings, NEVER
    ],
    align=True,
)
