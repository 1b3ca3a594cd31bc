"""The transition tables: what is legal, where it leads, and that the docs say it all."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import TypeVar

import pytest

from fairlead.scheduling import decisions, events
from fairlead.scheduling.transitions import (
    CANCELLED,
    HELD,
    ILLEGAL,
    MACHINE,
    OVER,
    TASK,
    MachineChange,
    MachineState,
    TaskChange,
    TaskState,
    machine_after,
    task_after,
    task_table,
)

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "explanation" / "online-core.md"
S = TypeVar("S", bound=Enum)
C = TypeVar("C", bound=Enum)
Edge = tuple[Enum, str, Enum]


def task_diagram() -> str:
    """The table of a task as a Mermaid state diagram."""
    edges: list[Edge] = [*_edges(TASK)]
    edges += [(a, f"{word} (job cancelled)", b) for a, word, b in _edges(CANCELLED)]
    return _mermaid(TaskState.WAITING, edges, OVER)


def machine_diagram() -> str:
    """The table of a machine as a Mermaid state diagram."""
    edges: list[Edge] = [
        (a, word, b) for a, word, b in _edges(MACHINE) if a is not MachineState.ABSENT
    ]
    return _mermaid(MachineState.UP, edges, (MachineState.GONE,), "joined")


def _edges(table: Mapping[tuple[S, C], S]) -> list[tuple[S, str, S]]:
    """The changes between the same two states as one edge, in the order of the table."""
    words: dict[tuple[S, S], list[str]] = {}
    for (before, change), after in table.items():
        words.setdefault((before, after), []).append(change.name.lower())
    return [(before, ", ".join(names), after) for (before, after), names in words.items()]


def _mermaid(start: Enum, edges: list[Edge], ends: tuple[Enum, ...], word: str = "") -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {start.name}" + (f": {word}" if word else "")]
    lines += [f"    {before.name} --> {after.name}: {label}" for before, label, after in edges]
    lines += [f"    {end.name} --> [*]" for end in ends]
    return "\n".join(lines)


DIAGRAMS = {"task": task_diagram, "machine": machine_diagram}


@pytest.mark.parametrize("cancelled", [False, True])
def test_the_array_of_a_task_says_what_the_table_says(cancelled: bool) -> None:
    rows = task_table(cancelled)
    for state, change in itertools.product(TaskState, TaskChange):
        after = task_after(state, change, cancelled)
        assert rows[state][change] == (ILLEGAL if after is None else after)


def test_every_state_of_a_task_waits_is_held_or_is_over() -> None:
    assert sorted((TaskState.WAITING, *HELD, *OVER)) == list(TaskState)


def test_a_task_that_is_over_stays_so() -> None:
    for state, change in itertools.product(OVER, TaskChange):
        assert task_after(state, change) is None
        assert task_after(state, change, cancelled=True) is None


def test_a_cancelled_job_gets_no_task_back() -> None:
    for state, change in itertools.product(HELD, (TaskChange.STOPPED, TaskChange.LOST)):
        if state is TaskState.STOPPING:
            assert task_after(state, change, cancelled=True) is TaskState.DROPPED


def test_only_what_is_absent_joins_and_what_is_gone_stays_gone() -> None:
    for state in MachineState:
        joined = machine_after(state, MachineChange.JOINED)
        assert (joined is MachineState.UP) == (state is MachineState.ABSENT)
    for change in MachineChange:
        assert machine_after(MachineState.GONE, change) is None


def test_every_state_can_be_reached() -> None:
    assert {TaskState.WAITING, *TASK.values()} >= set(TaskState) - {TaskState.DROPPED}
    assert {MachineState.ABSENT, *MACHINE.values()} == set(MachineState)


@pytest.mark.parametrize("name", DIAGRAMS)
def test_the_docs_show_the_diagram_of_the_table(name: str, pytestconfig: pytest.Config) -> None:
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin: {name} diagram -->\n", f"<!-- end: {name} diagram -->"
    before, _, rest = text.partition(begin)
    shown, _, after = rest.partition(end)
    drawn = f"```mermaid\n{DIAGRAMS[name]()}\n```\n"
    if pytestconfig.getoption("--update-docs") and shown != drawn:
        PAGE.write_text(before + begin + drawn + end + after, encoding="utf-8")
        shown = drawn
    assert shown == drawn, "`pytest --update-docs` draws it anew"


@pytest.mark.parametrize(
    "kind", [*events.Event.__args__, events.Advice, *decisions.Decision.__args__]
)
def test_every_event_and_decision_is_documented_with_its_fields(kind: type) -> None:
    text = (DOCS / "reference" / "events.md").read_text(encoding="utf-8")
    said = [part for part in re.split(r"\n\n|\n(?=\|)", text) if f"`{kind.__name__}`" in part]
    assert said, kind.__name__
    names = [field.name for field in dataclasses.fields(kind) if field.name != "time"]
    assert [name for name in names if not any(f"`{name}`" in part for part in said)] == []
