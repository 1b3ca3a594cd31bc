"""From text in YAML or JSON to a cluster and jobs, or to every mistake with its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from yaml.nodes import Node, ScalarNode

from fairlead.model.check import Unread, found_mistakes, with_implied_tenants
from fairlead.model.errors import About, InputError, Mistake, Mistakes, Place
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine, number_label
from fairlead.model.names import MOST_NAMES, expand
from fairlead.model.nodes import Source, documents, is_null, is_plain, said
from fairlead.model.tenant import Tenant
from fairlead.model.tree import shown

Entry = tuple[Source, Node]


def read(texts: Sequence[tuple[str, str]]) -> tuple[Cluster, tuple[Job, ...]]:
    """The cluster and the jobs that texts, each with the name of its file, describe together.

    A tenant that jobs name is implied if no tenants are declared. Raises InputError with all
    mistakes of all texts in the order of their places.
    """
    reader = _Reader()
    for file, text in texts:
        reader.read(file, text)
    cluster = Cluster(reader.machines, reader.tenants, reader.devices)
    jobs = tuple(reader.jobs)
    unread = Unread(frozenset(reader.unread), frozenset(reader.unread_kinds))
    found = reader.mistakes
    found.extend(
        replace(mistake, place=reader.place(mistake.about))
        for mistake in found_mistakes(cluster, jobs, unread)
    )
    if found:
        order = {file: index for index, (file, _) in reversed(list(enumerate(texts)))}
        raise InputError(sorted(found, key=lambda mistake: _order(mistake, order)))
    return with_implied_tenants(cluster, jobs), jobs


def _order(mistake: Mistake, files: dict[str, int]) -> tuple[int, int, int]:
    place = mistake.place
    return (files.get(place.file, -1), place.line, place.column) if place else (-1, 0, 0)


# What a field holds: each function gives what the constructor takes, or None and a mistake.


def _text(source: Source, node: Node, about: About) -> str | None:
    return source.text(node, about)


def _boolean(source: Source, node: Node, about: About) -> bool | None:
    if isinstance(node, ScalarNode) and is_plain(node):
        if node.value in ("true", "True", "TRUE"):
            return True
        if node.value in ("false", "False", "FALSE"):
            return False
    source.wrong(
        node, about, f"{said(node)} is neither true nor false", "write true or false without quotes"
    )
    return None


def _amounts(source: Source, node: Node, about: About) -> dict[str, str] | None:
    values = source.mapping(node, about)
    if values is None:
        return None
    texts = {key: source.text(value, (*about, key)) for key, value in values.items()}
    return {key: text for key, text in texts.items() if text is not None}


def _labels(source: Source, node: Node, about: About) -> dict[str, str | Decimal] | None:
    values = source.mapping(node, about)
    if values is None:
        return None
    labels: dict[str, str | Decimal] = {}
    for key, value in values.items():
        text = source.text(value, (*about, key))
        if text is not None:
            number = number_label(text) if is_plain(value) else None
            labels[key] = text if number is None else number
    return labels


def _names(source: Source, node: Node, about: About) -> list[str] | None:
    if isinstance(node, ScalarNode):
        text = source.text(node, about)
        return None if text is None else [text]
    items = source.sequence(node, about)
    if items is None:
        return None
    texts = [source.text(item, about) for item in items]
    # With an item missing the indices would be wrong, and the list would look shorter than it is.
    return None if None in texts else [text for text in texts if text is not None]


Field = Callable[[Source, Node, About], Any]


@dataclass(frozen=True)
class _Kind:
    """What an entry may hold. `needed` are the fields without which there is nothing, each with a
    value that is used in its place so that the other fields can be checked all the same."""

    word: str
    fields: dict[str, Field]
    needed: dict[str, Any]
    example: str


_MACHINE = _Kind(
    "machine",
    {"name": _text, "capacity": _amounts, "labels": _labels},
    {"name": "unnamed", "capacity": {}},
    "capacity: {cpu: 16, memory: 64GiB}",
)
_TENANT = _Kind(
    "tenant",
    {"name": _text, "weight": _text, "pool": _names, "parent": _text, "limit": _amounts},
    {"name": "unnamed"},
    "",
)
_JOB = _Kind(
    "job",
    {
        "name": _text,
        "tenant": _text,
        "demand": _amounts,
        "tasks": _text,
        "where": _text,
        "machines": _names,
        "exclude": _names,
        "spread": _boolean,
        "prefer": _text,
        "prefer_for": _text,
    },
    {"name": "unnamed", "demand": {"anything": 1}},
    "demand: {cpu: 1, memory: 4GiB}",
)

_PARTNERS = {"prefer": "prefer_for", "prefer_for": "prefer"}
"""Without the one, the other would look mistaken."""

_SECTIONS = ("machines", "tenants", "devices", "jobs")


@dataclass
class _Reader:
    """Everything read so far, and where it was written."""

    machines: list[Machine] = field(default_factory=list)
    tenants: list[Tenant] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    mistakes: Mistakes = field(default_factory=Mistakes)
    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    unread: set[tuple[str, str]] = field(default_factory=set)
    unread_kinds: set[str] = field(default_factory=set)
    start: Place | None = None

    def read(self, file: str, text: str) -> None:
        """Read one more text."""
        self.start = self.start or Place(file, 1, 1)
        before = len(self.mistakes)
        found = documents(file, text, self.mistakes)
        if len(self.mistakes) > before:
            self.unread_kinds.update(("machine", "tenant", "job"))
        elif all(is_null(document) for document in found):
            self.mistakes.append(
                Mistake(
                    "nothing is written here",
                    "write machines:, tenants:, devices: or jobs:",
                    Place(file, 1, 1),
                )
            )
        source = Source(file, self.mistakes)
        try:
            for document in found:
                if not is_null(document):
                    self._document(source, document)
        except InputError as error:  # more than can be read: the rest of the file is not
            self.mistakes.extend(error.mistakes)
            self.unread_kinds.update(("machine", "tenant", "job"))

    def place(self, about: About) -> Place | None:
        """Where what a mistake is about was written."""
        kind, name, *path = (*about, "", "")[: max(2, len(about))]
        entry = self.entries.get((str(kind), str(name)))
        if kind == "devices":
            entry = self.entries.get(("device", str(path[0]) if path else ""))
            path = []
        if entry is None:
            return self.start
        source, node = entry
        return source.find(node, path)

    def _document(self, source: Source, node: Node) -> None:
        sections = source.mapping(node, (), _SECTIONS)
        if sections is None:
            self.unread_kinds.update(("machine", "tenant", "job"))
            return
        if len(sections) < len(node.value):  # an unknown key may be a section with a slip in it
            self.unread_kinds.update(("machine", "tenant", "job"))
        for kind, section, add in (
            (_MACHINE, "machines", self._machines),
            (_TENANT, "tenants", self._tenant),
            (_JOB, "jobs", self._job),
        ):
            content = sections.get(section)
            if content is None or is_null(content):
                continue
            entries = source.sequence(content, (section,))
            if entries is None:
                self.unread_kinds.add(kind.word)
            for entry in entries or ():
                self._entry(source, entry, kind, add)
        if "devices" in sections and not is_null(sections["devices"]):
            for item in source.sequence(sections["devices"], ("devices",)) or ():
                resource = source.text(item, ("devices",))
                if resource is not None:
                    self.devices.append(resource)
                    self.entries.setdefault(("device", resource), (source, item))

    def _entry(
        self,
        source: Source,
        node: Node,
        kind: _Kind,
        add: Callable[[Entry, dict[str, Any], bool], None],
    ) -> None:
        """Read one entry. `add` gets its fields and whether they are all; it raises InputError
        where they are wrong, and keeps what they mean if they are all."""
        before = len(self.mistakes)
        values, name = self._fields(source, node, kind)
        if values is None:
            self.unread_kinds.add(kind.word)
            return
        try:
            add((source, node), values, len(self.mistakes) == before)
        except InputError as error:
            self.mistakes.extend(
                replace(
                    mistake,
                    place=mistake.place or source.find(node, mistake.about[2:]),
                    about=mistake.about if name else (kind.word, *mistake.about[1:]),
                )
                for mistake in error.mistakes
            )
        if len(self.mistakes) > before:
            self._remember(source, node, kind, name)

    def _fields(
        self, source: Source, node: Node, kind: _Kind
    ) -> tuple[dict[str, Any] | None, str | None]:
        """The fields that could be read, with stand-ins for what is needed; and the name."""
        found = source.mapping(node, (kind.word,), tuple(kind.fields))
        if found is None:
            return None, None
        name = source.text(found["name"], (kind.word,)) if "name" in found else None
        about: About = (kind.word, name) if name else (kind.word,)
        values: dict[str, Any] = {}
        failed: list[str] = []
        for key, child in found.items():
            if key == "name":
                continue
            value = kind.fields[key](source, child, (*about, key))
            if value is None:
                failed.append(key)
            else:
                values[key] = value
        for key, stand_in in kind.needed.items():
            if key not in found:
                right = f"write {kind.example}" if key != "name" else "write name: and a name"
                source.wrong(node, about, f"it has no {key}", right)
            values.setdefault(key, stand_in)
        for key in failed:
            values.pop(_PARTNERS.get(key, ""), None)
        if name is not None:
            values["name"] = name
        return values, name

    def _remember(self, source: Source, node: Node, kind: _Kind, name: str | None) -> None:
        """Something of this name was written, though it is mistaken."""
        names: tuple[str, ...] = (name,) if name else ()
        if name and kind is _MACHINE:
            try:
                names = expand(name)
            except InputError:  # reported already
                names = ()
        if not names:
            self.unread_kinds.add(kind.word)
        for each in names:
            self.unread.add((kind.word, each))
            self.entries.setdefault((kind.word, each), (source, node))

    def _machines(self, entry: Entry, values: dict[str, Any], complete: bool) -> None:
        name = values.pop("name")
        mistakes = Mistakes()
        names = mistakes.attempt(("machine", name, "name"), expand, name) or ("unnamed",)
        first = mistakes.attempt((), _machine, names[0], values)
        if len(self.machines) + len(names) > MOST_NAMES:
            mistakes.add(
                ("machine", name, "name"), f"more than {MOST_NAMES} machines", "describe fewer"
            )
        mistakes.report()
        if first is None or not complete:
            return
        twice = [
            each for each in names if self.entries.setdefault(("machine", each), entry) is not entry
        ]
        if twice:
            self._already("machine", twice, ("machine", name, "name"))
        if len(set(names)) < len(names):
            mistakes.add(
                ("machine", name, "name"), "the range names a machine twice", "name it once"
            )
            mistakes.report()
        self.machines.append(first)
        capacity, labels = first.capacity, first.labels
        self.machines.extend(Machine(each, capacity, labels) for each in names[1:])

    def _tenant(self, entry: Entry, values: dict[str, Any], complete: bool) -> None:
        tenant = Tenant(**values)
        if complete:
            self._once("tenant", tenant.name, entry)
            self.tenants.append(tenant)

    def _job(self, entry: Entry, values: dict[str, Any], complete: bool) -> None:
        job = Job(**values)
        if complete:
            self._once("job", job.name, entry)
            self.jobs.append(job)

    def _once(self, kind: str, name: str, entry: Entry) -> None:
        if self.entries.setdefault((kind, name), entry) is not entry:
            self._already(kind, [name], (kind, name, "name"))

    def _already(self, kind: str, names: list[str], about: About) -> None:
        source, node = self.entries[kind, names[0]]
        where = source.find(node, ("name",))
        what = f"there is a {kind} {shown(names)} already, at {where}"
        raise InputError(Mistake(what, "give each its own name", about=about))


def _machine(name: str, values: dict[str, Any]) -> Machine:
    return Machine(name, **values)
