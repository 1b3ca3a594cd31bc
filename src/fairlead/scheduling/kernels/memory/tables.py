"""The tables of the online core's state: what each record holds.

A slot is a row of a table. Machines have the slot of their `seq`; the slots of jobs, tenants,
tasks and nodes are used again. -1 stands for none. Everything is an integer but what an order is
made of, which is derived from integers and never accumulated.
"""

from __future__ import annotations

import numpy as np

from fairlead.scheduling.kernels.memory.header import HEADER
from fairlead.scheduling.kernels.memory.lines import in_lines

NONE = -1
UNLIMITED = -1
"""A job's `total` where it has no end; a tenant's `limit` where there is none."""
ALONE = 2
"""`usable` of a job of which tasks could run, but never so many as start together."""
MANY = 1 << 60
"""How many tasks wait of a job without an end."""
SHARE = 1 << 40
"""The idle tasks of a tenant are counted in units of 1 / SHARE of a share."""
COARSE = 1 << 20
"""Of weights beside each other, one is counted in parts of the other one / COARSE."""
POINTS = 1 << 10
"""A rest is counted in microseconds / POINTS."""
NEVER = (1 << 63) - 1
"""A time that does not come; an expected end that nobody told."""
GRADES = 256
"""A resource has so many sets of machines, by how much room they have."""
WORD = 64
"""Machines of a set that are the bits of one word, and terms of a constraint that are."""
BLOCK = 8
"""Words of a set that lie together."""
UPS, RESOURCES = 0, 1
"""Rows: the machines that take tasks; the first set of the first resource; then the terms' sets."""
FREE = -1
"""The state of a task's slot that nothing uses; those of tasks are `TaskState`."""
PIECES = 64
"""A machine has at most so many devices: a task's are the bits of a word."""

MACHINE = np.dtype(
    [
        ("state", np.int8),  # MachineState: 0 none, UP, DRAINING, GONE
        ("dirty", np.int8),  # room grew since the last decision: it is in `dirty`
        ("changed", np.int8),  # since it was last empty: only then may less than 0 be free
        ("pledged", np.int8),  # `reserved` is a pledge: nobody else may be placed, ever
        ("kept", np.int8),  # `reserved` is room that a gang keeps which does not fit yet
        ("refused", np.int8),  # with the room in `before`, nobody could be placed (see `apart`)
        ("unset", np.int8),  # its room changed, and the sets of machines do not say so yet
        ("tasks", np.int32),  # how many are on it
        ("first", np.int32),  # the first of them
        ("reserved", np.int32),  # the job that it is reserved for
        ("wanted", np.int32),  # so many of its tasks are counted on there; 0 of a pledge
        ("group", np.int32),  # machines of one group are alike for advice
        ("apart", np.int32),  # but for this job, whose own task was in the way
        ("near", np.int32),  # its place in `near`, from 1 on; 0: it is not there
        ("until", np.int64),  # the reservation's expected start, NEVER where unknown
    ],
    align=True,
)

