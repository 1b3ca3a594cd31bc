"""The nodes of a Ray cluster as they come and go, each under one name while it is there."""

from __future__ import annotations

from typing import Any

Seen = dict[str, Any]

HEAD = "node:__internal_head__"


class NodeNames:
    """The nodes that are alive, by their ids. A node is a machine of this name until it is gone;
    its name is then free for the one that comes in its place."""

    def __init__(self) -> None:
        self.alive: dict[str, Seen] = {}
        self.troubles: dict[str, str] = {}
        self._names: dict[str, str] = {}

    def look(self, found: list[Seen]) -> list[str]:
        """Takes in what `ray.nodes()` says; the ids of those that are gone since the last look."""
        now = {node["NodeID"]: node for node in found if node["Alive"] and node["Resources"]}
        gone = sorted(self.alive.keys() - now.keys())
        for node in gone:
            self._names.pop(node, None)
            self.troubles.pop(node, None)
        taken = set(self._names.values())
        for node in sorted(now.keys() - self.alive.keys()):
            name = self._name(now[node], taken)
            self._names[node] = name
            taken.add(name)
        self.alive = now
        return gone

    def _name(self, node: Seen, taken: set[str]) -> str:
        """Its administrator's name for it, else its host's name; with a part of its id where
        another machine has that name."""
        called = node.get("NodeName") or ""
        if not called or called == node["NodeManagerAddress"]:
            called = node["NodeManagerHostname"] or called
        name = "".join(c for c in called if c.isprintable() and c not in " ,[]") or "node"
        return name if name not in taken else f"{name}-{node['NodeID'][:8]}"

    def id_of(self, name: str) -> str | None:
        return next((node for node, called in self._names.items() if called == name), None)

    def rows(self) -> list[Seen]:
        """The machines by name: resources and labels as Ray has them, and what is wrong."""
        rows = [
            {
                "name": self._names[node],
                "id": node,
                "resources": dict(seen["Resources"]),
                "labels": dict(seen.get("Labels") or {}),
                "problem": self.troubles.get(node, ""),
            }
            for node, seen in self.alive.items()
        ]
        return sorted(rows, key=lambda row: str(row["name"]))


def head_of(found: list[Seen]) -> str | None:
    return next((n["NodeID"] for n in found if n["Alive"] and HEAD in n["Resources"]), None)
