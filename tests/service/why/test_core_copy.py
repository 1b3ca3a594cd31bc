"""A twin of a core decides what the core decides, and neither feels what happens to the other."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Decision
from fairlead.scheduling.dump import SCRATCH
from fairlead.scheduling.events import Event, GuaranteesChanged
from fairlead.scheduling.kernels.memory.state import FIELDS
from fairlead.scheduling.options import Options
from fairlead.scheduling.reading.core_copy import Spares, copy_core, freeze
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.draw import MEASURES, SECOND, draw


def lived(core: Core, instants: tuple[tuple[Event, ...], ...]) -> list[Decision]:
    made: list[Decision] = []
    for instant in instants:
        for event in instant:
            with suppress(InputError):
                core.apply(event)
        made += core.decide()
    return made


def test_a_twin_lives_on_as_the_core_does(cases: int) -> None:
    for seed in range(8 * cases):
        case = draw(seed, 30)
        units = [Unit(m.name, m.unit, m.piece) for m in MEASURES]
        options = Options(reserve_after=case.reserve_after, preempt_after=5 * SECOND)
        core = Core(units, case.policy, case.placement, options)
        half = len(case.instants) // 2
        lived(core, case.instants[:half])
        core.apply(GuaranteesChanged(core.now, FrozenMap(dict.fromkeys(core.ids.jobs, 1))))
        core.decide()
        other = copy_core(core)
        before = core.digest()
        assert other.digest() == before
        theirs = lived(other, case.instants[half:])
        assert core.digest() == before  # it did not feel it
        assert lived(core, case.instants[half:]) == theirs
        assert core.digest() == other.digest()
        other.check()


def test_a_copy_written_over_another_is_as_a_new_one(cases: int) -> None:
    """Whatever happened to the one that nobody needs any more, and however large it has become."""
    for seed in range(8 * cases):
        case = draw(seed, 30)
        units = [Unit(m.name, m.unit, m.piece) for m in MEASURES]
        core = Core(units, case.policy, case.placement, Options(reserve_after=case.reserve_after))
        half = len(case.instants) // 2
        lived(core, case.instants[: half // 2])
        spare = freeze(core)
        lived(spare.core, case.instants[half // 2 :])
        lived(core, case.instants[half // 2 : half])
        before = core.digest()
        other, new = freeze(core, into=spare).core, copy_core(core)
        assert other.digest() == new.digest() == before
        for name in (each for each in FIELDS if each not in SCRATCH):
            assert np.array_equal(getattr(other.state, name), getattr(new.state, name)), name
        assert lived(other, case.instants[half:]) == lived(new, case.instants[half:])
        assert other.digest() == new.digest()
        assert core.digest() == before
        other.check()


def test_only_what_one_reader_had_is_written_over() -> None:
    core, spares = Core([Unit("cpu")]), Spares(most=2)
    assert spares.pop() is None
    one, several = freeze(core), freeze(core, shared=True)
    for each in (several, None, one):
        spares.put(each)
    assert spares.pop() is one
    assert spares.pop() is None
