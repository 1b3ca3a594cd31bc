"""YAML and JSON as a tree of nodes, each with its place, every scalar kept as it was written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from fairlead.model.errors import About, InputError, Mistake, Mistakes, Place
from fairlead.model.hints import MANY, Known
from fairlead.model.misplaced_keys import example, example_of_keys, meant
from fairlead.model.names import expand

DEEPEST = 50
"""Levels of nesting. What people write has six; each level costs a stack frame of the reader."""

MOST_NODES = 10_000_000
"""Nodes read, each alias counted as what it stands for: a small file could mean billions."""

PLAIN, TEXT = "plain", "text"
"""Tags for scalars: written without quotes, and with quotes (or said to be text by a tag)."""

_TAGS = {
    "tag:yaml.org,2002:str": TEXT,
    "tag:yaml.org,2002:int": PLAIN,
    "tag:yaml.org,2002:float": PLAIN,
    "tag:yaml.org,2002:bool": PLAIN,
    "tag:yaml.org,2002:null": PLAIN,
}
_SEQUENCE, _MAPPING = "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_FORBIDDEN = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATES = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_OPENED = re.compile("flow (sequence|mapping|node)|quoted scalar")
_RANGE = re.compile(r"[\w.-]\[[0-9]")

# The compiled loader reads 1,500 machines in 0.1 s instead of 0.5 s. Some builds lack it.
if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class TooDeepError(Exception):
    """Nesting beyond what any input needs."""


class _Loader(_Base):
    """Composes nodes without guessing what type a scalar is."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.depth = 0

    def resolve(self, kind: type[Node], _value: str, implicit: Any) -> str:
        if kind is ScalarNode:
            return PLAIN if implicit[0] else TEXT
        return _SEQUENCE if kind is SequenceNode else _MAPPING

    def descend_resolver(self, _node: Node | None, _index: object) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise TooDeepError

    def ascend_resolver(self) -> None:
        self.depth -= 1


def documents(file: str, text: str, mistakes: Mistakes) -> list[Node]:
    """The documents of a text; what cannot be parsed is a mistake with its place."""
    text = text.removeprefix("\ufeff")
    bad = _FORBIDDEN.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        column = bad.start() - text.rfind("\n", 0, bad.start())
        mistakes.append(
            Mistake(
                f"the character {bad.group()!a} cannot stand in YAML or JSON",
                "take it out, or write it as an escape in double quotes",
                Place(file, line, column),
            )
        )
        return []
    if text.lstrip()[:1] in ("{", "["):
        text = _SURROGATES.sub(_join_surrogates, text)
    found: list[Node] = []
    try:
        loader = _Loader(text)
        try:
            while loader.check_node():
                node = loader.get_node()
                if node is not None:
                    found.append(node)
        except TooDeepError:
            at = _deepest(text)
            mistakes.append(
                Mistake(
                    f"more than {DEEPEST} levels of lists and mappings within each other",
                    "write machines, tenants and jobs as lists of mappings",
                    Place(file, *at),
                )
            )
            return []
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mistakes.append(_syntax(file, text, error))
        return []
    return found


def _join_surrogates(match: re.Match[str]) -> str:
    # JSON writes a character beyond 16 bits as two escapes, which YAML refuses.
    high, low = int(match[2], 16), int(match[3], 16)
    return f"{match[1]}\\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08x}"


