"""`fairlead serve`: the service, on the machines of an engine, until it is stopped."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain, say
from fairlead.engines.registry import ENGINES
from fairlead.garbage import keep_all, not_collecting
from fairlead.model.errors import InputError, OutputError

if TYPE_CHECKING:
    from pathlib import Path

    from fairlead.cli.serving.plan import Plan

EPILOG = """\
examples:
  fairlead serve                                  the whole of this machine
  fairlead serve --cluster cluster.yaml           this machine, divided into several
  fairlead serve --engine ray --address auto      a Ray cluster
  fairlead serve --engine slurm --mode observe    a Slurm cluster, read only
  fairlead serve --listen 0.0.0.0:7370 --tls-cert server.pem --tls-key server.key
  fairlead serve --detach                         in the background; `fairlead stop` ends it

Ctrl-C stops the service and no task: started again with the same state, it continues.
"""

START_PATIENCE = 300.0
"""Seconds that a service in the background has to start: the first start compiles the core."""

SILENT = 5.0
"""Seconds after which it says on a terminal that it waits."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--engine", choices=tuple(ENGINES), help="the engine that runs the tasks (default: local)"
    )
    parser.add_argument(
        "--mode",
        choices=tuple(dict.fromkeys(mode for each in ENGINES.values() for mode in each.modes)),
        help="what the service is to a cluster that another scheduler runs, as Slurm does:"
        " `observe` reads it and changes nothing, `order` puts its queue into order, `place` runs"
        " tasks as its jobs",
    )
    parser.add_argument(
        "--partition",
        metavar="NAME",
        help="of Slurm: where --mode place runs tasks; with --mode order, whose jobs alone are put"
        " into order",
    )
    parser.add_argument(
        "--cluster",
        metavar="FILE",
        help="machines (of the local engine) and tenants; without it, this machine is one",
    )
    parser.add_argument(
        "--address", metavar="ADDRESS", help="of the Ray cluster; without it, one is started here"
    )
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="where the journal and the outputs are kept (default: FAIRLEAD_STATE, or"
        " ~/.local/state/fairlead)",
    )
    parser.add_argument(
        "--journal",
        metavar="PLACE",
        help="keep the journal elsewhere than in the state folder: in PostgreSQL, as in"
        " postgresql://host/name, in a folder, as journal.db, or in a file",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="where to listen (default: 127.0.0.1:7370); port 0: any that is free",
    )
    parser.add_argument(
        "--advertise",
        metavar="URL",
        help="where others find this service, for those who follow it (default: where it listens)",
    )
    parser.add_argument(
        "--standby",
        action="store_true",
        default=None,
        help="where another service has the state folder, wait beside it and take over when it is"
        " gone (with a journal in PostgreSQL, services wait without being told)",
    )
    parser.add_argument("--config", metavar="FILE", help="a file with these options and settings")
    parser.add_argument("--tls-cert", metavar="FILE", help="the certificate to listen with TLS")
    parser.add_argument("--tls-key", metavar="FILE", help="and its key")
    parser.add_argument(
        "--behind-proxy",
        action="store_true",
        default=None,
        help="listen without TLS beyond this machine: a proxy in front has it",
    )
    parser.add_argument(
        "--no-auth",
        action="store_true",
        default=None,
        help="everybody on this machine may do everything; on loopback only",
    )
    parser.add_argument(
        "--log",
        choices=("off", "few", "all"),
        help="lines of JSON on the standard error: none, what an administrator wants to know, or"
        " everything (default: off on a terminal, else few)",
    )
    parser.add_argument(
        "--telemetry",
        action="store_true",
        default=None,
        help="send spans of requests, jobs and attempts as OTEL_EXPORTER_OTLP_ENDPOINT says, which"
        " alone is enough, too",
    )
    parser.add_argument(
        "--clock-is-right",
        action="store_true",
        help="begin though the clock is far from the journal's last entry",
    )
    parser.add_argument(
        "--begin-anew",
        action="store_true",
        help="begin a new journal in a state folder whose journal is gone",
    )
    parser.add_argument(
        "--state-is-moved",
        action="store_true",
        help="begin with a state folder that was copied or restored: no service goes on with the"
        " original",
    )
    parser.add_argument(
        "--detach", action="store_true", help="go into the background once it accepts work"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until it is told to stop."""
    from fairlead.cli.serving.plan import plan_of

    plan = plan_of(args)
    with plan.configured.placing():
        _ = plan.described  # what is wrong there is said before anything is imported or started
    if args.detach:
        return detach(plan, words_of(args))
    with ExitStack() as starting:
        starting.enter_context(not_collecting())
        from fairlead.cli.serving.run import serve_now

        def started() -> None:
            keep_all()
            starting.close()

        return serve_now(plan, started)


def words_of(args: argparse.Namespace) -> list[str]:
    """The same command line without --detach."""
    words = ["serve"]
    for name, value in vars(args).items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, str):
            words += [option, value]
        elif value and name not in ("detach", "debug"):
            words.append(option)
    return words


def detach(plan: Plan, words: list[str]) -> int:
    """Starts the command as a process of its own, and returns once it accepts work."""
    import subprocess
    import time

    from fairlead.children import holding
    from fairlead.cli.serving.log import ServiceLog
    from fairlead.cli.serving.process import PROCESS, STANDBY, make_state_folder, running
    from fairlead.client.places import ADDRESS, STANDBY_ADDRESS

    beside = plan.standby and not plan.shared and running(plan.state) is not None
    already = running(plan.state, STANDBY if beside else PROCESS)
    if already is not None:
        raise InputError(
            f"a service {'waits beside the one' if beside else 'runs'} with its state in"
            f" {plan.state} (process {already})",
            "one can wait" if beside else "`fairlead stop` ends it",
        )
    log = plan.state / ("standby.log" if beside else "service.log")
    address = plan.state / (STANDBY_ADDRESS if beside else ADDRESS)
    process = None
    try:
        try:
            make_state_folder(plan.state)
            # That of a service that was killed stays: by it clients know that it was not stopped.
            before = _version(address)
            with log.open("ab") as out, holding():
                start = out.tell()
                process = subprocess.Popen(
                    # -P: what lies in the folder where one is is none of its modules.
                    [sys.executable, "-P", "-m", "fairlead", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
        except OSError as error:
            why = error.strerror or error
            raise OutputError(f"the service cannot be started in {plan.state}: {why}") from error
        begun, told = time.monotonic(), not sys.stderr.isatty()
        until = begun + START_PATIENCE
        lines = ServiceLog(log, start)
        while _version(address) in (None, before):
            lines.show_news()
            if not told and time.monotonic() > begun + SILENT:
                told = True
                complain(f"not serving yet; waiting up to {START_PATIENCE:g} s (its log: {log})")
            code = process.poll()
            if code is not None or time.monotonic() > until:
                process.terminate()
                lines.show_others()
                return code or 70
            time.sleep(0.05)
    except KeyboardInterrupt:  # nobody was told where it serves: it does not go on unseen
        if process is not None:
            process.terminate()
            process.wait()
        raise
    what = f"{'waiting' if beside else 'serving'} on {address.read_text(encoding='ascii').strip()}"
    if plan.shared:  # it may follow: it says so a moment later
        while (greeting := lines.greeting()) is None and time.monotonic() < until:
            time.sleep(0.05)
        if greeting is not None and greeting.startswith("following "):
            what = greeting
    lines.show_news()
    say(
        [
            f"{what}, in the background (process {process.pid})",
            f"state in {plan.state}, its log in {log}",
            "`fairlead stop` stops it; tasks go on running",
        ]
    )
    return 0


def _version(file: Path) -> tuple[int, int] | None:
    """Another one once the file was written anew; None if it is not there."""
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
