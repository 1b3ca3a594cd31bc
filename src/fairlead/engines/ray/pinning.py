"""Remote functions that run on one node and nowhere else, tried once."""

from __future__ import annotations

import json
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fairlead.engines.ray.verdict import Tree

MOST = 1000
"""Remote functions that are kept: making one takes longer than calling it."""


class Pins:
    """`how`: by "affinity" to a node, or by "labels" that only it has. Both fail at once where the
    node is gone."""

    def __init__(self, how: str) -> None:
        self._how = how
        self._made: dict[str, Any] = {}

    def on(self, node: str, function: Any, options: Tree | None = None, returns: int = 1) -> Any:
        """The remote function on that node."""
        key = json.dumps([function.__name__, node, options], sort_keys=True)
        if key not in self._made:
            if len(self._made) >= MOST:
                self._made.clear()
            chosen: Tree = {"num_cpus": 0, **(options or {}), "max_retries": 0}
            if returns != 1:
                chosen["num_returns"] = returns
            if self._how == "labels":
                chosen["label_selector"] = {"ray.io/node-id": node}
            else:
                chosen["scheduling_strategy"] = NodeAffinitySchedulingStrategy(node, soft=False)
            self._made[key] = ray.remote(function).options(**chosen)
        return self._made[key]
