"""The parser of the commands' words, whose mistakes are sentences about what was typed."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NoReturn

from fairlead.cli.common.inputs import close_match, close_option, say
from fairlead.model.errors import InputError
from fairlead.model.words import listing

KINDS = {"int": "a whole number"}
"""The form that a value must have, by the name of the function that reads it."""

PATHS = {"DIR": "a folder, or `.` for this one", "FILE": "a file", "PLACE": "a folder or a file"}
"""Values that are paths, by how the help calls them, and what they may be."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are sentences with a hint where something is close.
    `runs_command`: the words after `--` are a command; `has_dashes`: there is a `--`. `elsewhere`:
    options and words of other programs, and what is written here instead."""

    runs_command = False
    has_dashes = False
    elsewhere: Mapping[str, str] = {}
    _words: Sequence[str] = ()

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]  # overloaded in the library
        """As in the library; keeps the words, for what it says of a mistake."""
        self._words = sys.argv[1:] if args is None else args
        self._refuse_twice()
        found = super().parse_known_args(args, namespace)
        self._refuse_nameless(found[0])
        return found

    def print_help(self, file: object = None) -> None:
        """As all that is printed: what cannot be written is an error, which the library hides."""
        del file
        say(self.format_help().splitlines())

    def _refuse_twice(self) -> None:
        """The library takes the last value of an option that is given twice, and says nothing."""
        seen = set()
        for word in takewhile("--".__ne__, self._words):
            action = self._option_string_actions.get(word.partition("=")[0])
            if not isinstance(action, argparse._StoreAction):  # noqa: SLF001  (there is no public name)
                continue
            if action.dest in seen:
                name = action.option_strings[-1]
                raise InputError(f"{self.prog}: {name} is given twice", "give it once")
            seen.add(action.dest)

    def _refuse_nameless(self, found: argparse.Namespace) -> None:
        """An empty path, which a variable that is not set makes, would be this folder."""
        for action in self._actions:
            value = getattr(found, action.dest, None)
            given = value if isinstance(value, list) else [value]
            said = bool(action.option_strings) or action.metavar != "FILE"  # else who reads it says
            if said and action.metavar in PATHS and "" in given and action.default != "":
                name = action.option_strings[-1] if action.option_strings else str(action.metavar)
                raise InputError(f"{self.prog}: {name} is empty", f"name {PATHS[action.metavar]}")

    def error(self, message: str) -> NoReturn:
        """Raises InputError: nothing is printed from here."""
        sentence, hint = self._explain(message)
        raise InputError(
            f"{self.prog}{sentence}", hint or f"`{self.prog} --help` shows what it takes"
        )

    def _explain(self, message: str) -> tuple[str, str]:
        """The library's own words, as a sentence and a hint, which may be empty."""
        if unknown := re.fullmatch(r"unrecognized arguments: (.*)", message, re.DOTALL):
            first = unknown[1].split()[0]
            if self.runs_command and not self.has_dashes:
                hint = "if it is an option of the command, put -- before the command"
            else:
                hint = ""
            if not first.startswith("-"):
                return f" has no use for the word {first!r}", self.elsewhere.get(first) or hint
            name = first.partition("=")[0]
            known = self.elsewhere.get(name) or close_option(name, _options(self))
            return f" does not know {first!r}", known or hint
        if missing := re.fullmatch(r"the following arguments are required: (.*)", message):
            strange = [word for word in takewhile("--".__ne__, self._words) if self._unknown(word)]
            if strange:  # what was mistyped comes before what is missing
                return self._explain(f"unrecognized arguments: {strange[0]}")
            empty = {action.metavar for action in self._actions if action.nargs == "*"}
            names = [name for name in missing[1].split(", ") if name not in empty]
            return f" needs {listing([_name_missing(name) for name in names])}", ""
        if not (about := re.fullmatch(r"argument ([^:]+): (.*)", message, re.DOTALL)):
            return f": {message}", ""
        return self._about(about[1].split("/")[-1], about[2])

    def _unknown(self, word: str) -> bool:
        return word.startswith("--") and word.partition("=")[0] not in self._option_string_actions

    def _with_dash(self, name: str) -> str:
        """How a value is written that begins as options do, where one follows that is none."""
        after = self._words[self._words.index(name) + 1 :] if name in self._words else []
        if not after or not re.match(r"-[^-]", after[0]) or self._is_option(after[0]):
            return ""
        return f"a value that begins with - is joined to it: {name}={after[0]}"

    def _is_option(self, word: str) -> bool:
        return word[:2] in self._option_string_actions

    def _about(self, name: str, what: str) -> tuple[str, str]:
        """As `_said`, of what is wrong with one argument."""
        if re.match(r"expected (one|at least one|\d+) arguments?", what):
            return f": {name} needs a value", self._with_dash(name)
        if wrong := re.fullmatch(r"invalid (\w+) value: (.*)", what, re.DOTALL):
            needed = KINDS.get(wrong[1], f"a {wrong[1]}")
            return f": {name} cannot be {_bare(wrong[2])!r}", f"give {needed}"
        if wrong := re.match(r"invalid choice: (.*?) \(choose from (.*)\)", what, re.DOTALL):
            hinted = name.split("|")  # it may name fewer than there are
            known = hinted if hinted[1:] else [_bare(word) for word in wrong[2].split(", ")]
            word = _bare(wrong[1])
            said = f": {name} cannot be {word!r}" if name.startswith("-") else f" has no {word!r}"
            return said, close_match(word, known) or f"give {listing(known, last='or')}"
        if other := re.fullmatch(r"not allowed with argument (.*)", what):
            return f": {other[1].split('/')[-1]} and {name} exclude each other", "leave one out"
        return f": {name}: {what}", ""


def _bare(word: str) -> str:
    return word[1:-1] if word[:1] in ("'", '"') and word[:1] == word[-1:] else word


def _name_missing(name: str) -> str:
    """The name of what is missing; of words of which one is chosen, all."""
    return listing(name.rsplit("/", 1)[-1].split("|"), last="or")


def _options(parser: argparse.ArgumentParser) -> dict[str, Sequence[str]]:
    """Every option of a parser and of its actions, with the values that it can be given."""
    found: dict[str, Sequence[str]] = {}
    for action in parser._actions:  # noqa: SLF001  (there is no public list)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for below in action.choices.values():
                found |= _options(below)
        elif action.option_strings and action.help != argparse.SUPPRESS:
            found[action.option_strings[-1]] = tuple(map(str, action.choices or ()))
    return found
