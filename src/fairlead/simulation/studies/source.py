"""Sources of a study's workloads: files of a trace, or a generator that draws by a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from fairlead.files import STANDARD_INPUT, called, held, hold
from fairlead.model.errors import InputError
from fairlead.model.values import FrozenMap
from fairlead.simulation.workload import JobBatch, Workload

KEEP = 2_000_000
"""Tasks up to which the jobs of a workload are kept in memory from one run to the next."""


@dataclass(frozen=True)
class Source:
    """Files of a trace, files in which people describe a cluster and jobs, or one generator's spec;
    `machines` are files that replace the machines."""

    words: tuple[str, ...]
    generator: bool
    format: str | None = None
    options: FrozenMap[str] = FrozenMap()  # the trace's named assumptions
    machines: tuple[str, ...] = ()
    described: bool = False
    held: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    """What came by the standard input or by pipes, for other processes."""

    @property
    def drawn(self) -> bool:
        """Whether a seed may make a difference."""
        return self.generator or self.described

    def workload(self, seed: int) -> Workload:
        """The workload. A trace is the same for every seed. Raises InputError."""
        from fairlead.simulation.traces.registry import load, on_machines

        if self.held and not held(*self.held):
            hold(self.held)  # as another process has read it
        if self.described:
            from fairlead.simulation.workloads.described import read_described

            workload = read_described(self.words, self.options, seed)
        elif not self.generator:
            return load(self.words, self.format, self.options, self.machines)
        else:
            from fairlead.simulation.workloads.registry import generate

            workload = generate(self.words[0], seed)
        if self.machines:
            return on_machines(workload, self.machines)
        return workload

    def absolute(self) -> Source:
        """The same for a process that was started in another folder."""
        words, machines = (
            tuple(word if word in self.held else str(Path(word).absolute()) for word in each)
            for each in (self.words, self.machines)
        )
        return replace(self, words=self.words if self.generator else words, machines=machines)

    def settings(self) -> dict[str, object]:
        """Settings that a continued study must repeat: files by name, size and time."""
        return {
            "generator": self.words[0] if self.generator else None,
            "files": [] if self.generator else [stamp(path) for path in self.words],
            "format": self.format,
            "set": dict(self.options),
            "machines": [stamp(path) for path in self.machines],
        }


def source_of(
    words: Sequence[str],
    form: str | None = None,
    options: Sequence[str] = (),
    machines: Sequence[str] = (),
) -> Source:
    """The source that the words name: a generator if they are one word that begins with its name,
    otherwise files: those of a trace, or YAML that describes machines and jobs. Raises
    InputError."""
    from fairlead.simulation.workloads.described import is_described
    from fairlead.simulation.workloads.registry import is_generator, names

    given: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise InputError(f"--set {option} sets nothing", "write --set name=value")
        given[key] = value
    if len(words) == 1 and is_generator(words[0]) and not Path(words[0]).exists():
        if form is not None or given:
            raise InputError(
                f"`{words[0]}` is a generator: it takes no --format and no --set",
                f"write its parameters in brackets: {words[0].partition('(')[0]}(name=value)",
            )
        return Source(tuple(words), generator=True, machines=tuple(machines))
    for word in words:
        if word != STANDARD_INPUT and not Path(word).exists():
            close = get_close_matches(word.partition("(")[0], names(), n=1)
            listed = ", ".join(names())
            raise InputError(
                f"{word} is neither a file nor a generator",
                f"did you mean {close[0]}?"
                if close
                else "give YAML files of machines and jobs, the files of a trace, or a generator:"
                f" {listed}",
            )
    described = form is None and is_described(words)
    return Source(
        tuple(words),
        False,
        form,
        FrozenMap(given),
        tuple(machines),
        described,
        held(*words, *machines),
    )


def stamp(path: str) -> dict[str, object]:
    """A file or a directory as a later run knows it again."""
    if contents := held(path):
        digest = hashlib.sha256(contents[path]).hexdigest()
        return {"path": called(path), "bytes": len(contents[path]), "digest": digest}
    there = Path(path)
    files = [there] if there.is_file() else sorted(p for p in there.rglob("*") if p.is_file())
    stats = [file.stat() for file in files]
    return {
        "path": str(there.resolve()),
        "bytes": sum(stat.st_size for stat in stats),
        "changed": max((stat.st_mtime_ns for stat in stats), default=0),
    }


def keep_in_memory(workload: Workload) -> Workload:
    """The workload with its jobs in memory, if they are few: made once for all policies."""
    if workload.tasks is None or workload.tasks > KEEP:
        return workload
    batches: tuple[JobBatch, ...] = tuple(workload.batches())
    return replace(workload, batches=lambda: iter(batches))
