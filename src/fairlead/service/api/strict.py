"""Bodies of requests as trees, or as texts that are safe to read: how deep, how wide, how large a
number may be is looked at before anything is made of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import yaml

from fairlead.model.errors import InputError, Mistake, Place
from fairlead.service.api.refusal import RefusalError
from fairlead.wire.errors import ErrorKind

DEEPEST = 50
"""Levels of lists and mappings within each other."""

MOST_VALUES = 500_000
"""Values in a body, told by the commas between them: a list of millions is read in one go, in which
nobody is answered."""

FILE = "body"
"""The name of a request's body, as the file of a place."""

LISTS = frozenset({"machines", "exclude", "pool"})
"""Fields that list names of machines, in ranges."""

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RUN = re.compile(r"\s*([0-9]{1,18})(?:-([0-9]{1,18}))?\s*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_OUTER_COMMA = re.compile(r",(?![^\[]*\])")

_TEXT_OR_COMMA = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|,', re.DOTALL)

# The compiled parser is ten times as fast. Some builds lack it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def text_of(body: bytes) -> str:
    """The body as text. Raises RefusalError where it is not in UTF-8."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RefusalError(
            ErrorKind.BAD_REQUEST,
            f"the body is not UTF-8: byte {error.start} is wrong",
            "send text in UTF-8",
        ) from error


def json_of(body: bytes, most: int = MOST_VALUES) -> Any:
    """The tree that the body writes in JSON. Raises RefusalError: beside what is no JSON, a key
    that is written twice, NaN, half a character, nesting too deep and more than so many values are
    refused."""
    text = text_of(body)
    if text.count(",") > most and _has_more_values(text, most):
        raise RefusalError(
            ErrorKind.TOO_LARGE, f"more than {most} values in one body", "send less at once"
        )
    try:
        tree = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        _check(tree, DEEPEST, bool(_SURROGATE.search(text)))
    except json.JSONDecodeError as error:
        place = Place(FILE, error.lineno, error.colno)
        raise _bad(f"this is not JSON: {error.msg[:1].lower()}{error.msg[1:]}", place) from error
    except RecursionError as error:
        raise _bad(f"more than {DEEPEST} levels of lists and objects") from error
    except ValueError as error:  # also a number of thousands of digits
        text = str(error)
        raise _bad("a number has too many digits" if "digits" in text else text) from error
    return tree


def _has_more_values(text: str, most: int) -> bool:
    """Whether a text in JSON has more values than that: commas in texts part none. Each key has a
    value, so that of twice as many texts half are values at least."""
    found = Counter(
        match[0] == "," for match in islice(_TEXT_OR_COMMA.finditer(text), 3 * most + 1)
    )
    return found[True] > most or found[False] > 2 * most


def check_yaml(
    text: str, most_nodes: int, most_names: int, pause: Callable[[], None] = lambda: None
) -> None:
    """Raises RefusalError where a text in YAML would mean more than these many nodes, each alias
    counted as what it stands for, or names of machines, or nests too deep. What is not YAML at all
    is left to the reader, who says where. `pause` is called between two nodes."""
    try:
        _YamlCounter(most_nodes, most_names).look(text, pause)
    except (yaml.YAMLError, ValueError):
        return


def count_names(tree: object) -> int:
    """At most so many names of machines are meant by the ranges of a tree's lists of them."""
    if isinstance(tree, dict):
        return sum(
            count_in_list(value) if key in LISTS else count_names(value)
            for key, value in tree.items()
        )
    if isinstance(tree, list):
        return sum(count_names(each) for each in tree)
    return 0


def count_in_list(value: object) -> int:
    """The same, of one list or text."""
    if isinstance(value, str):
        return count_in_text(value)
    if isinstance(value, list):
        return sum(count_in_text(each) for each in value if isinstance(each, str))
    return 0


def count_in_text(text: str) -> int:
    """Counts the names that a text with ranges means at most; what is no range counts as one."""
    if "[" not in text:
        return text.count(",") + 1
    total = 0
    for piece in _OUTER_COMMA.split(text):
        names = 1
        for numbers in _BRACKETS.findall(piece):
            names *= max(1, sum(map(_run, numbers.split(","))))
        total += names
    return total


def _run(text: str) -> int:
    match = _RUN.fullmatch(text)
    if not match:
        return 1
    low = int(match[1])
    return max(1, int(match[2] or low) - low + 1)


def refuse_names(most: int) -> InputError:
    return InputError(
        f"the lists of machines mean more than {most} names together",
        "choose machines by labels, with where",
    )


def _bad(what: str, place: Place | None = None) -> RefusalError:
    mistake = Mistake(what, "send one JSON text", place)
    return RefusalError(ErrorKind.BAD_REQUEST, what, mistakes=(mistake,))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key[:60]!r} is written twice")
            seen.add(key)
    return tree


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _check(tree: Any, levels: int, surrogates: bool) -> None:
    """Raises ValueError where a tree nests deeper, or holds half a character."""
    if isinstance(tree, str):
        if surrogates and not _whole(tree):
            raise ValueError("an escape in a text stands for half a character")
    elif isinstance(tree, (dict, list)):
        if levels == 0:
            raise ValueError(f"more than {DEEPEST} levels of lists and objects")
        if isinstance(tree, dict):
            for key, value in tree.items():
                _check(key, levels - 1, surrogates)
                if isinstance(value, (dict, list)) or surrogates:
                    _check(value, levels - 1, surrogates)
        else:
            for value in tree:
                if isinstance(value, (dict, list)) or surrogates:
                    _check(value, levels - 1, surrogates)