JOB = np.dtype(
    [
        ("used", np.int8),  # the slot holds a job
        ("spread", np.int8),
        ("usable", np.int8),  # it could start on empty machines; ALONE: one task only
        ("active", np.int8),  # usable and something waits, of ALONE less than a gang
        ("cancelled", np.int8),
        ("patient", np.int8),  # waits for what it prefers
        ("likes", np.int8),  # prefers anything at all
        ("due", np.int8),  # lost a reservation: it is made anew at once
        ("fresh", np.int8),  # may fit somewhere: all machines are looked at
        ("behind", np.int8),  # and it comes after all others, as its tenant rests
        ("tenant", np.int32),
        ("first_task", np.int32),  # held: launched, running, stopping
        ("queue_first", np.int32),  # tasks that wait again, in their order
        ("queue_last", np.int32),
        ("leaf", np.int32),  # its node in its tenant's trie
        ("reserved", np.int32),  # how many machines are reserved for it
        ("whole", np.int32),  # its stakes: all that it holds
        ("beyond", np.int32),  # and what it holds beyond its first tasks
        ("kept", np.int32),  # of those reserved, whose room it keeps
        ("gang_next", np.int32),  # in the list of active gangs
        ("gang_before", np.int32),
        ("seq", np.int64),
        ("gang", np.int64),
        ("total", np.int64),
        ("waiting", np.int64),
        ("held", np.int64),
        ("over", np.int64),
        ("next", np.int64),  # the first number never launched
        ("launches", np.int64),  # ever
        ("expected", np.int64),  # duration that was told; 0: none
        ("patience", np.int64),
        ("since", np.int64),  # patience runs from here
        ("checked", np.int64),  # the decision in which its gang was last found not to fit
        ("alarmed", np.int64),  # it is among the alarms
        ("tried", np.int64),  # the decision in which no machine whose room grew took it
        ("owner", np.int64),  # the search in which one of these machines was its alone
        ("unit", np.int64),  # a held task in units of 1 / SHARE
        ("turn", np.int64),  # of equal levels the least is first: grows with each launch
        ("leased", np.int64),  # machines are reserved or kept for it in vain from here on
        ("leased_from", np.int64),  # its lease began then
        ("lapses", np.int64),  # up to here; 0: it has no lease
        ("leased_tasks", np.int64),  # so many that start together were they for
        ("aside", np.int64),  # for so many tasks room is set aside below its tenants' limits
        ("scale", np.float64),
        ("mu", np.float64),  # held / scale
        ("signature", np.uint64),  # its key in the trie
    ],
    align=True,
)

GANG_LIST = ("gang_next", "gang_before")

BLANK_JOB = np.zeros(1, JOB)
"""A job that nothing was said of yet."""
_JOB = ("first_task", "queue_first", "queue_last", "leaf", "total", "whole", "beyond")
for _name in _JOB + GANG_LIST:
    BLANK_JOB[_name] = NONE  # UNLIMITED is the same number
BLANK_JOB["gang"] = 1

TENANT = in_lines(
    [
        # What a walk asks of each tenant that it comes to is in the first two lines.
        ("used", np.int8),
        ("single", np.int8),  # stands for one job that has no tenant
        ("capped", np.int8),  # it or one above it has a limit
        ("cut", np.int8),  # a limit kept some of its jobs from a machine that had room
        ("tied", np.int8),  # who holds nothing may be just at `limit`
        ("parent", np.int32),
        ("jobs", np.int32),  # active jobs, its own
        ("children", np.int32),  # active children
        ("stakes", np.int32),  # the root of what its active children hold
        ("root", np.int32),  # of the trie of its active jobs
        ("teams", np.int32),  # of the trie of its active children
        ("leaf", np.int32),  # its node in its parent's, or in that of all without a parent
        ("kept", np.int32),  # how many machines its own jobs keep the room of
        ("aside", np.int32),  # its job for which room is set aside below limits, or NONE
        ("limit", np.float64),  # the height below it above which a walk goes nowhere: no cap
        ("limited", np.int64),  # the header's `limits` then
        ("weight", np.float64),
        ("idle", np.float64),  # the share of what is held and not moving
        ("beside", np.float64),  # `weights` and `jobs`
        # What its children count, by height, is lines that end at stakes. The one that was asked
        # of last is `firsts`, `amount`, and `steep` for each unit of height:
        ("below", np.float64),  # from this sum on, without `firsts`
        ("above", np.float64),  # to this one
        ("firsts", np.float64),
        ("amount", np.float64),
        ("steep", np.float64),
        ("low", np.float64),  # above this height
        ("high", np.float64),  # and up to this one; 0: it is not known
        # Of one without a parent: the header's `leveled` when some level below changed last.
        ("levels", np.int64),  # What follows is kept for as long as none does.
        ("nothing", np.float64),  # the level of a job that holds nothing
        ("leveled", np.int64),  # the header's, when that was computed
        ("asked", np.float64),  # the height of which `bound` was asked last: many jobs tie
        ("bound", np.float64),
        ("bounded", np.int64),  # the header's `leveled` then
        ("of_held", np.int64),  # the tasks and the scale of the job whose level was asked last
        ("of_scale", np.float64),
        ("level", np.float64),
        ("known", np.int64),  # the header's `leveled` then
        ("child", np.int32),  # its first child, by declaration
        ("sibling", np.int32),  # its parent's next child
        ("whole", np.int32),  # its own stakes at its parent, as a job's
        ("beyond", np.int32),
        ("seq", np.int64),
        ("held", np.int64),  # by all below it, in units of 1 / SHARE
        ("moving", np.int64),  # by its active jobs and active children
        ("weight_low", np.float64),  # what rounding took from it
        ("weights", np.float64),  # of its active children, tenants only, in their order
        ("weights_low", np.float64),
        ("since", np.int64),  # its clock runs from here (`change.clocks`)
        ("best", np.int64),  # the most that it held at a launch since, as `held`
        ("left", np.int64),  # the decision after which it waited no more, NONE
        ("failed", np.int64),  # the header's `stirs` when nothing could be reserved for it, NONE
        ("rests", np.int64),  # until then nothing is reserved or kept for its jobs; 0: it may be
        ("vain_from", np.int64),  # for what was held in vain from here on
        ("vain_to", np.int64),
        ("vain_machines", np.int64),
        # What it held above its part (`change.stints`), where it is in `stints`:
        ("stint", np.int64),  # its place there, from 1 on; 0: it is not there
        ("owes", np.int64),  # so long it rests yet, in microseconds / POINTS
        ("rate", np.int64),  # so much more with each microsecond
        ("part", np.int64),  # in units of 1 / SHARE
        ("alone", np.int64),  # nobody beside it waits who could use what it took
        ("took", np.int64),  # of its gangs' machines one that most of them could use
        ("measured", np.int64),  # when that was found; NONE: it is to be found now
        ("stale", np.int64),  # it was decided since
    ]
)

