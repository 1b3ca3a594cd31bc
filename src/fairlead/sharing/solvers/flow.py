"""One resource is a flow: the levels of all groups and who takes how much where, by minimum cuts.

Divide and conquer: give everybody the level at which all machines are used up; where a maximum flow
cannot, the minimum cut says who must stay below, on which machines, and the rest stays above.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from fairlead.sharing.problem.problem import Bools, Floats, Ints

# Units in which a whole flow is counted: SciPy counts in 32 bits, and both directions of an edge
# together must fit.
_WHOLE = 2**29
_FIRST_EDGES = 2  # of a group; more enter where these do not carry enough
_EXACT = 1e-12  # relative: what a group may lack and a class hold too much
_MOST_PASSES = 4
_SAME = 1e-12  # relative: a cut whose level is lower by less is at the same level


def flow_levels(usable: Bools, want: Floats, most: Floats, room: Floats) -> tuple[Floats, Floats]:
    """(G,) the level at which each group stops and (G, C) what it then takes of each class.

    A level takes `want` of a group; a group takes at most `most` (inf: no end) and stops then.
    """
    level = np.zeros(len(want))
    taken = np.zeros(usable.shape)
    parts = [(np.arange(len(want)), np.flatnonzero(usable.any(axis=0)))]
    while parts:
        groups, classes = parts.pop()
        height = _height(want[groups], most[groups], room[classes].sum())
        wanted = np.minimum(want[groups] * height, most[groups])
        if len(groups) == 1 or len(classes) == 1:
            level[groups] = np.minimum(height, most[groups] / want[groups])
            taken[np.ix_(groups, classes)] = np.outer(wanted, room[classes] / room[classes].sum())
            continue
        whole = len(groups) == usable.shape[0] and len(classes) == usable.shape[1]
        inside = usable if whole else usable[np.ix_(groups, classes)]
        network = _Network(inside, wanted, room[classes])
        cut = network.fill()
        if cut is not None:
            behind = inside[cut].any(axis=0)
            below = _height(want[groups[cut]], most[groups[cut]], room[classes[behind]].sum())
            if below < height * (1.0 - _SAME) and not (cut.all() and behind.all()):
                if not cut.all():
                    parts.append((groups[~cut], classes[~behind]))
                parts.append((groups[cut], classes[behind]))
                continue
        level[groups] = np.minimum(height, most[groups] / want[groups])
        taken[groups[network.group], classes[network.on]] = network.flow
    return level, taken


def _height(want: Floats, most: Floats, room: float) -> float:
    """The level at which these together take all the room; infinite if they never do."""
    ends = most / want
    order = np.argsort(ends)
    ended = np.concatenate([[0.0], np.cumsum(np.where(np.isinf(most), 0.0, most)[order])])[:-1]
    rising = np.cumsum(want[order][::-1])[::-1]  # of this one and those that end later
    height = (room - ended) / rising
    found = np.flatnonzero(height <= ends[order])
    return float(height[found[0]]) if len(found) else np.inf


class _Network:
    """Groups, classes, the edges that have entered, and the flow on each."""

    def __init__(self, usable: Bools, want: Floats, room: Floats) -> None:
        self.usable, self.want, self.room = usable, want, room
        self.group, self.on = _first_edges(usable, room)
        self.waiting = usable.copy()  # the edges that have not entered
        self.waiting[self.group, self.on] = False
        self.flow = np.zeros(len(self.group))
        self.unit = 1.0

    def fill(self) -> Bools | None:
        """None once everyone has what it wants; else the groups of a minimum cut."""
        settled = 0
        while True:
            short = self._route()
            if short is None:
                settled += 1  # and once more for what rounding left
                if settled == _MOST_PASSES or (settled > 1 and self._is_exact()):
                    return None
                continue
            # Who is short may reach what is left over through edges that have not entered.
            reach, behind = self._reached(short)
            left = behind & (self._spare() * self.unit >= 1.0)
            if not (
                self._enter(reach, left) or self._enter(short, behind) or self._enter(reach, behind)
            ):
                return reach

    def _is_exact(self) -> bool:
        lack = self.want - np.bincount(self.group, self.flow, len(self.want))
        return bool(
            (lack <= _EXACT * self.want).all() and (self._spare() >= -_EXACT * self.room).all()
        )

    def _spare(self) -> Floats:
        return self.room - np.bincount(self.on, self.flow, len(self.room))

    def _route(self) -> Bools | None:
        """Sends what groups lack, and what classes hold too much, to where there is room. The
        groups that are short then; None if nobody is."""
        jobs, classes = self.usable.shape
        lack = self.want - np.bincount(self.group, self.flow, jobs)
        spare = self._spare()
        wanted = np.concatenate([np.maximum(lack, 0.0), np.maximum(-spare, 0.0)])
        self.unit = unit = _WHOLE / (wanted.sum() or 1.0)
        wanted = np.floor(wanted * unit)
        some = np.flatnonzero(wanted)
        back = np.flatnonzero(self.flow * unit >= 1.0)
        source, sink = jobs + classes, jobs + classes + 1
        open_classes = np.flatnonzero(spare > 0)
        start = [np.full(len(some), source), self.group, jobs + self.on[back], jobs + open_classes]
        end = [some, jobs + self.on, self.group[back], np.full(len(open_classes), sink)]
        # Rounded down where it is wanted and up where there is room, so that what fits is found.
        capacity = [
            wanted[some],
            np.full(len(self.group), _WHOLE),
            np.minimum(self.flow[back] * unit, _WHOLE),
            np.minimum(np.ceil(spare[open_classes] * unit), _WHOLE),
        ]
        graph = csr_matrix(
            (
                np.concatenate(capacity).astype(np.int32),
                (np.concatenate(start).astype(np.int32), np.concatenate(end).astype(np.int32)),
            ),
            shape=(sink + 1, sink + 1),
        )
        found = maximum_flow(graph, source, sink)
        moved = found.flow
        edge_flow = np.asarray(moved[self.group, jobs + self.on]).ravel()
        self.flow = np.maximum(self.flow + edge_flow / unit, 0.0)
        if found.flow_value == wanted.sum():
            return None
        got = moved[source].toarray().ravel()[: jobs + classes]
        lacking = got < wanted
        short: Bools = lacking[:jobs].copy()
        short[self.group[lacking[jobs + self.on] & (self.flow * unit >= 1.0)]] = True
        return short

    def _reached(self, short: Bools) -> tuple[Bools, Bools]:
        """The groups and classes to which those that are short could pass it on."""
        full = self.flow * self.unit >= 1.0
        group, on = self.group[full], self.on[full]
        behind = np.asarray(self.usable[short].any(axis=0))
        while True:
            reach = short.copy()
            reach[group[behind[on]]] = True
            wider = np.asarray(self.usable[reach].any(axis=0))
            if (wider == behind).all():
                return reach, behind
            behind = wider

    def _enter(self, groups: Bools, classes: Bools) -> bool:
        """Lets in all edges between these that have not entered; whether there was one."""
        entering = self.waiting & groups[:, None]
        entering &= classes
        found = np.flatnonzero(entering)
        self.waiting.ravel()[found] = False
        group, on = np.divmod(found, self.usable.shape[1])
        self.group = np.concatenate([self.group, group])
        self.on = np.concatenate([self.on, on])
        self.flow = np.concatenate([self.flow, np.zeros(len(group))])
        return len(group) > 0


def _first_edges(usable: Bools, room: Floats) -> tuple[Ints, Ints]:
    """Some edges of each group: all if there are few, else spread evenly over its room."""
    group, on = np.divmod(np.flatnonzero(usable), usable.shape[1])
    jobs = usable.shape[0]
    if len(group) <= _FIRST_EDGES * jobs:
        return group, on
    reached = np.cumsum(room[on])
    last = np.searchsorted(group, np.arange(jobs), side="right") - 1
    ends = reached[last]
    begins = np.concatenate([[0.0], ends[:-1]])
    offset = np.modf(np.arange(jobs) * 0.6180339887498949)[0]
    at = (np.arange(_FIRST_EDGES)[None, :] + offset[:, None]) / _FIRST_EDGES
    place = np.searchsorted(reached, begins[:, None] + at * (ends - begins)[:, None])
    place = np.unique(np.minimum(place, last[:, None]))
    return group[place], on[place]
