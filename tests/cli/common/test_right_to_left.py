"""Names from right to left stand for themselves on a terminal, and are untouched elsewhere."""

from __future__ import annotations

import io
import json

import pytest

from fairlead.cli.common.inputs import complain, say
from fairlead.cli.common.right_to_left import apart

TEAM = "\u05e6\u05d5\u05d5\u05ea"
OTHER = "\u0641\u0631\u064a\u0642"
IN, OUT = "\u2068", "\u2069"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"{TEAM} (number 2)", f"{IN}{TEAM}{OUT} (number 2)"),
        (f"2 of {TEAM}: 3", f"2 of {IN}{TEAM}{OUT}: 3"),
        (f"{TEAM}, {OTHER} are short.", f"{IN}{TEAM}{OUT}, {IN}{OTHER}{OUT} are short."),
        (f"runs of {TEAM}-3.", f"runs of {IN}{TEAM}-3{OUT}."),
        (f"a-{TEAM}/{OTHER} 1", f"{IN}a-{TEAM}/{OTHER}{OUT} 1"),
        (f"{TEAM} {OTHER} 7", f"{IN}{TEAM} {OTHER}{OUT} 7"),  # one name of two words
        (f"{TEAM}  {OTHER}  7", f"{IN}{TEAM}{OUT}  {IN}{OTHER}{OUT}  7"),  # two cells of a table
        (f"\x1b[2m{TEAM}\x1b[0m 3", f"\x1b[2m{IN}{TEAM}{OUT}\x1b[0m 3"),
        ("caf\u00e9 \u4f5c\u4e1a 2", "caf\u00e9 \u4f5c\u4e1a 2"),
    ],
)
def test_a_name_is_set_apart_on_a_terminal_alone(line: str, shown: str) -> None:
    assert apart(line, Terminal()) == shown
    assert apart(line, io.StringIO()) == line


def test_what_is_for_programs_is_never_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, errors = Terminal(), Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    monkeypatch.setattr("sys.stderr", errors)
    text = json.dumps({"job": TEAM}, ensure_ascii=False)
    say([text], exact=True)
    assert terminal.getvalue() == f"{text}\n"
    say([f"{TEAM}: submitted"])
    assert terminal.getvalue().endswith(f"{IN}{TEAM}{OUT}: submitted\n")
    complain(f"{TEAM} 1")
    assert errors.getvalue() == f"{IN}{TEAM}{OUT} 1\n"