BLANK_TENANT = np.zeros(1, TENANT)
"""A tenant without limits and without anybody below it."""
_TENANT = ("parent", "child", "sibling", "root", "teams", "leaf", "stakes", "whole", "beyond")
for _name in (*_TENANT, "aside", "leveled", "bounded", "known", "left", "failed"):
    BLANK_TENANT[_name] = NONE

TASK = np.dtype(
    [
        ("state", np.int8),  # TaskState; -1: the slot is free
        ("job", np.int32),
        ("machine", np.int32),
        ("attempt", np.int32),  # times launched
        ("machine_next", np.int32),
        ("machine_before", np.int32),
        ("job_next", np.int32),  # among the held, or in the queue of those that wait again
        ("job_before", np.int32),
        ("number", np.int64),
        ("launched", np.int64),
        ("pieces", np.uint64),
    ],
    align=True,
)

NODE = np.dtype(
    [
        ("left", np.int32),  # NONE for a leaf
        ("right", np.int32),
        ("parent", np.int32),
        ("owner", np.int32),  # of a leaf: the job or the tenant
        ("bit", np.int8),  # that the children differ in, from the highest, 0
        ("fresh", np.int8),  # a fresh job is below
        ("plain", np.int8),  # of a job's leaf: it is no gang and does not spread
        ("team", np.int8),  # it is in a trie of tenants
        ("word", np.uint64),  # the first of `terms`
        ("brief", np.uint64),  # of `need`, rounded down: 16 bits each of the first four
        ("turn", np.int64),  # of the least below it, by (key, turn)
        ("key", np.float64),  # mu, or at least what a tenant is among its siblings
        ("signature", np.uint64),  # of a leaf
    ],
    align=True,
)

STAKE = in_lines(  # an entry of `search.stakes`; each number is a double and what is left of it
    [
        ("left", np.int32),
        ("right", np.int32),
        ("parent", np.int32),
        # `lower`: the amounts of itself and all to the left below it; `upper`: the weights of
        # itself and all to the right. `amounts`, `weights`, `firsts`: the sums of itself and all
        # below; `most`: the largest `first`. What a walk by doubles reads is together.
        *((name, np.float64) for name in ("key", "lower", "upper", "weight", "amount")),
        ("rank", np.uint64),  # above those of lesser rank
        *((name + "_low", np.float64) for name in ("key", "lower", "upper", "weight", "amount")),
        *((name, np.float64) for name in ("amounts", "amounts_low", "weights", "weights_low")),
        *((name + low, np.float64) for name in ("first", "firsts", "most") for low in ("", "_low")),
    ]
)

OUT = np.dtype(
    [
        ("kind", np.int8),
        ("job", np.int32),
        ("machine", np.int32),
        ("task", np.int32),
        ("attempt", np.int32),
        ("number", np.int64),
        ("pieces", np.uint64),
    ],
    align=True,
)

