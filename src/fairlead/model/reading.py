"""From text in YAML or JSON to a cluster and jobs, or to every mistake with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from yaml.nodes import Node

from fairlead.garbage import not_collecting
from fairlead.model.check import Mistaken, collect_mistakes, with_implied_tenants
from fairlead.model.errors import About, InputError, Mistake, Mistakes, Place
from fairlead.model.fields import ELSEWHERE, JOB, MACHINE, SECTIONS, SUBMITTED_JOB, TENANT, Kind
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.names import MOST_NAMES, expand
from fairlead.model.nodes import Source, documents, is_null
from fairlead.model.tenant import Tenant
from fairlead.model.tree import quoted_ranges

Entry = tuple[Source, Node]

MOST_LISTED = 10 * MOST_NAMES
"""Names in all different lists of names together."""

_KINDS = {"machines": MACHINE, "tenants": TENANT, "jobs": JOB}
_MAKE: dict[str, Callable[..., Any]] = {"machine": Machine, "tenant": Tenant, "job": Job}


Check = Callable[[Cluster, Sequence[Job]], Iterable[Mistake]]
"""A caller's further wishes for what was read: mistakes about what is written or missing."""


def read(
    texts: Sequence[tuple[str, str]], check: Check = lambda _cluster, _jobs: ()
) -> tuple[Cluster, tuple[Job, ...]]:
    """The cluster and the jobs that texts, each with the name of its file, describe together.

    A tenant that jobs name is implied if no tenants are declared. Raises InputError with all
    mistakes of all texts in the order of their places, also those that `check` finds.
    """
    with not_collecting():
        return _read(texts, check)


def read_parts(texts: Sequence[tuple[str, str]]) -> tuple[Cluster, tuple[Job, ...]]:
    """As `read`, for what adds to a cluster that is there already: whether jobs, tenants and
    machines fit together is not looked at, and no tenant is implied."""
    with not_collecting():
        reader = _everything(texts)
    reader.mistakes.report()
    return Cluster(reader.machines, reader.tenants, reader.devices), tuple(reader.jobs)


def places(texts: Sequence[tuple[str, str]]) -> Callable[[About], Place | None]:
    """Where in texts that were read that stands which something is said about; None where it is
    not written."""
    return _everything(texts).find


def read_submission(
    texts: Sequence[tuple[str, str]],
) -> tuple[tuple[Job, ...], Callable[[About], Place | None]]:
    """The jobs of texts that hold nothing else, each of which says what it runs and how many tasks
    it has; and where that stands which something is said about. Raises InputError with all
    mistakes, in the order of their places."""
    with not_collecting():
        reader = _Reader(submitted=True)
        for file, text in texts:
            reader.read(file, text)
    if not reader.jobs and not reader.mistakes:
        reader.mistakes.append(
            Mistake("there is no job in it", "write some under `jobs:`", reader.start)
        )
    if reader.mistakes:
        raise InputError(in_order(reader.mistakes, texts))
    return tuple(reader.jobs), reader.place


def in_order(mistakes: Iterable[Mistake], texts: Sequence[tuple[str, str]]) -> list[Mistake]:
    order = {file: index for index, (file, _) in reversed(list(enumerate(texts)))}
    return sorted(mistakes, key=lambda mistake: _order(mistake, order))


def _read(texts: Sequence[tuple[str, str]], check: Check) -> tuple[Cluster, tuple[Job, ...]]:
    reader = _everything(texts)
    cluster = Cluster(reader.machines, reader.tenants, reader.devices)
    jobs = tuple(reader.jobs)
    found = reader.mistakes
    found.extend(
        replace(mistake, place=reader.place(mistake.about))
        for mistake in (*collect_mistakes(cluster, jobs, reader.mistaken()), *check(cluster, jobs))
    )
    if found:
        raise InputError(in_order(found, texts))
    return with_implied_tenants(cluster, jobs), jobs


def _everything(texts: Sequence[tuple[str, str]]) -> _Reader:
    reader = _Reader()
    for file, text in texts:
        reader.read(file, text)
    return reader


def _order(mistake: Mistake, files: dict[str, int]) -> tuple[int, int, int]:
    place = mistake.place
    return (files.get(place.file, -1), place.line, place.column) if place else (-1, 0, 0)


