"""Finds the loader for what a user gives: paths, and a format's name where one is said."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from fairlead.files import called
from fairlead.model.errors import InputError, Mistake, Place, brief
from fairlead.model.machine import Cluster
from fairlead.simulation.traces import job_table
from fairlead.simulation.traces.build import with_machines
from fairlead.simulation.traces.formats import Files, Format
from fairlead.simulation.traces.on_cluster import is_described, on_cluster, read_cluster
from fairlead.simulation.traces.opening import first_line, is_empty, no_text
from fairlead.simulation.traces.options import settings
from fairlead.simulation.traces.own import reading as own
from fairlead.simulation.traces.public import (
    alibaba2023,
    google2011,
    google2019,
    machine_lists,
    philly,
    swf,
    swim,
)
from fairlead.simulation.workload import Workload

PUBLIC: tuple[Format, ...] = (
    google2011.FORMAT,
    google2019.FORMAT,
    alibaba2023.FORMAT,
    machine_lists.ALIBABA_2020,
    machine_lists.ALIBABA_2026,
    philly.FORMAT,
    swim.FORMAT,
    swf.FORMAT,
    job_table.FORMAT,  # the last, for its columns may have any others beside them
)

OWN = "fairlead"
"""The name of the project's own format, which is a directory with a trace.json."""

_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".swf", ".swf.gz")


def format_names() -> tuple[str, ...]:
    return (OWN, *(form.name for form in PUBLIC))


def meanings(name: str) -> dict[str, str]:
    """The meaning of each option of a format; nothing for a name that is no public format's."""
    return {
        option.name: option.meaning
        for form in PUBLIC
        if form.name == name
        for option in form.options
    }


def load(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,  # noqa: A002  (the word of the command line)
    options: Mapping[str, str] | None = None,
    machines: Sequence[str | os.PathLike[str]] = (),
) -> Workload:
    """The workload that the files are, in whatever format they turn out to have.

    A directory stands for the tables in it and below it that the format knows. `machines` are
    files whose machines replace those of the trace: another trace, or YAML, which may stand beside
    the trace's files too. Raises InputError.
    """
    words = [os.fspath(path) for path in paths]
    instead = [os.fspath(path) for path in machines]
    beside = [word for word in words if is_described(word) and not Path(word).is_dir()]
    if beside and len(beside) < len(words):
        if instead:
            raise InputError(
                f"the machines are those of {' '.join(beside)} and those of {' '.join(instead)}",
                "leave one of the two out",
            )
        words, instead = [word for word in words if word not in beside], beside
    if not instead or not all(map(is_described, instead)):
        workload = _load(words, format, options or {})
        return with_machines(workload, load(instead)) if instead else workload
    cluster = read_cluster(instead)
    return on_cluster(_load(words, format, options or {}, cluster), cluster, " ".join(instead))


def on_machines(workload: Workload, machines: Sequence[str]) -> Workload:
    """The workload on the machines of these files: another trace, or YAML. Raises InputError."""
    if all(map(is_described, machines)):
        return on_cluster(workload, read_cluster(machines), " ".join(machines))
    return with_machines(workload, load(machines))


def _load(
    paths: list[str], name: str | None, options: Mapping[str, str], cluster: Cluster | None = None
) -> Workload:
    if not paths:
        raise InputError("no file is given", "give the files or the directory of a trace")
    if name is not None and name not in format_names():
        raise InputError(
            f"there is no format {name!r}", f"the formats are {', '.join(format_names())}"
        )
    if name == OWN or (name is None and any(own.is_trace(path) for path in paths)):
        if len(paths) > 1:
            raise InputError("a trace in Fairlead's format is one directory", "give it alone")
        settings((), options, OWN)
        return own.load(paths[0])
    among = [form for form in PUBLIC if name in (None, form.name)]
    form, files, unread = _sort_files(paths, among)
    chosen = settings(form.options, options, form.name)
    if cluster is None or form.load_on is None:
        workload = form.load(files, chosen)
    else:
        workload = form.load_on(files, chosen, cluster)
    if unread:
        note = f"not read, for they are no tables of this format: {', '.join(unread)}"
        workload = replace(workload, notes=(*workload.notes, note))
    return workload


def _sort_files(
    paths: Sequence[str], among: Sequence[Format]
) -> tuple[Format, Files, tuple[str, ...]]:
    """The format, its files by role, and the files of directories that it does not know."""
    found: dict[str, dict[str, list[str]]] = {}
    unread = []
    for path, given in _files(paths):
        line = first_line(path)
        known = [(form.name, role) for form in among if (role := form.role(line)) is not None]
        if not known:
            if given:
                raise InputError(_unknown(path, among, line))
            unread.append(Path(path).name)
            continue
        form_name, role = known[0]
        found.setdefault(form_name, {}).setdefault(role, []).append(path)
    if not found:
        raise InputError(
            f"{', '.join(paths)} holds no table of {_format_names(among)}",
            "give the files of a trace; docs/reference/traces.md says which",
        )
    if len(found) > 1:
        raise InputError(
            f"the files are of several formats: {', '.join(found)}",
            "give those of one, and machines of another by --machines",
        )
    ((form_name, roles),) = found.items()
    form = next(form for form in among if form.name == form_name)
    in_order = {
        role: tuple(sorted(files, key=lambda path: (Path(path).name, path)))
        for role, files in sorted(roles.items())
    }
    return form, in_order, tuple(unread)


def _files(paths: Sequence[str]) -> list[tuple[str, bool]]:
    """The files, each once, and whether it was given itself: first by argument, then by name."""
    found: dict[str, bool] = {}
    for path in paths:
        if not Path(path).is_dir():
            if found.get(path):
                raise InputError(f"{path} is given twice", "give it once")
            found[path] = True
            continue
        for file in sorted(Path(path).rglob("*")):
            if file.is_file() and file.name.endswith(_ENDINGS):
                found.setdefault(str(file), False)
    return list(found.items())


def _unknown(path: str, among: Sequence[Format], line: str) -> Mistake:
    """What is wrong with a file that no format knows by its first line."""
    if is_empty(path):
        return Mistake(f"{called(path)} is empty", "give a file with lines")
    if told := no_text(path):
        return told
    return Mistake(
        f'"{brief(line)}" begins no table of {_format_names(among)}',
        "docs/reference/traces.md says how each is known, and how a trace of one's own is written:"
        " a table whose header has submit, duration and cpu, with commas, semicolons or tabs"
        " between, or a folder with trace.json",
        Place(called(path), 1, 1),
    )


def _format_names(among: Sequence[Format]) -> str:
    names = [form.name for form in among]
    return names[0] if len(names) == 1 else f"any format ({', '.join(names)})"
