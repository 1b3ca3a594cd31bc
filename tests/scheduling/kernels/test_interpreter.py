"""Which kernels give the interpreter away: those that take long."""

from __future__ import annotations

import fairlead.scheduling.core  # noqa: F401  with it all kernels are there
from fairlead.compiling import _decorated


def test_other_threads_go_on_while_the_core_decides_and_wait_for_all_else() -> None:
    ours = [each for each in _decorated if each.__module__.startswith("fairlead.scheduling.")]
    away = {each.__name__ for each in ours if each.targetoptions.get("nogil")}
    assert away == {"decide", "decide_guided"}