def _deepest(text: str) -> tuple[int, int]:
    """The line and the column where the nesting becomes too deep."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                mark = event.start_mark
                return (mark.line + 1, mark.column + 1) if mark else (1, 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return 1, 1


def _syntax(file: str, text: str, error: yaml.MarkedYAMLError) -> Mistake:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.splitlines()
    written = lines[line] if line < len(lines) else ""
    before = lines[line - 1] if 0 < line <= len(lines) else ""
    problem = " ".join(part for part in (error.problem, error.context) if part)
    form = "JSON" if file.endswith(".json") else "YAML"
    if not "".join([written[column:], *lines[line + 1 :]]).strip() and _OPENED.search(problem):
        return Mistake(
            f"this is not {form}: it ends before all that it opens is closed",
            "close its brackets and quotes, or give the whole file if it was cut",
            Place(file, line + 1, column + 1),
        )
    right = "see the line, and the one before it, for a missing quote, bracket, colon or space"
    if "undefined alias" in problem:
        right = "an alias (*name) needs an anchor (&name) before it; put text with a * in quotes"
    elif "incompatible YAML document" in problem:
        right = "leave out the line that begins with %YAML"
    elif "block scalar" in problem:
        right = "put text that begins with > or | in quotes"
    elif "\t" in written[: column + 1]:
        right = "tabs cannot indent YAML: write spaces"
    elif _RANGE.search(written) or _RANGE.search(before):
        right = 'put a range of names in quotes: "a[01-25]"'
    elif written[column : column + 1] in ("@", "`", "%", "*", "&", ">", "|", "!"):
        right = "put text that begins with such a sign in quotes"
    elif "mapping values are not allowed" in problem:
        right = "put text that holds a colon and a space in quotes, and check the indentation"
    return Mistake(
        f"this is not {form}: {problem}",
        right,
        Place(file, line + 1, column + 1),
    )


class Source:
    """One text: where its nodes are, and what they say. Mistakes go to a common list."""

    def __init__(self, file: str, mistakes: Mistakes) -> None:
        self.file = file
        self.mistakes = mistakes
        self.nodes = 0
        self._merging: set[int] = set()
        self._merged: dict[int, dict[str, Node]] = {}

    def place(self, node: Node) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def wrong(self, node: Node, about: About, what: str, right: str = "") -> None:
        self.mistakes.append(Mistake(what, right, self.place(node), about=about))

    def _count(self, node: Node, nodes: int) -> None:
        self.nodes += nodes + 1
        if self.nodes > MOST_NODES:
            raise InputError(
                Mistake(
                    f"with its aliases written out this is more than {MOST_NODES} nodes",
                    "use fewer aliases",
                    self.place(node),
                )
            )

    def mapping(
        self, node: Node, about: About, allowed: Sequence[str] | None = None
    ) -> dict[str, Node] | None:
        """The values by their keys, `<<` merged in; None with a mistake if it is no mapping."""
        if not isinstance(node, MappingNode) or node.tag != _MAPPING:
            what = f"{_misfit(node)} stands where keys with values should"
            self.wrong(node, about, what, example_of_keys(about, allowed))
            return None
        self._count(node, len(node.value))
        values: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self.wrong(key, about, f"{node_in_words(key)} is no key", "a key is text")
            elif key.value == "<<" and key.tag == PLAIN:
                for name, inner in self._merge(value, about).items():
                    merged.setdefault(name, inner)
            elif key.value in values:
                first = self.place(values[key.value])
                self.wrong(
                    key,
                    about,
                    f'the key "{key.value}" is written twice',
                    f"write it once: the first has its value at line {first.line}",
                )
            elif self._text_tag(key, about) is not None:
                if allowed is not None and key.value not in allowed:
                    self._unknown(key, about, allowed)
                else:
                    values[key.value] = value
        for name, value in merged.items():
            if allowed is None or name in allowed:
                values.setdefault(name, value)
        return values

    def _unknown(self, key: ScalarNode, about: About, allowed: Sequence[str]) -> None:
        otherwise = meant(key.value, allowed) or f"keys here are {', '.join(allowed)}"
        self.wrong(
            key, about, f'unknown key "{key.value[:60]}"', Known(allowed).hint(key.value, otherwise)
        )

    def _merge(self, node: Node, about: About) -> dict[str, Node]:
        """The values of what `<<` names, the first of several going before."""
        parts = node.value if isinstance(node, SequenceNode) else [node]
        values: dict[str, Node] = {}
        for part in parts:
            known = self._merged.get(id(part))
            if known is None:
                if id(part) in self._merging or len(self._merging) == DEEPEST:
                    what = f"a mapping is merged into itself, or over more than {DEEPEST} steps"
                    self.wrong(part, about, what, "write its keys out")
                    continue
                self._merging.add(id(part))
                known = self._merged[id(part)] = self.mapping(part, about) or {}
                self._merging.discard(id(part))
            self._count(part, len(known))
            for name, value in known.items():
                values.setdefault(name, value)
        return values

    def sequence(self, node: Node, about: About) -> list[Node] | None:
        """The items; None with a mistake if it is no list."""
        if not isinstance(node, SequenceNode) or node.tag != _SEQUENCE:
            what = f"{_misfit(node)} stands where a list should"
            self.wrong(node, about, what, example(about) or "write a list, as in [a, b]")
            return None
        self._count(node, len(node.value))
        items: list[Node] = node.value
        return items

    def text(self, node: Node, about: About) -> str | None:
        """The text of a scalar as written; None with a mistake if it is something else."""
        if not isinstance(node, ScalarNode):
            what = f"{_misfit(node)} stands where a text or number should"
            self.wrong(node, about, what, example(about) or "write one value, without brackets")
            return None
        tag = self._text_tag(node, about)
        if tag is None:
            return None
        if is_null(node):
            right = "write one, or leave the key out"
            key = str(about[-1]) if about else ""
            if ":" in key:  # {cpu:4} is one key without a value
                right = f"write a space after the colon: {key.replace(':', ': ', 1)}"
            self.wrong(node, about, "there is no value", right)
            return None
        value: str = node.value
        return value

    def _text_tag(self, node: ScalarNode, about: About) -> str | None:
        """Whether a scalar was written in quotes; None with a mistake for a strange tag."""
        tag = node.tag
        if tag in (PLAIN, TEXT):
            return str(tag)
        if tag in _TAGS:
            return _TAGS[tag]
        self.wrong(
            node,
            about,
            f"{tag!r} is a tag in YAML, and tags mean nothing here",
            "put text that begins with ! in quotes",
        )
        return None

    def peek(self, node: Node, key: str) -> str:
        """The text of a key of a mapping, empty if there is none; mistakes are not looked for."""
        found = _lookup(node, key)
        return found.value if isinstance(found, ScalarNode) and not is_null(found) else ""

    def find(self, node: Node, path: Sequence[str | int]) -> Place:
        """The place of what the path leads to, or of the last step that is there."""
        for step in path:
            if isinstance(node, MappingNode):
                found = _lookup(node, str(step))
                if found is None:
                    break
                node = found
            elif isinstance(node, SequenceNode):
                node = _item(node, step)
        return self.place(node)


def _lookup(node: Node, name: str) -> Node | None:
    """The value of a key, be it merged in."""
    waiting, seen = [node], {id(node)}
    while waiting:
        mapping = waiting.pop()
        merges: list[Node] = []
        for key, value in mapping.value if isinstance(mapping, MappingNode) else ():
            if isinstance(key, ScalarNode) and key.value == name:
                found: Node = value
                return found
            if isinstance(key, ScalarNode) and key.value == "<<":
                merges += value.value if isinstance(value, SequenceNode) else [value]
        waiting += [part for part in reversed(merges) if id(part) not in seen]
        seen.update(map(id, merges))
    return None


def _item(node: SequenceNode, step: str | int) -> Node:
    """The item with this index, or the one that means this name among others."""
    if isinstance(step, int):
        item: Node = node.value[step] if step < len(node.value) else node
        return item
    for item in node.value:
        if isinstance(item, ScalarNode):
            try:
                if step == item.value or step in expand(item.value):
                    return item
            except InputError:  # it is no range, so it is not the one
                continue
    return node


def _misfit(node: Node) -> str:
    """What stands where something else should, in words."""
    if not _holds_itself(node):
        return node_in_words(node)
    return f"{node_in_words(node)} that an alias (*name) puts into itself"


def _holds_itself(node: Node) -> bool:
    """Whether the node is among the nearest that it holds."""
    waiting: list[Node] = [node]
    seen: set[int] = set()
    while waiting and len(seen) < MANY:
        one = waiting.pop()
        below = one.value if isinstance(one, SequenceNode | MappingNode) else []
        for each in below:
            for part in each if isinstance(each, tuple) else (each,):
                if part is node:
                    return True
                if id(part) not in seen:
                    seen.add(id(part))
                    waiting.append(part)
    return False


def is_null(node: Node) -> bool:
    """Was nothing written, or null?"""
    return (
        isinstance(node, ScalarNode)
        and node.value in _NULL
        and (node.tag == PLAIN or _TAGS.get(node.tag) == PLAIN)
    )


def is_plain(node: Node) -> bool:
    """Was the scalar written without quotes?"""
    return node.tag == PLAIN or _TAGS.get(node.tag) == PLAIN


def node_in_words(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return f'"{node.value[:60]}"' if not is_null(node) else "nothing"
    if node.tag not in (_SEQUENCE, _MAPPING):
        return f"something with the tag {node.tag!r}"
    return "a list" if isinstance(node, SequenceNode) else "a mapping"
