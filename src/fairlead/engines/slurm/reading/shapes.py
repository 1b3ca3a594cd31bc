"""The shapes of JSON of newer versions of Slurm as those of 22.05, which the parser reads."""

from __future__ import annotations

from typing import Any


def plain(value: dict[str, Any]) -> Any:
    """A value of any version as 22.05 has it: a number is a number or null, a job's end what `wait`
    returns, and its nodes a list (`whole`: no other job may use them). Called from the inner values
    to the outer ones."""
    if value.keys() == {"set", "infinite", "number"}:
        return value["number"] if value["set"] and not value["infinite"] else None
    if "return_code" in value:
        signal = (value.get("signal") or {}).get("id")
        return int(value["return_code"] or 0) << 8 | int(signal or 0)
    if "allocation" in value:  # of a job's resources, its `nodes`
        allocated = [_node(each) for each in value["allocation"] or ()]
        return {"allocated_nodes": allocated, "whole": value.get("whole")}
    nodes = value.get("nodes")
    return nodes if "select_type" in value and isinstance(nodes, dict) else value


def _node(node: dict[str, Any]) -> dict[str, Any]:
    """A node that a job has, with its sockets and the cores that are its own."""
    sockets = {
        str(socket["index"]): {
            "cores": {
                str(core["index"]): "allocated"
                for core in socket["cores"]
                if "ALLOCATED" in core["status"]
            }
        }
        for socket in node.get("sockets") or ()
    }
    return {"nodename": node["name"], "sockets": sockets}
