"""`fairlead import`: another scheduler's cluster as files."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from fairlead.cli.common.inputs import add_action, say
from fairlead.engines.registry import IMPORTERS
from fairlead.model.errors import InputError
from fairlead.model.words import escaped

EPILOG = """\
examples:
  fairlead import slurm                            this cluster, as cluster.yaml and jobs.yaml
  fairlead import slurm --save saved               save what Slurm says, to look at it elsewhere
  fairlead import slurm --from saved --out mine    and make files of it

Only reads. What was assumed, or could not be understood, is printed line by line.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="engine", required=True, metavar="|".join(IMPORTERS))
    for name in IMPORTERS:
        action = add_action(actions, name, f"a cluster of {name.capitalize()}")
        action.add_argument(
            "--from", dest="folder", metavar="DIR", help="read saved outputs, not a live cluster"
        )
        action.add_argument(
            "--out",
            metavar="DIR",
            default=".",
            help="where cluster.yaml and jobs.yaml are written (default: this folder)",
        )
        action.add_argument("--save", metavar="DIR", help="only save the live cluster's outputs")


def run(args: argparse.Namespace) -> int:
    """Writes the files, or what the other scheduler says."""
    from fairlead.engines.interface import EngineError
    from fairlead.model.writing import write
    from fairlead.whole_file import written_whole

    if args.save and args.folder:
        raise InputError("--save and --from are given", "give one: --save asks the live cluster")
    source = import_module(IMPORTERS[args.engine])
    try:
        outputs = source.load(Path(args.folder)) if args.folder else source.ask()
    except EngineError as error:
        raise InputError(str(error)) from error
    if args.save:
        texts = source.slim(outputs)
        lines = [f"{len(texts)} outputs are saved in {args.save}"]
    else:
        cluster, jobs, notes = source.translate(outputs)
        from fairlead.model.machine import Cluster

        head = f"# Made by `fairlead import {args.engine}`.\n"
        texts = {
            "cluster.yaml": head + write(cluster),
            "jobs.yaml": head + write(Cluster(()), jobs).replace("machines:\n", "", 1),
        }
        for file in (Path(args.out) / name for name in texts):
            _check_is_own(file, head)
        tenants = len(cluster.tenants)
        counts = f"{len(cluster.machines)} machines, {tenants} tenants and {len(jobs)} jobs"
        lines = [
            f"{counts} are written to {args.out}",
            "",
            "assumed, or not understood:",
            *(f"- {escaped(note)}" for note in notes),
        ]
    folder = Path(args.save or args.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from error
    for name, text in texts.items():
        with written_whole(folder / name) as beside:
            beside.write_text(text, encoding="utf-8")
    say(lines)
    return 0


def _check_is_own(file: Path, head: str) -> None:
    """Raises InputError where somebody else wrote the file that is to be made."""
    if file.is_file() and not file.read_bytes().startswith(head.encode()):
        raise InputError(f"{file} is there, and not made by this", "name another folder with --out")
