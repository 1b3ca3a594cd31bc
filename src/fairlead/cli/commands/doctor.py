"""`fairlead doctor`: what holds on this machine for a service, and what to do where it does not."""

from __future__ import annotations

import argparse

from fairlead.cli.common.inputs import say_result
from fairlead.engines.registry import ENGINES
from fairlead.model.words import escaped

EPILOG = """\
examples:
  fairlead doctor                              of the service with this user's own state folder
  fairlead doctor --config /etc/fairlead/config.yaml --state /var/lib/fairlead

It asks for what `fairlead serve` with the same options would find, whether one runs or not. The
exit code is 1 where something fails; a warning is no failure.
"""

SCHEMA = "fairlead.doctor/1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="the service's state folder (default: FAIRLEAD_STATE, or this user's own)",
    )
    parser.add_argument("--config", metavar="FILE", help="the file that the service is given")
    parser.add_argument("--journal", metavar="PLACE", help="its journal, where it is elsewhere")
    parser.add_argument("--engine", choices=tuple(ENGINES), help="its engine (default: local)")
    modes = dict.fromkeys(mode for each in ENGINES.values() for mode in each.modes)
    parser.add_argument(
        "--mode", choices=tuple(modes), help="what it is to a cluster that another scheduler runs"
    )
    parser.add_argument("--partition", metavar="NAME", help="of Slurm: the one that it is given")
    parser.add_argument("--cluster", metavar="FILE", help="its machines and tenants")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(args: argparse.Namespace) -> int:
    """Tells each finding; 1 where something fails."""
    from fairlead.cli.doctor.finding import State, Subject
    from fairlead.cli.doctor.registry import examine
    from fairlead.cli.main import Exit, parser_of
    from fairlead.cli.serving.plan import plan_of

    serve, _ = parser_of("serve")
    said = serve.parse_args([], args)  # what no check asks for is as nobody said it
    found = list(examine(Subject(plan_of(said))))
    bad = any(finding.state is State.FAILS for _, finding in found)
    say_result(
        args.json,
        lambda: {
            "schema": SCHEMA,
            "ok": not bad,
            "checks": [
                {
                    "name": name,
                    "state": finding.state.value,
                    "found": finding.text,
                    "advice": finding.advice,
                }
                for name, finding in found
            ],
        },
        lambda _: [
            f"{finding.state.value:<8}{name}: {escaped(finding.text)}"
            + (f" -> {escaped(finding.advice)}" if finding.advice else "")
            for name, finding in found
        ],
    )
    return Exit.REFUTED if bad else Exit.OK