ALARM = np.dtype([("time", np.int64), ("seq", np.int64), ("job", np.int32)], align=True)

LINE = np.dtype(  # of a node of a tenant's trie, as it stands in the tenant's line
    [
        ("key", np.float64),  # as the node's was when it came
        ("turn", np.int64),
        ("search", np.int64),  # in which it stands there; of a tenant's leaf: in which it has one
        ("below", np.int32),  # the first of those that come after it; of a tenant's leaf: the first
        ("beside", np.int32),  # the next that comes after the same one
        ("witness", np.int32),
    ],
    align=True,
)

FRONT = np.dtype(  # a walk of `search` has no turn, and no witness but whether to ask of its key
    [
        ("key", np.float64),  # the least level below the node
        ("turn", np.int64),
        ("node", np.int32),
        ("tenant", np.int32),  # whose trie it is in, or NONE; of a line: whose it is
        ("witness", np.int32),  # the place in `near` of a machine that held it
    ],
    align=True,
)

TABLES = {
    "header": HEADER,
    "machine": MACHINE,
    "job": JOB,
    "tenant": TENANT,
    "task": TASK,
    "node": NODE,
    "stake": STAKE,
    "out": OUT,
    "alarm": ALARM,
    "line": LINE,
    "front": FRONT,
}
"""Arrays of records."""

INTS = (
    "capacity",  # (machines, R)
    "free",  # (machines, R) may be negative
    "room",  # (machines, R) the largest demand that fits: `free`, or what its pieces can take
    "piece",  # (machines, P) free units of each device
    "grades",  # (machines, R) in how many of a resource's sets the machine is
    "before",  # (machines, R) the room before it grew
    "demand",  # (jobs, R)
    "limit",  # (tenants, R)
    "used",  # (tenants, R) held by all below, or set aside for them
    "owed",  # (tenants, R) set aside below
    "ending",  # (tenants, R) held below by tasks that must end before all of that can be used
    "need",  # (nodes, R) the least demand below
    "rank",  # (jobs, groups) advice
    "target",  # (jobs, groups) advice, in millionths
    "runs",  # (jobs, groups) tasks held there
    "spots",  # (tasks / 2, 2) of held tasks of jobs that spread: how many, and their pairs
)
WORDS = (
    "satisfies",  # (machines, W) terms that a machine satisfies
    "needs",  # (jobs, W)
    "prefers",  # (jobs, W)
    "terms",  # (nodes, W) terms that all below need
)
LISTS = (
    "dirty",  # (machines,) whose room grew
    "stints",  # (tenants,) who holds, or held, more than its part, in any order
    "asides",  # (tenants,) for which room is set aside below limits, in any order
    "unset",  # (machines,) whose room the sets do not tell yet
    "near",  # (machines,) the dirty ones where others than an owner may be placed, in order
    "near_room",  # (machines,) briefs of the room of those in `near`, with signs; or NO_ROOM
    "near_lacking",  # (machines,) which of the first 64 terms those in `near` do not satisfy
    "asked",  # (1 + R + 128 W,) the rows of the sets that are asked for
    "fits",  # (machines,) candidates of one job
    "scarcity",  # (machines,) how rare is what it has (scheduling.state.labels)
    "unit",  # (R,) units in a piece, 0: no device
    "column",  # (R,) where the resource's pieces begin in `piece`
    "have",  # (R,) machines present that have any of the resource
    "largest",  # (R,) the largest capacity of any machine so far
    "satisfied",  # (64 W,) machines present that satisfy the term
)
FLOATS = ("score",)
"""(machines,) of the candidates in `fits`"""

SETS = ("sets",)
"""(machines / 512, RESOURCES + GRADES R + 64 W, 8) bits of sets of machines"""

ROWS = {
    "machine": (
        *("capacity", "free", "room", "grades", "before", "piece", "satisfies"),
        *("dirty", "unset", "near", "near_room", "near_lacking", "fits", "scarcity", *FLOATS),
    ),
    "job": ("alarm", "demand", "needs", "prefers", "rank", "target", "runs"),
    "tenant": ("limit", "used", "owed", "ending", "asides", "stints"),
    "task": (),
    "out": (),
}
"""The arrays that have as many rows as a table."""
