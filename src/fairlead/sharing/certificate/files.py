"""Proofs in files, read with distrust: `fairlead.proof/2`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NoReturn, TypeVar

from fairlead.model.errors import InputError
from fairlead.model.json_tree import json_tree
from fairlead.model.names import MOST_NAMES, expand
from fairlead.model.proof import PROOF_SCHEMA, Places, PoolProof, Proof, Round, Scale, Scarce
from fairlead.model.shares import MachineClass
from fairlead.sharing.certificate.scales import Looks

RIGHT = "give the file that `fairlead allocate --proof` wrote, unchanged"
OLD = (
    "it is of the form fairlead.proof/1, whose numbers proved shares only to within a tolerance;"
    " write it again with this version"
)
VIEWS = tuple(each.value for each in Looks)
SCARCE = (
    {"class", "resource"},
    {"tenant", "resource"},
    {"job"},
    {"class", "job"},
)
"""The keys by which a file names something that is scarce."""
MOST_DIGITS = 4000  # of a scale that somebody states
_FRACTION = re.compile(r"[0-9]+(/[0-9]+)?")

T = TypeVar("T")


def proof_from_json(text: str, file: str = "<proof>") -> Proof:
    """The proof in the text of a file. Raises InputError where it is not one; whether it holds is
    another question."""
    tree = _Reader(json_tree(text, file, RIGHT), file, "")
    if isinstance(tree.value, dict) and tree.value.get("schema") == "fairlead.proof/1":
        tree.refuse(OLD)
    found = tree.keys(
        "schema",
        "policy",
        "view",
        "classes",
        "scales",
        "tasks",
        "rounds",
        "places",
        "full",
        "pools",
    )
    if found["schema"].text() != PROOF_SCHEMA:
        found["schema"].refuse(f'this is "{found["schema"].text()}", not "{PROOF_SCHEMA}"')
    return Proof(
        policy=found["policy"].word(),
        classes=_classes(found["classes"]),
        tasks=_tasks(found["tasks"]),
        rounds=found["rounds"].each(_round),
        places=found["places"].each(_places),
        full=found["full"].each(_scarce),
        pools=found["pools"].each(_pool),
        view=found["view"].word(VIEWS),
        scales=found["scales"].each(_scale),
    )


class _Reader:
    """A value in the tree that knows where it is, and refuses what it should not be."""

    def __init__(self, value: object, file: str, path: str) -> None:
        self.value, self._file, self._path = value, file, path

    def refuse(self, what: str) -> NoReturn:
        at = f" at {self._path}" if self._path else ""
        raise InputError(f"{self._file} is not a proof{at}: {what}", RIGHT)

    def keys(self, *names: str, optional: Sequence[str] = ()) -> dict[str, _Reader]:
        """The values under these keys; all must be there, the optional ones may be."""
        if not isinstance(self.value, dict):
            self.refuse("a mapping belongs here")
        for name in names:
            if name not in self.value:
                self.refuse(f'"{name}" is missing')
        for key in self.value:
            if key not in names and key not in optional:
                self.refuse(f'"{key[:60]}" does not belong here')
        prefix = f"{self._path}." if self._path else ""
        return {key: _Reader(value, self._file, prefix + key) for key, value in self.value.items()}

    def each(self, read: Callable[[_Reader], T]) -> tuple[T, ...]:
        """The items of a list."""
        if not isinstance(self.value, list):
            self.refuse("a list belongs here")
        return tuple(
            read(_Reader(item, self._file, f"{self._path}[{index}]"))
            for index, item in enumerate(self.value)
        )

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse("text belongs here")
        return self.value

    def word(self, known: Sequence[str] = ()) -> str:
        """Text that is not empty, one of the known words where there are any."""
        text = self.text()
        if not text or (known and text not in known):
            right = ", ".join(f'"{each}"' for each in known) or "a name"
            self.refuse(f"{right} belongs here")
        return text

    def number(self) -> float:
        """A finite number of at least 0."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.refuse("a number belongs here")
        if not 0 <= self.value < 1e300:
            self.refuse("a number from 0 to 1e300 belongs here")
        return float(self.value)

    def index(self) -> int:
        """The number of a class."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            self.refuse("a whole number of at least 0 belongs here")
        return self.value

    def amount(self) -> Fraction:
        """A fraction above 0, as text."""
        text = self.text()
        if len(text) > MOST_DIGITS or not _FRACTION.fullmatch(text):
            self.refuse('a fraction such as "3/7" belongs here, as text')
        above, _, below = text.partition("/")
        if below and not int(below):
            self.refuse('a fraction such as "3/7" belongs here, as text')
        return Fraction(int(above), int(below or "1"))


def _classes(tree: _Reader) -> tuple[MachineClass, ...]:
    left = MOST_NAMES

    def read(each: _Reader) -> MachineClass:
        nonlocal left
        found = each.keys("class", "machines", "count")
        count = found["count"].index()
        names: list[str] = []
        for text in found["machines"].each(_Reader.text):
            try:
                more = expand(text)
            except InputError as error:
                found["machines"].refuse(error.mistakes[0].what)
            names += more
            left -= len(more)
            if left < 0:
                tree.refuse(f"more than {MOST_NAMES} machines")
        if len(names) != count:
            each.refuse(f"{len(names)} machines are named, and {count} counted")
        return MachineClass(found["class"].index(), tuple(names))

    return tree.each(read)


def _scale(tree: _Reader) -> Scale:
    found = tree.keys("job", "tasks", optional=("class",))
    return Scale(found["job"].text(), found["tasks"].amount(), _index(found))


def _index(found: dict[str, _Reader]) -> int | None:
    return found["class"].index() if "class" in found else None


def _tasks(tree: _Reader) -> tuple[tuple[str, float], ...]:
    def read(each: _Reader) -> tuple[str, float]:
        found = each.keys("job", "tasks")
        return found["job"].text(), found["tasks"].number()

    tasks = tree.each(read)
    seen: set[str] = set()
    for name, _ in tasks:
        if name in seen:
            tree.refuse(f'"{name[:60]}" is there twice')
        seen.add(name)
    return tasks


def _scarce(tree: _Reader) -> Scarce:
    found = tree.keys(optional=("class", "resource", "tenant", "job"))
    if set(found) not in SCARCE:
        tree.refuse(
            "a class with a resource, a tenant with a resource, a job, or a class with a job"
            " belongs here"
        )
    named = {key: found[key].text() for key in ("resource", "tenant", "job") if key in found}
    return Scarce(machine_class=_index(found), **named)


def _places(tree: _Reader) -> Places:
    found = tree.keys("jobs", "classes")
    return Places(found["jobs"].each(_Reader.text), found["classes"].each(_Reader.index))


def _round(tree: _Reader) -> Round:
    found = tree.keys("share", "frozen", "scarce", optional=("class", "even"))
    even = found["even"].each(_places) if "even" in found else ()
    jobs = [job for places in even for job in places.jobs]
    if len(set(jobs)) < len(jobs):
        found["even"].refuse("a job is there twice")
    return Round(
        share=found["share"].number(),
        frozen=found["frozen"].each(_Reader.text),
        scarce=found["scarce"].each(_scarce),
        even=even,
        machine_class=_index(found),
    )


def _pool(tree: _Reader) -> PoolProof:
    found = tree.keys("tenant", "share", "classes", "places", "scarce")
    return PoolProof(
        tenant=found["tenant"].text(),
        share=found["share"].number(),
        places=found["places"].each(_places),
        scarce=found["scarce"].each(_scarce),
        classes=_classes(found["classes"]),
    )
