"""The zygote's own process, `python -m tests.zygote.zygote SOCKET DESCRIPTOR`, which ends when its
stdin is closed."""

from __future__ import annotations

import atexit
import gc
import os
import runpy
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path

from fairlead.scheduling import warming as core
from fairlead.scheduling.placement.registry import DEFAULT
from fairlead.service.api.app import routes
from fairlead.service.api.kernels import warming as door
from fairlead.service.fairness import process as adviser
from fairlead.simulation.engine.run import compile_all
from tests.zygote.forked import fork_programs_of_ours
from tests.zygote.forking import Forker
from tests.zygote.request import Request
from tests.zygote.reserve import stand_by

MODULES = (
    "concurrent.futures.thread",
    "encodings.ascii",
    "encodings.idna",
    "encodings.unicode_escape",
    "encodings.utf_8_sig",
    "fairlead.audit.properties.registry",
    "fairlead.cli.main",
    *(
        f"fairlead.cli.commands.{name}"
        for name in (
            "allocate",
            "audit",
            "compare",
            "explain",
            "jobs",
            "serve",
            "simulate",
            "submit",
            "whatif",
        )
    ),
    "fairlead.cli.serving.cluster_file",
    "fairlead.cli.serving.run",
    "fairlead.cli.text.allocation",
    "fairlead.client.client",
    "fairlead.engines.local.engine",
    "fairlead.engines.supervised.frames",
    "fairlead.engines.supervised.messages",
    "fairlead.service.api.neighbours.door",
    "fairlead.service.fairness.history_file",
    "fairlead.service.fairness.process",
    "fairlead.service.process.logs",
    "fairlead.service.process.pulse",
    "fairlead.service.process.server",
    "fairlead.service.recovery.verify_process",
    "fairlead.simulation.studies.workers",
    "httpcore2",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.resource_tracker",
    "multiprocessing.spawn",
    "rich.console",
    "uvicorn.lifespan.off",
)
"""What is imported before anything is asked for. Programs import whatever else they need. What is
itself run by `-m` is not among it, only what that imports: it is `__main__` and nothing else."""


def become(request: Request) -> None:
    """Makes this process what was asked for, as far as it is not what it runs."""
    request.enter()
    time.tzset()
    sys.path[0] = request.folder
    sys.stdin, sys.stdout, sys.stderr = _stream(0), _stream(1), _stream(2)


def _stream(number: int) -> TextIOWrapper:
    """A stream as Python opens it when it starts, in its UTF-8 mode."""
    raw = open(number, "wb" if number else "rb", closefd=False)  # noqa: SIM115 - for all its life
    errors = "backslashreplace" if number == 2 else "surrogateescape"
    lines = number == 2 or os.isatty(number)
    return TextIOWrapper(raw, encoding="utf-8", errors=errors, line_buffering=lines)


def prepare() -> None:
    """Has there what programs begin with."""
    for name in MODULES:
        import_module(name)
    warm_once()
    compile_all()
    routes()
    load_once()
    leave_at_the_end()
    gc.collect()
    gc.freeze()  # memory that no collection writes to is shared by all forks


def warm_once() -> None:
    """Has the kernels there that a service needs. Its programs find them and look for none of them
    again, which is a fifth of what a service takes to begin, but for those of another rule."""
    again = core.warm
    for part in (core.warm, door.warm_door):
        part(lambda *_: None)

    def warm(told: Callable[[int, int], None], placement: str = DEFAULT) -> None:
        if placement != DEFAULT:
            again(told, placement)

    setattr(core, "warm", warm)  # noqa: B010 - mypy: a function
    setattr(door, "warm_door", lambda _: None)  # noqa: B010 - as above


def load_once() -> None:
    """Has the solver there that an adviser needs, and is loaded again by none."""
    adviser.load()
    setattr(adviser, "load", lambda: None)  # noqa: B010 - mypy: a function


def leave_at_the_end() -> None:
    """What is there now is nobody's to take apart: a program's end would do so with each compiled
    function, by a third of what it takes to fork one."""
    for each in vars(weakref.finalize)["_registry"]:
        each.atexit = False


def main(path: Path, listening: int) -> None:
    """Runs the zygote, and in each program's process the program."""
    prepare()
    request = Forker(path, listening).run()
    if request is None:
        return
    if request.session:
        os.setsid()
    request = stand_by(request)
    become(request)
    if "--detach" in request.words:
        fork_programs_of_ours(str(path))
    code = run(request.words)
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()  # noqa: SLF001 - what an interpreter does at its end
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or nobody reads
            stream.flush()
    # An interpreter's own end takes every module apart: memory that is shared until then.
    os._exit(code & 0xFF)


def run(words: Sequence[str]) -> int:
    """Runs the program in this process, and returns its exit code as Python finds it."""
    sys.argv[1:] = words[1:]
    try:
        if words[0] == "-c":  # what multiprocessing starts
            sys.argv[:] = ["-c", *words[2:]]
            exec(words[1], {"__name__": "__main__"})  # noqa: S102 - as an interpreter does
        elif words[0].endswith(".py"):
            runpy.run_path(words[0], run_name="__main__")
        else:
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)  # noqa: T201 - as an interpreter does
            return 1
        return end.code or 0
    except BaseException:  # noqa: BLE001 - shown, as an interpreter does
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
