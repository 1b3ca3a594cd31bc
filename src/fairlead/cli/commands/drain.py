"""`fairlead drain` and `fairlead undrain`: a machine gets nothing new; a machine takes tasks."""

from __future__ import annotations

import argparse

from fairlead.cli.common.remote import add_service, names_of, say_answer, service_of

EPILOG = """\
examples:
  fairlead drain a01            its running tasks go on; nothing new starts
  fairlead drain "a[01-08]"
  fairlead undrain a01          it takes tasks again
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of both commands."""
    parser.set_defaults(back=parser.prog.endswith("undrain"))
    parser.add_argument("machines", nargs="+", metavar="MACHINE", help="machines, by name or range")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Drains the machines, or takes them back: all of them, or none. Shows them."""
    from fairlead.cli.text.machines import lines

    names = names_of(args.machines)
    with service_of(args) as service:
        change = service.undrain_machines if args.back else service.drain_machines
        found = change(*names)
    rows = [each.model_dump(mode="json", by_alias=True) for each in found]
    tree = {"schema": "fairlead.machines/1", "machines": rows}
    say_answer(args, tree, lambda screen: lines(found, screen))
    return 0
