"""`fairlead verify`: checks somebody's proof of an allocation from the input alone."""

from __future__ import annotations

import argparse

from fairlead.cli.common.inputs import complain, read, say
from fairlead.cli.common.screen import brief
from fairlead.cli.main import Exit
from fairlead.model.errors import CertificateError, InputError
from fairlead.model.words import counted, sentence

EPILOG = """\
examples:
  fairlead allocate cluster.yaml jobs.yaml --quiet --proof proof.json
  fairlead verify cluster.yaml jobs.yaml proof.json

The check shares nothing with the solver. From the proof it reads who freezes in which round, what
is used up, and where tasks are; all numbers it computes from the input, in rationals. The exit code
is 0 if the proof holds, and 1 if it does not.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="INPUT",
        help="the input, as for `fairlead allocate`",
    )
    parser.add_argument(
        "proof", metavar="PROOF", help="what `fairlead allocate --proof` wrote, or -"
    )
    parser.add_argument(
        "--scales-as-stated",
        action="store_true",
        help="believe the scales in the proof, where its policy is not a built-in one",
    )


def run(args: argparse.Namespace) -> int:
    """Prints whether the proof holds; the exit code says the same."""
    from fairlead.sharing.certificate import proof_from_json, verify

    cluster, jobs = read(args.files)
    proof = proof_from_json(_text(args.proof), args.proof)
    try:
        certificate = verify(
            cluster, jobs, proof, args.proof, scales_as_stated=args.scales_as_stated
        )
    except CertificateError as error:
        say([f"the proof does not hold: {brief(str(error))}"])
        return Exit.REFUTED
    size = f"{counted(len(proof.rounds), 'round')}, {counted(len(proof.tasks), 'job')} with tasks"
    holds = f"the proof holds for policy {brief(proof.policy)}: {size}, all shares exact"
    say([f"believed: {sentence(brief(text))}" for text in certificate.assumed] + [holds])
    return Exit.OK


def _text(file: str) -> str:
    from dataclasses import replace

    from fairlead.files import text_of

    right = "give the file that `fairlead allocate --proof` wrote, after the input"
    try:
        return text_of(file, complain)
    except InputError as error:
        raise InputError(replace(error.mistakes[0], right=right)) from error
