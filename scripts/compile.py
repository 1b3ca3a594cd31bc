"""Compiles the core before anybody waits for it: what a service needs, while the other packages
arrive (scripts/install.py starts it), and what the tests need, before all of them (./check).

    python scripts/compile.py            all of it; prints `DONE TOTAL` after each function
    python scripts/compile.py events     a part, for the other one to find
    python scripts/compile.py tests      what many tests need besides: simulations, all rules

Needs numba, numpy, python-flint and PyYAML alone; for the tests all that is installed.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The checkout's own: Fairlead may not be installed yet.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fairlead.compiled import SIMULATION, first_time, note
from fairlead.scheduling.placement.registry import placement_names
from fairlead.scheduling.warming import warm, warm_events


def warm_simulation() -> None:
    """What simulations need, and each placement rule."""
    from fairlead.simulation.engine.run import compile_all, simulate
    from fairlead.simulation.workloads.registry import generate

    compile_all()
    for name in placement_names():
        simulate(generate("table-ii", 0), placement=name)


if "events" in sys.argv[1:]:
    warm_events()
else:
    warm(lambda done, total: print(done, total, flush=True))
if "tests" in sys.argv[1:] and first_time(SIMULATION):
    warm_simulation()
    note(SIMULATION)
