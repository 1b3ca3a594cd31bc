"""Remote functions that run on one node and nowhere else, tried once."""

from __future__ import annotations

from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fairlead.engines.ray.launcher.verdict import Tree

MOST = 1000
"""Remote functions that are kept: making one takes longer than calling it."""


class Pins:
    """Makes them by affinity to a node: such a task fails at once where the node is gone."""

    def __init__(self) -> None:
        self._functions: dict[str, Any] = {}
        self._made: dict[tuple[Any, ...], Any] = {}

    def on(self, node: str, function: Any, options: Tree | None = None, returns: int = 1) -> Any:
        """The remote function on that node. Ray hands a worker that it has leased the next task of
        the same function and options, and sends a function to the nodes once: so there is one
        remote function for all of its tasks, and one set of options for those that are alike."""
        key = (function.__name__, node, returns, _plain(options or {}))
        if key not in self._made:
            if len(self._made) >= MOST:
                self._made.clear()
            affinity = NodeAffinitySchedulingStrategy(node, soft=False)
            chosen: Tree = {"num_cpus": 0, **(options or {}), "max_retries": 0}
            chosen |= {"num_returns": returns, "scheduling_strategy": affinity}
            remote = self._functions.get(function.__name__)
            if remote is None:
                remote = self._functions[function.__name__] = ray.remote(function)
            self._made[key] = remote.options(**chosen)
        return self._made[key]


def _plain(options: Tree) -> tuple[Any, ...]:
    """The options as a key."""
    return tuple((k, _plain(v) if isinstance(v, dict) else v) for k, v in options.items())
