"""How `fairlead journal` counts."""

from __future__ import annotations


def counted(count: int, one: str, many: str) -> str:
    """`1 entry`, `2,000 entries`."""
    return f"{count:,} {one if count == 1 else many}"
