"""The record of arrays and the rules: what Numba is trusted with, tried."""

from __future__ import annotations

from pathlib import Path
from weakref import ref

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.scheduling.kernels.change import machine_events as happen
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import FLOATS, INTS, LISTS, SETS, TABLES, UPS, WORDS
from fairlead.scheduling.kernels.room.rules import score_of
from fairlead.scheduling.placement.registry import find
from fairlead.scheduling.state import search_invariants


def test_every_table_grows_and_keeps_what_is_in_it() -> None:
    state = State([0, 4])
    for full in Full:
        if full is Full.NOT:
            continue
        name = full.name.lower().rstrip("s")
        before = getattr(state, name).copy()
        state.grow(full)
        table = getattr(state, name)
        assert len(table) == 2 * len(before)
        assert (table[: len(before)] == before).all()


def test_what_kernels_were_handed_is_freed() -> None:
    state = State([0])
    happen.join(state.handle)
    before = ref(state.needs)
    state.widen(2)
    assert before() is None


def test_every_array_of_the_state_has_a_name_and_a_kind() -> None:
    state = State([0])
    for name in (*TABLES, *INTS, *WORDS, *LISTS, *FLOATS, *SETS):
        assert isinstance(getattr(state, name), np.ndarray)


def test_machines_are_found_again_after_their_table_grew() -> None:
    state = State([0])
    state.capacity[0] = 7
    happen.join(state.handle)
    state.grow(Full.MACHINES, 600)
    assert state.sets[:, UPS].tolist() == [[1, *[0] * 7], [0] * 8]
    state.capacity[1] = 9
    happen.join(state.handle)
    assert state.sets[:, UPS].tolist() == [[3, *[0] * 7], [0] * 8]
    assert list(search_invariants.sets(state)) == []


def test_the_sets_of_a_resource_hold_from_the_smallest_to_the_largest_room() -> None:
    state = State([0])
    amounts = [a for power in range(63) for a in (2**power - 1, 2**power, 2**power + 1, 5 << power)]
    amounts = sorted({a for a in amounts if a < 2**63})
    state.grow(Full.MACHINES, len(amounts))
    for m, amount in enumerate(amounts):
        state.capacity[m] = amount
        happen.join(state.handle)
    kept = state.sets.copy()
    assert list(search_invariants.sets(state)) == []
    state.widen(1)  # made anew
    assert (state.sets == kept).all()


def test_a_rule_of_ones_own_is_found_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from fairlead.scheduling.placement.registry import placement\n"
        "@placement('last')\n"
        "def last(s, j, m):\n"
        "    return -1.0 * m\n",
        encoding="utf-8",
    )
    rule = find(f"{file}:last").rule
    assert score_of(State([0]).handle, rule, 0, 3) == -3.0
    with pytest.raises(InputError, match="registers no placement rule `first`"):
        find(f"{file}:first")


def test_a_rule_that_cannot_be_compiled_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from fairlead.scheduling.placement.registry import placement\n"
        "@placement('wrong')\n"
        "def wrong(s, j, m):\n"
        "    return open('x')\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="cannot be compiled"):
        find(f"{file}:wrong")


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(InputError, match="no placement rule `worst`"):
        find("worst")