@dataclass
class _Reader:
    """Everything read so far, and where it was written.

    `partial` are entries with mistakes, as far as they could be read; `entries` knows all by kind
    and name; `unknown` the kinds of which something was written that has no name. `submitted`:
    there are jobs alone, and they are to run.
    """

    submitted: bool = False

    machines: list[Machine] = field(default_factory=list)
    tenants: list[Tenant] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    partial: list[Machine | Tenant | Job] = field(default_factory=list)
    mistakes: Mistakes = field(default_factory=Mistakes)
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    unread: set[tuple[str, str]] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    lists: dict[int, tuple[str, ...]] = field(default_factory=dict)
    listed: int = 0
    start: Place | None = None

    def mistaken(self) -> Mistaken:
        """Collects the entries that did not become values."""
        return Mistaken(
            names=frozenset(self.unread),
            kinds=frozenset(self.unknown),
            machines=tuple(each for each in self.partial if isinstance(each, Machine)),
            tenants=tuple(each for each in self.partial if isinstance(each, Tenant)),
            jobs=tuple(each for each in self.partial if isinstance(each, Job)),
        )

    def place(self, about: About) -> Place | None:
        """The place of a mistake's subject; the start of all texts where it was not written."""
        return self.find(about) or self.start

    def find(self, about: About) -> Place | None:
        """The place of a mistake's subject; None where it was not written."""
        kind, name, *path = about if len(about) > 1 else (*about, "")
        if kind == "devices":
            kind, name, path = "device", path[0], []
        entry = self.entries.get((str(kind), str(name)))
        return entry[0].find(entry[1], path) if entry else None

    def read(self, file: str, text: str) -> None:
        self.start = self.start or Place(file, 1, 1)
        before = len(self.mistakes)
        found = documents(file, text, self.mistakes)
        if len(self.mistakes) > before:
            self._lose_all()
        elif all(is_null(document) for document in found):
            right = f"write {', '.join(SECTIONS[:-1])} or {SECTIONS[-1]}"
            what = "nothing is written here"
            self.mistakes.append(Mistake(what, right, Place(file, 1, 1)))
            self._lose_all()
        source = Source(file, self.mistakes)
        try:
            for document in found:
                if not is_null(document):
                    self._document(source, document)
        except InputError as error:  # more than can be read: the rest of the file is not
            self.mistakes.extend(error.mistakes)
            self._lose_all()

    def _lose_all(self) -> None:
        """Anything may have been written in what could not be read."""
        self.unknown.update(kind.word for kind in _KINDS.values())

    def _document(self, source: Source, node: Node) -> None:
        before = len(self.mistakes)
        schema = source.peek(node, "schema")
        if schema.startswith("fairlead."):
            right = "give what describes the machines, tenants and jobs"
            source.wrong(node, (), f"this is an answer of Fairlead's ({schema}), no input", right)
            self._lose_all()
            return
        sections = source.mapping(node, (), SECTIONS)
        if len(self.mistakes) > before:  # an unknown key may be a section with a slip in it
            self._lose_all()
        for section, kind in _KINDS.items():
            content = (sections or {}).get(section)
            if content is None or is_null(content) or self._elsewhere(source, section, content):
                continue
            if self.submitted:
                kind = SUBMITTED_JOB
            entries = source.sequence(content, (section,))
            if entries is None:
                self.unknown.add(kind.word)
            for entry in entries or ():
                self._entry(source, entry, kind)
        devices = (sections or {}).get("devices")
        if devices is None or is_null(devices):
            return
        if not self._elsewhere(source, "devices", devices):
            for item in source.sequence(devices, ("devices",)) or ():
                resource = source.text(item, ("devices",))
                if resource is not None:
                    self.devices.append(resource)
                    self.entries.setdefault(("device", resource), (source, item))

    def _elsewhere(self, source: Source, section: str, content: Node) -> bool:
        """Whether this section has no place here, which is a mistake then."""
        if not self.submitted or section not in ELSEWHERE:
            return False
        what = f"a submission holds jobs, and nothing of {section}"
        source.wrong(content, (), what, ELSEWHERE[section])
        return True

    def _entry(self, source: Source, node: Node, kind: Kind) -> None:
        """Read one entry and keep what it means, or what can be told of it and its mistakes."""
        before = len(self.mistakes)
        about, values = _values(source, node, kind)
        names: tuple[str, ...] = (str(about[1]),) if about[1] else ()
        if names and kind is MACHINE:
            names = self._expand(source, node, names[0])
        if names:
            self._once(kind, (source, node), names)
        thing = None
        if values is not None:
            if kind is MACHINE:
                # An empty name is left as it is: the machine will refuse it.
                values["name"] = (
                    names[0] if names else values["name"] and kind.needed["name"].stand_in
                )
            thing = self._make(source, node, kind, values, about)
            self._count(source, node, thing)
        if len(self.mistakes) > before:
            self.unread.update((kind.word, name) for name in names)
            if not names:
                self.unknown.add(kind.word)
            if thing is not None:
                self.partial.append(thing)
        elif isinstance(thing, Machine):
            self.machines.append(thing)
            capacity, labels = thing.capacity, thing.labels
            self.machines.extend(Machine(name, capacity, labels) for name in names[1:])
        elif isinstance(thing, Tenant):
            self.tenants.append(thing)
        elif thing is not None:
            self.jobs.append(thing)

    def _count(self, source: Source, node: Node, thing: Machine | Tenant | Job | None) -> None:
        """Keeps lists of names from filling the memory: a short text can mean very many."""
        lists: list[tuple[str, ...] | None] = []
        if isinstance(thing, Tenant):
            lists = [thing.pool]
        elif isinstance(thing, Job):
            lists = [thing.machines, thing.exclude]
        for names in lists:
            if names and id(names) not in self.lists:
                self.lists[id(names)] = names
                self.listed += len(names)
        if self.listed > MOST_LISTED:
            raise InputError(
                Mistake(
                    f"pool, machines and exclude list more than {MOST_LISTED} names together",
                    "choose machines by labels, with where",
                    source.place(node),
                )
            )

    def _make(
        self, source: Source, node: Node, kind: Kind, values: dict[str, Any], about: About
    ) -> Machine | Tenant | Job | None:
        """Builds the entry. Mistakes get their places, and the rest of the values counts."""
        make = _MAKE[kind.word]
        try:
            return make(**values)  # type: ignore[no-any-return]  # of any kind
        except InputError as error:
            self.mistakes.extend(
                replace(
                    mistake,
                    place=source.find(node, mistake.about[2:] or ("name",)),
                    about=(*about, *mistake.about[2:]),
                )
                for mistake in error.mistakes
            )
            wrong = {str(mistake.about[2]) for mistake in error.mistakes if mistake.about[2:]}
        for key in wrong:
            _drop(kind, values, key)
        try:
            return make(**values)  # type: ignore[no-any-return]  # of any kind
        except InputError:  # reported above: the name itself is wrong
            return None

    def _expand(self, source: Source, node: Node, name: str) -> tuple[str, ...]:
        """The names of the machines of an entry, or none and a mistake."""
        about: About = ("machine", name, "name")
        mistakes = Mistakes()
        names = mistakes.attempt(about, expand, name) or ()
        if len(self.machines) + len(names) > MOST_NAMES:
            mistakes.add(
                about, f"with these there are more than {MOST_NAMES} machines", "use fewer"
            )
            names = ()
        elif len(set(names)) < len(names):
            mistakes.add(about, "the range names a machine twice", "name each once")
            names = tuple(dict.fromkeys(names))
        place = source.find(node, ("name",))
        self.mistakes.extend(replace(mistake, place=place) for mistake in mistakes)
        return names

    def _once(self, kind: Kind, entry: Entry, names: tuple[str, ...]) -> None:
        """Remember where the names were written; each is written once."""
        twice = [
            name for name in names if self.entries.setdefault((kind.word, name), entry) is not entry
        ]
        if twice:
            first, node = self.entries[kind.word, twice[0]]
            self.mistakes.append(
                Mistake(
                    f"there is a {kind.word} {quoted_ranges(twice)} already,"
                    f" at {first.find(node, ('name',))}",
                    "give each its own name",
                    entry[0].find(entry[1], ("name",)),
                )
            )


def _values(source: Source, node: Node, kind: Kind) -> tuple[About, dict[str, Any] | None]:
    """Reads an entry's subject, and its fields as far as they can be read, with stand-ins for those
    that are needed; None if it has no fields at all."""
    about: About = (kind.word, source.peek(node, "name"))
    found = source.mapping(node, about, tuple(kind.fields))
    if found is None:
        return about, None
    values: dict[str, Any] = {}
    failed: list[str] = []
    for key, child in found.items():
        value = kind.fields[key](source, child, (*about, key))
        if value is None:
            failed.append(key)
        else:
            values[key] = value
    for key in kind.needed:
        if key not in found and kind.instead.get(key) not in found:
            need = kind.needed[key]
            source.wrong(node, about, need.lack or f"it has no {key}", f"write {need.example}")
            failed.append(key)
    for key in failed:
        _drop(kind, values, key)
    return about, values


def _drop(kind: Kind, values: dict[str, Any], key: str) -> None:
    """Do without a field that is mistaken, so that the others can be checked all the same."""
    values.pop(key, None)
    values.pop(kind.partner.get(key, ""), None)
    if key in kind.needed:
        values[key] = kind.needed[key].stand_in
