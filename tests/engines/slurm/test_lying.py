"""Jobs that Slurm lets lie on their nodes otherwise than they were placed."""

from __future__ import annotations

from fractions import Fraction

from fairlead.engines.slurm.placing.given import Given
from fairlead.engines.slurm.placing.nodes import nodes_of
from fairlead.engines.slurm.reading.values import Picture, SlurmJob
from fairlead.model.values import FrozenMap
from tests.engines.slurm.test_viewing import NODES, UNEVEN, running

EVEN = (("n1", 2), ("n2", 2))


def taken(row: SlurmJob, given: Given) -> list[Fraction]:
    """What counts as taken on each node beside what the service counts itself."""
    given.look(row)
    picture = Picture("22.05.8", "here", NODES, (row,), (), frozenset())
    nodes = nodes_of(picture, "main", {7: given.amounts() if given.beyond else {}})
    return [8 - node.machine.capacity["cpu"] for node in nodes]


def test_what_it_has_more_on_a_node_than_was_placed_there_counts_as_taken() -> None:
    row = running(7, "n[1-2]", **UNEVEN)
    given = Given("7", machines=["n1", "n2"], demand=FrozenMap({"cpu": Fraction(2)}))
    assert taken(row, given) == [1, 0]
    by_tasks = Given("7", machines=["n1", "n2", "n2", "n2"], demand=FrozenMap({"cpu": Fraction(1)}))
    assert taken(row, by_tasks) == [2, 0]
    as_placed = Given("7", machines=["n1", "n1", "n1", "n2"], demand=by_tasks.demand)
    assert taken(row, as_placed) == [0, 0]
    even = running(7, "n[1-2]", **{**UNEVEN, "cores": EVEN})
    assert taken(even, given) == [0, 0]
    # What lies on a node where nothing of it was placed is taken as it is.
    alone = Given("7", machines=["n1"], demand=FrozenMap({"cpu": Fraction(4)}))
    assert taken(even, alone) == [0, 2]
    shrunk = running(7, "n1", nodes=2, tasks=4, cpus=4)
    assert taken(shrunk, given) == [0, 0]
