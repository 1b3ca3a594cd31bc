"""The syntax of selectors: text to requirements, with a caret under what is wrong.

selector    = [ requirement { "," requirement } ]
requirement = key | "!" key
            | key ( "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" ) value
            | key ( "in" | "notin" ) "(" value { "," value } ")"
key, value  = bare | quoted
bare        = one or more characters other than spaces and , ( ) ! = < > " ' \\, of which no two
              that follow each other are && or ||
quoted      = '"' ... '"' | "'" ... "'", with a backslash before a quote or a backslash
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from fairlead.model.constraint import ORDERINGS, Operator, Requirement, Selector, quoted
from fairlead.model.errors import InputError, Mistake, caret
from fairlead.model.values import is_shown
from fairlead.model.version import version

LONGEST_SELECTOR = 100_000

_TOKEN = re.compile(
    r"""(?P<space>\s+)
    | (?P<operator>==|!=|<=|>=|=|<|>)
    | (?P<mark>[,()!])
    | (?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<bare>[^\s,()!=<>"'\\]+)
    """,
    re.VERBOSE | re.DOTALL,
)

_JOINS = "a comma means and; for or, use `in (..)` or two jobs"

_SHELLS = re.compile(r"&&|\|\|")
"""What a shell's users write for "and" and "or"."""

_OPERATORS = {
    "=": Operator.EQUAL,
    "==": Operator.EQUAL,
    "!=": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.AT_MOST,
    ">": Operator.GREATER,
    ">=": Operator.AT_LEAST,
}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int
    length: int


@lru_cache(maxsize=4096)
def parse_selector(text: str) -> Selector:
    """The selector that the text means; an empty text means the empty one. Raises InputError."""
    if len(text) > LONGEST_SELECTOR:
        raise InputError(
            f"a constraint of {len(text)} characters",
            f"use at most {LONGEST_SELECTOR}; lists of machines go to `machines:`",
        )
    return _Parser(text).selector()


@lru_cache(maxsize=4096)
def kept_selector(text: str) -> Selector:
    """As `parse_selector`, for what was taken in before: && and || were parts of values once.
    Raises InputError."""
    return _Parser(text, kept=True).selector()


class _Parser:
    def __init__(self, text: str, *, kept: bool = False) -> None:
        self.text = text
        self.kept = kept
        self.tokens = list(self._scan())
        self.index = 0

    def _scan(self) -> list[_Token]:
        tokens = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if not match:
                if self.text[at] in "\"'":
                    self._fail("a quote is not closed", f"write {self.text[at]} at its end", at)
                self._fail("a backslash outside quotes", "put the value in quotes", at)
            kind, text = str(match.lastgroup), match.group()
            if kind == "quoted":
                text = re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)
            if kind != "space":
                if not is_shown(text):
                    self._fail("a character that is not shown", "take it out", at, match.end() - at)
                sign = _SHELLS.search(text) if kind == "bare" and not self.kept else None
                if sign is not None:
                    right = f"{_JOINS}; a value that has {sign[0]} goes in quotes"
                    what = f"{sign[0]} is no part of a constraint"
                    self._fail(what, right, at + sign.start(), len(sign[0]))
                tokens.append(_Token(kind, text, at, match.end() - at))
            at = match.end()
        tokens.append(_Token("end", "", len(self.text), 1))
        return tokens

    def _fail(self, what: str, right: str, at: int, length: int = 1) -> NoReturn:
        raise InputError(
            Mistake(
                f"the constraint does not parse: {what}",
                right,
                context=caret(self.text, at, length),
            )
        )

    def _fail_at(self, token: _Token, what: str, right: str) -> NoReturn:
        self._fail(what, right, token.at, token.length)

    @property
    def _next(self) -> _Token:
        return self.tokens[self.index]

    def _take(self) -> _Token:
        token = self.tokens[self.index]
        self.index += 1
        return token

    def selector(self) -> Selector:
        if self._next.kind == "end":
            return Selector()
        requirements = [self._requirement()]
        while self._next.text == "," and self._next.kind == "mark":
            self._take()
            requirements.append(self._requirement())
        token = self._next
        if token.kind != "end":
            if token.kind == "bare" and token.text.lower() in ("and", "or", "&", "|"):
                right = _JOINS
            else:
                right = "put a comma between requirements, and quotes around a value with spaces"
            self._fail_at(token, f"{self._name(token)} comes where a requirement has ended", right)
        return Selector(requirements)

    def _requirement(self) -> Requirement:
        if self._next.text == "!" and self._next.kind == "mark":
            self._take()
            key = self._word("the key of a label", "write a key after the !, as in !gpu-model")
            return Requirement(key.text, Operator.NOT_EXISTS)
        key = self._word("the key of a label", 'write for example "zone = east, kernel >= 5.10"')
        if not key.text:
            self._fail_at(key, "a label's key cannot be empty", "write a key")
        token = self._next
        if token.kind == "operator":
            self._take()
            operator = _OPERATORS[token.text]
            value = self._word(
                f"a value after {token.text}", 'write one; "" is the empty text', token
            )
            if operator in ORDERINGS and version(value.text) is None:
                self._fail_at(
                    value,
                    f"{quoted(value.text)} is neither a whole number nor a version",
                    "write a number such as 80 or a version such as 5.10",
                )
            return Requirement(key.text, operator, (value.text,))
        if token.kind == "bare" and token.text in ("in", "notin"):
            self._take()
            operator = Operator.IN if token.text == "in" else Operator.NOT_IN
            return Requirement(key.text, operator, self._values(token.text))
        if token.kind == "bare" and token.text.lower() in ("not", "in", "notin", "is"):
            self._fail_at(
                token, f"{self._name(token)} is not an operator", "write in, notin, = or !="
            )
        return Requirement(key.text, Operator.EXISTS)

    def _values(self, operator: str) -> tuple[str, ...]:
        example = f"write the values in brackets: {operator} (a100, h100)"
        opening = self._next
        if opening.kind != "mark" or opening.text != "(":
            self._fail_at(opening, f"an opening bracket is missing after {operator}", example)
        self._take()
        values = [self._word("a value", example).text]
        while self._next.kind == "mark" and self._next.text == ",":
            self._take()
            values.append(self._word("a value", example).text)
        if self._next.kind != "mark" or self._next.text != ")":
            if self._next.kind == "end":
                self._fail_at(opening, "a bracket is not closed", 'write a ")"')
            self._fail_at(
                self._next,
                f"{self._name(self._next)} comes where a comma or a closing bracket should",
                example,
            )
        self._take()
        return tuple(values)

    def _word(self, wanted: str, right: str, after: _Token | None = None) -> _Token:
        token = self._next
        if token.kind not in ("bare", "quoted"):
            if after and token.kind == "operator" and token.at == after.at + after.length:
                self._fail(
                    f"{after.text}{token.text} is not an operator",
                    "operators are = == != < <= > >= in notin",
                    after.at,
                    after.length + token.length,
                )
            self._fail_at(token, f"{wanted} is missing", right)
        return self._take()

    @staticmethod
    def _name(token: _Token) -> str:
        return quoted(token.text) if token.kind in ("bare", "quoted") else f'"{token.text}"'