def _whole(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(slots=True)
class _Level:
    """A list or mapping that is being read."""

    mapping: bool
    listed: bool  # its texts may be names of machines
    anchor: str | None
    nodes: int = 1
    key: str | None = None
    at_value: bool = False


class _YamlCounter:
    """Counts over the events of a text, without building anything."""

    def __init__(self, most_nodes: int, most_names: int) -> None:
        self.most_nodes, self.most_names = most_nodes, most_names
        self.nodes = self.names = 0
        self.levels: list[_Level] = []
        self.anchors: dict[str, int] = {}

    def look(self, text: str, pause: Callable[[], None]) -> None:
        for event in yaml.parse(text, Loader=_Loader):
            pause()
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                level = self.levels.pop()
                self._add(level.nodes, level.anchor)
            elif isinstance(event, yaml.AliasEvent):
                self._add(self.anchors.get(event.anchor or "", 1), None)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.levels) >= DEEPEST:
            mark = event.start_mark
            place = Place(FILE, mark.line + 1, mark.column + 1) if mark else None
            what = f"more than {DEEPEST} levels of lists and mappings within each other"
            raise RefusalError(ErrorKind.BAD_REQUEST, what, mistakes=(Mistake(what, "", place),))
        listed = event.anchor is not None or self._is_listed()
        mapping = isinstance(event, yaml.MappingStartEvent)
        self.levels.append(_Level(mapping, listed, event.anchor))

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        above = self.levels[-1] if self.levels else None
        is_key = above is not None and above.mapping and not above.at_value
        if event.anchor is not None or (not is_key and self._is_listed()):
            self.names += count_in_text(event.value)
            if self.names > self.most_names:
                raise refuse_names(self.most_names)
        if above is not None and is_key:
            above.key = event.value
        self._add(1, event.anchor)

    def _is_listed(self) -> bool:
        """Whether what comes now may be a list of names, or one of it."""
        if not self.levels:
            return False
        above = self.levels[-1]
        return above.listed or (above.mapping and above.at_value and above.key in LISTS)

    def _add(self, nodes: int, anchor: str | None) -> None:
        """A node with so many in it is whole."""
        self.nodes = max(self.nodes, nodes)
        if anchor is not None:
            self.anchors[anchor] = nodes
        if self.levels:
            above = self.levels[-1]
            above.nodes += nodes
            nodes = above.nodes
            if above.mapping:
                above.at_value = not above.at_value
        if nodes > self.most_nodes:
            raise RefusalError(
                ErrorKind.TOO_LARGE,
                f"with its aliases written out this is more than {self.most_nodes} nodes",
                "submit fewer jobs at once, and use fewer aliases",
            )
