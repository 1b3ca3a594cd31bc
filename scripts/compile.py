"""Compiles the core before anybody waits for it: what a service needs, while the other packages
arrive (scripts/install.py starts it), and what the tests need, before all of them (./check).

    python scripts/compile.py            all of it; prints `DONE TOTAL` after each function
    python scripts/compile.py events     a part, for the other one to find
    python scripts/compile.py tests      what many tests need besides: simulations with machines
                                         that fail, all rules, whole tasks

Needs numba, numpy, python-flint and PyYAML alone; for the tests all that is installed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# The checkout's own: Fairlead may not be installed yet.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fairlead.compiled import SIMULATION, first_time, note
from fairlead.scheduling.placement.registry import placement_names
from fairlead.scheduling.warming import warm, warm_events
from fairlead.service.api.kernels.warming import warm_door

ROOT = Path(__file__).resolve().parent.parent


def warm_simulation() -> None:
    """What simulations need, also where machines fail, and each placement rule."""
    from fairlead.simulation.engine.failures import Failures
    from fairlead.simulation.engine.options import Options
    from fairlead.simulation.engine.run import compile_all, simulate
    from fairlead.simulation.workloads.registry import generate

    compile_all()
    for name in placement_names():
        simulate(generate("table-ii", 0), placement=name)
    hour = 3600 * 10**6
    often = Options(failures=Failures(24 * hour, hour))
    assert simulate(generate("tsf-study(machines=20, jobs=60, tasks=600)", 3), options=often).lost


def warm_whole_tasks() -> None:
    """What is good to pack on a machine together: Figure 3 of the CDRF paper."""
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster, Machine
    from fairlead.sharing.allocate import allocate

    cluster = Cluster([Machine("m", {"cpu": 4, "memory": 6})])
    jobs = [Job("a", {"cpu": 1, "memory": 3}), Job("b", {"cpu": 2, "memory": 1})]
    allocate(cluster, jobs, tasks="whole")


def begin_compiling_tests() -> subprocess.Popen[bytes]:
    """Begins to compile to byte code the tests and all that they import, which each process of the
    pool would do again. What is wrong with one of them is said when they are run."""
    words = ("-m", "pytest", "--collect-only", "-qq")
    return subprocess.Popen([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL)


def main() -> None:
    """Compiles what is asked for."""
    tests = "tests" in sys.argv[1:]
    beside = None
    if tests and not list(ROOT.glob("tests/__pycache__/*-pytest-*.pyc")):
        beside = begin_compiling_tests()
    try:
        if "events" in sys.argv[1:]:
            warm_events()
        else:
            for part in (warm, warm_door):
                part(lambda done, total: print(done, total, flush=True))
        if tests and first_time(SIMULATION):
            warm_simulation()
            warm_whole_tasks()
            note(SIMULATION)
    finally:
        if beside is not None:
            beside.wait()


if __name__ == "__main__":
    main()
