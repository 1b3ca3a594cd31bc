"""Witnesses as files in a directory, one for each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain, count
from pathlib import Path

from fairlead.audit.finding import Witness
from fairlead.audit.witness.file import witness_json
from fairlead.model.errors import OutputError
from fairlead.whole_file import write_whole


def write_witnesses(witnesses: Iterable[tuple[str, str, Witness]], directory: str) -> None:
    """Writes each witness under its policy and what it is a witness of, which come first, and makes
    the directory for them. Of policies that differ only in what file names do not have, all but the
    first get a number. Raises OutputError."""
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory} cannot be made: {error.strerror}") from error
    names: dict[str, str] = {}
    for policy, about, witness in witnesses:
        if policy not in names:
            names[policy] = _another(re.sub(r"[^A-Za-z0-9.-]+", "_", policy).strip("_"), names)
        write_whole(folder / f"{names[policy]}-{about}.json", witness_json(witness) + "\n")


def _another(name: str, names: Mapping[str, str]) -> str:
    """The name, with the first number from 2 on that makes it none of these."""
    taken = {each.casefold() for each in names.values()}  # some disks know no capitals
    numbered = (f"{name}_{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each.casefold() not in taken)
