"""Nodes in trouble are tried until they run something again."""

from __future__ import annotations

from typing import Any

import ray

from fairlead.engines.ray.launcher.node_names import NodeNames
from fairlead.engines.ray.launcher.pinning import Pins
from fairlead.engines.ray.node.command import answers


class Probes:
    """At most one small task on each node at a time."""

    def __init__(self, pins: Pins, node_names: NodeNames) -> None:
        self._pins, self._node_names = pins, node_names
        self._running: dict[str, Any] = {}

    def forget(self, node: str) -> None:
        self._running.pop(node, None)

    def look(self) -> None:
        """Takes those out of trouble that ran something, says of others what is wrong now."""
        for node in sorted(self._node_names.troubles):
            probe = self._running.get(node)
            if probe is None:
                self._running[node] = self._pins.on(node, answers).remote()
            elif ray.wait([probe], timeout=0)[0]:
                del self._running[node]
                try:
                    ray.get(probe)
                except ray.exceptions.RayError as error:
                    self._node_names.troubles[node] = str(error)[:300]
                else:
                    del self._node_names.troubles[node]
