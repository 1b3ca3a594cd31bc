"""`fairlead top`: shares, machines and who waits, live in the terminal."""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.remote import PATIENCE, add_service, say_json, service_of
from fairlead.cli.common.screen import screen_of
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.client.client import Client

EPILOG = """\
examples:
  fairlead top
  fairlead top --interval 5s
  fairlead top -n 1 | less     one snapshot, as text
  fairlead top --json          one snapshot for programs

On a terminal `q` or Ctrl-C ends it. In a pipe it prints one snapshot, or as many as -n says.
"""

SCHEMA = "fairlead.top/1"

TICK = 0.1
"""Seconds after which a key has its effect."""


WIDE = 140
"""Columns of a picture in a pipe."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--interval", default="1s", metavar="TIME", help="time between updates (default: 1s)"
    )
    parser.add_argument(
        "-n", "--number", type=int, metavar="N", help="exit after this many snapshots"
    )
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Shows the service until it is enough."""
    from fairlead.cli.common.durations import duration_of

    interval = float(duration_of("--interval", args.interval))
    if args.number is not None and args.number < 1:
        raise InputError(f"-n {args.number} shows nothing", "write 1 or more")
    if args.json and args.number not in (None, 1):
        raise InputError("--json prints one snapshot", f"leave -n {args.number} out")
    # A live picture says itself that nobody answers, and goes on.
    patience = 0.0 if can_show() and not args.json else PATIENCE
    with service_of(args, patience, timeout=10.0) as service:
        if args.json:
            say_picture(service)
        else:
            watch(service, interval, args.number)
    return 0


def say_picture(service: Client) -> None:
    """Prints one look at the service as JSON."""
    from fairlead.cli.text.top import look

    seen = look(service, each_job=True)
    tree: dict[str, Any] = {
        "schema": SCHEMA,
        "shares": seen.shares.model_dump(mode="json", by_alias=True),
        "machines": [machine.model_dump(mode="json") for machine in seen.machines],
        "jobs": [job.model_dump(mode="json") for job in seen.jobs],
        "more": seen.more,
        "trouble": seen.trouble or None,
        "reasons": {name: reason for name, reason in seen.reasons.items() if reason},
    }
    say_json(tree)


def watch(
    service: Client,
    interval: float,
    pictures: int | None = None,
    goes_on: Callable[[], bool] = lambda: True,
    foot: Sequence[str] = (),
) -> None:
    """Shows the service on stdout, until a key, Ctrl-C or `goes_on` ends it, with lines at its
    foot. A service that was there and is gone may come back; one that never was is an error."""
    from rich.console import Console
    from rich.live import Live

    from fairlead.cli.text.top import look, picture
    from fairlead.client.errors import BusyError, UnreachableError

    terminal = can_show()
    # In a pipe nobody's terminal is too narrow. To the library all that are dumb have 80 columns,
    # unless both are said.
    wide = screen_of(sys.stdout).width or WIDE
    console = (
        Console(highlight=False) if terminal else Console(highlight=False, width=wide, height=25)
    )
    blocks = "utf" in (console.encoding or "").lower()
    where = service.place.url
    seen = look(service)
    if not terminal:
        for index in range(pictures or 1):
            if index:
                time.sleep(interval)
                seen = look(service, seen)
                console.print()
            console.print(picture(seen, where, "", wide, None, blocks, keys=""))
        return
    trouble, shown = "", 1
    try:
        with _keys() as key, Live(console=console, screen=True, auto_refresh=False) as live:
            while goes_on():
                size = console.size
                height = size.height - len(foot)
                shape = picture(seen, where, trouble, size.width, height, blocks, foot=foot)
                live.update(shape, refresh=True)
                if pictures is not None and shown >= pictures:
                    return
                until = time.monotonic() + interval
                while time.monotonic() < until and goes_on():
                    if key(TICK) in ("q", "Q", "\x1b"):
                        return
                    if console.size != size:
                        break
                try:
                    seen, trouble = look(service, seen), ""
                except (UnreachableError, BusyError) as error:
                    trouble = f"{error}; trying again"
                shown += 1
    except KeyboardInterrupt:
        return  # this is how one leaves


def can_show() -> bool:
    """Whether stdout is a terminal on which a picture can be drawn over the one before it."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


@contextmanager
def _keys() -> Iterator[Callable[[float], str]]:
    """A function that waits so many seconds for a key and returns it; empty if none came."""
    if sys.platform == "win32" or not sys.stdin.isatty():

        def nothing(seconds: float) -> str:
            time.sleep(seconds)
            return ""

        yield nothing
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)

        def key(seconds: float) -> str:
            ready, _, _ = select.select([descriptor], [], [], seconds)
            return os.read(descriptor, 1).decode("ascii", "replace") if ready else ""

        yield key
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
