"""`fairlead start`: an example service on this machine with tenants at work, shown live."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead import children
from fairlead.cli.common.inputs import complain, say
from fairlead.cli.serving.compiling import compile_first
from fairlead.model.errors import InputError
from fairlead.model.words import number

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from fairlead.client.client import Client
    from fairlead.client.places import Place

EPILOG = """\
examples:
  fairlead start                on a terminal: a live view; q or Ctrl-C ends it
  fairlead start --for 10s      no longer than this
  fairlead start | cat          in a pipe: a line every other second, for 20 seconds

The service, its state and all tasks are gone when it ends. `fairlead demo` shows fair shares
without a service. In a checkout `./start` is the same, with the same options.
"""

IN_A_PIPE = "20s"
"""Time after which it ends where nobody can press a key."""

LINE_EVERY = 2.0
"""Seconds between lines in a pipe."""

END_PATIENCE = 20.0
"""Seconds that cancelled tasks have to end."""

CLUSTER = Path(__file__).with_name("start.yaml")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="lasting",
        metavar="TIME",
        help=f"end after this time (default: on a terminal never, in a pipe after {IN_A_PIPE})",
    )


def run(args: argparse.Namespace) -> int:
    """Starts the service and the tenants, shows them, and cleans up."""
    from fairlead.cli.commands.top import can_show
    from fairlead.cli.common.durations import duration_of

    live = can_show()
    said = args.lasting or (None if live else IN_A_PIPE)
    lasting = None if said is None else float(duration_of("--for", said))
    with _folder() as folder:
        try:
            compile_first()  # here, where it can be shown
            with _service(folder) as process:
                return _show(folder, process, live, lasting)
        except KeyboardInterrupt:
            say(["stopped"])
            return 0


def _show(folder: Path, process: SpawnProcess, live: bool, lasting: float | None) -> int:
    """The example, from the first line to the last."""
    from fairlead.cli.commands.top import watch
    from fairlead.cli.serving.example_work import Work
    from fairlead.client.client import Client
    from fairlead.client.errors import UnreachableError
    from fairlead.client.places import find_place

    place = find_place(environ={"FAIRLEAD_STATE": str(folder), "HOME": str(folder)})
    say(introduction(place.url, folder))
    until = None if lasting is None else time.monotonic() + lasting
    work = Work(place)

    def goes_on() -> bool:
        late = until is not None and time.monotonic() >= until
        return not (late or process.exitcode is not None or work.failed)

    work.start()
    try:
        # A live picture says itself that nobody answers, and goes on.
        with Client(place=place, patience=0.0 if live else 5.0, on_wait=complain) as client:
            if live:
                watch(client, 1.0, goes_on=goes_on, foot=invitation(folder))
            else:
                _lines(client, goes_on)
    except KeyboardInterrupt:
        pass  # this is how it is ended
    finally:
        work.stop()
    if process.exitcode is not None:
        return _ended_by_itself(folder)
    if work.failed:
        complain(f"error: the example's tenants cannot submit: {work.failed}")
        return 70
    complain("stopping: tasks are cancelled, then the service ends")
    try:
        finished = _cancel_all(place)
    except UnreachableError:
        return _ended_by_itself(folder)
    say([f"{finished} tasks had run to their end; nothing of the example is left"])
    return 0


def _ended_by_itself(folder: Path) -> int:
    complain(f"error: the service ended by itself; its last words:\n{_last_words(folder)}")
    return 70


def introduction(url: str, folder: Path) -> list[str]:
    """Lines on the service that runs, and the commands to try."""
    return [
        f"The service listens at {url}: five machines, three tenants with work for them.",
        *invitation(folder),
        "",
    ]


def invitation(folder: Path) -> list[str]:
    return [
        "",
        "In another terminal:",
        *_activation(),
        f"  export FAIRLEAD_STATE={folder}",
        "  fairlead dashboard   in the browser, where $FAIRLEAD_STATE/admin-token signs in",
        "  fairlead jobs; fairlead shares; fairlead machines; fairlead why JOB",
        "  fairlead submit --wait --tenant robotics -- echo 'it is my turn'",
        "  fairlead drain h1; fairlead undrain h1",
    ]


def _activation() -> list[str]:
    """The line that makes `fairlead` a command, where it is none yet: `./start` runs that of the
    checkout's own environment."""
    activate = Path(sys.prefix, "bin", "activate")
    if shutil.which("fairlead") or not activate.is_file():
        return []
    return [f"  source {shlex.quote(str(activate))}   # then fairlead is a command"]


def _lines(client: Client, goes_on: Callable[[], bool]) -> None:
    """A line every other second."""
    begun = time.monotonic()
    while goes_on():
        shares = client.shares()
        parts = [
            f"{each.name} {each.running} running, {each.waiting} waiting,"
            f" share {number(each.share, 3)} (fair {number(each.fair, 3)})"
            for each in shares.tenants
        ]
        say([f"{time.monotonic() - begun:3.0f} s  {'; '.join(parts)}"])
        pause = time.monotonic() + LINE_EVERY
        while time.monotonic() < pause and goes_on():
            time.sleep(0.05)


@contextmanager
def _folder() -> Iterator[Path]:
    """A state folder that is gone at the end, with what lies beside it."""
    around = Path(tempfile.mkdtemp(prefix="fairlead-start-"))
    folder = around / "state"
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(around, ignore_errors=True)


@contextmanager
def _service(folder: Path) -> Iterator[SpawnProcess]:
    """The service as a process of its own, which Ctrl-C does not reach before we say so."""
    from fairlead.client.errors import UnreachableError
    from fairlead.client.places import ADDRESS

    process = children.spawning().Process(target=_serve, args=(folder,), name="fairlead-serve")
    process.start()
    try:
        while not (folder / ADDRESS).exists():
            if process.exitcode is not None:
                raise UnreachableError(f"the service does not start:\n{_last_words(folder)}")
            time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.join(30)
        process.kill()
        process.join()


def _serve(folder: Path) -> None:
    """The service, in its process. Where the example itself was killed, it cleans up instead."""
    from fairlead.cli.main import main

    os.setsid()
    log = os.open(folder / "service.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for to, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, to)
    os.environ["FAIRLEAD_STATE"] = str(folder)
    children.end_with_parent(lambda: _end_alone(folder))
    words = ["serve", "--state", str(folder), "--cluster", str(CLUSTER), "--listen", "127.0.0.1:0"]
    code = main(words)
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        shutil.rmtree(folder.parent, ignore_errors=True)
    sys.exit(code)


def _end_alone(folder: Path) -> None:
    """In the service of an example that was killed: its tasks are cancelled, then it ends."""
    from fairlead.client.errors import ServiceError
    from fairlead.client.places import find_place

    with suppress(ServiceError, InputError):  # it may not have served yet
        _cancel_all(find_place(environ={"FAIRLEAD_STATE": str(folder), "HOME": str(folder)}))
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(END_PATIENCE)


def _cancel_all(place: Place) -> int:
    """Cancels every job and waits until nothing runs; how many tasks had finished."""
    from fairlead.client.client import Client

    with Client(place=place, patience=5.0, on_wait=complain) as client:
        if names := [job.name for job in client.jobs()]:
            client.cancel_jobs(*names)
        until = time.monotonic() + END_PATIENCE
        while time.monotonic() < until and next(client.jobs(), None) is not None:
            time.sleep(0.1)
        return sum(job.tasks.finished for job in client.jobs(all=True))


def _last_words(folder: Path) -> str:
    text = (folder / "service.log").read_text(encoding="utf-8", errors="replace")
    return "\n".join(text.splitlines()[-20:])
