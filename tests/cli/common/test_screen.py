"""Tables and bars: what a terminal gets, and what a pipe gets."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.cli.common.remote import at, time_of_day
from fairlead.cli.common.screen import Screen, columns, fold, screen_of, table, wrap
from fairlead.model.words import escaped
from tests.transcripts import EXAMPLES
from tests.zygote.forked import Forked

TERMINAL = Screen(width=40, colour=False, blocks=True)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


def test_a_pipe_gets_neither_colour_nor_a_width() -> None:
    assert screen_of(io.StringIO()) == Screen(width=None, colour=False, blocks=False)


@pytest.mark.parametrize(
    ("variables", "screen"),
    [
        ({"COLUMNS": "72"}, Screen(72, colour=True, blocks=True)),
        ({"COLUMNS": "5"}, Screen(40, colour=True, blocks=True)),
        ({"COLUMNS": "wide"}, Screen(80, colour=True, blocks=True)),
        ({"NO_COLOR": "1"}, Screen(80, colour=False, blocks=True)),
        ({"NO_COLOR": ""}, Screen(80, colour=True, blocks=True)),
        ({"TERM": "dumb"}, Screen(80, colour=False, blocks=True)),
    ],
)
def test_a_terminal_is_what_the_environment_says(
    variables: dict[str, str], screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLUMNS", "NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert screen_of(Terminal()) == screen


@pytest.mark.parametrize(
    ("value", "bar"),
    [(0, ""), (1e-9, "▏"), (1, "█"), (2, "██"), (0.5, "▌"), (1.25, "█▎"), (8, "████")],
)
def test_a_bar_is_as_long_as_its_value(value: float, bar: str) -> None:
    assert TERMINAL.bar(value, 4, 4) == bar


def test_columns_are_aligned_by_what_is_seen() -> None:
    lines = table(["name", "x"], [["日本", "1"], ["é", "22"]], "<>", Screen())
    assert [columns(line) for line in lines] == [8, 8, 8]
    assert lines[1] == "日本   1"


def test_a_narrow_terminal_folds_the_last_column_and_loses_nothing() -> None:
    text = "gpu on a[01-10]; cpu on b[1-5]; memory on c[1-3]"
    lines = table(["job", "why"], [["train", text]], "<<", TERMINAL)
    assert all(columns(line) <= 40 for line in lines)
    assert " ".join(line[7:].strip() for line in lines[1:]) == text
    assert len(table(["job", "why"], [["train", text]], "<<", Screen())) == 2


def test_columns_that_do_not_fit_stand_close_together() -> None:
    row = ["a" * 15, "b" * 15, "1"]
    assert table(["x", "y", "z"], [row], "<<>", Screen(width=35))[1] == "  ".join(row)
    assert table(["x", "y", "z"], [row], "<<>", Screen(width=34))[1] == " ".join(row)
    assert table(["x", "y", "z"], [row], "<<>", Screen())[1] == "  ".join(row)


def test_text_is_folded_at_spaces_and_long_words_stay_whole() -> None:
    assert fold("aa bb cccccc d", 5) == ["aa bb", "cccccc", "d"]
    assert wrap("one two", Screen(40), "  ") == ["  one two"]


def test_what_would_move_the_cursor_is_made_visible() -> None:
    assert escaped("a\x1b[2Jb\nc") == "a\\x1b[2Jb\\nc"
    assert escaped("naïve 日本") == "naïve 日本"


def in_a_terminal(*words: str, **variables: str) -> str:
    """What a command shows on a terminal."""
    leader, follower = pty.openpty()
    process = Forked(
        ["fairlead", *words],
        stdout=follower,
        env={**os.environ, "TERM": "xterm", "PYTHONUTF8": "1", **variables},
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        seen += part
    os.close(leader)
    assert process.wait(timeout=60) == 0
    return seen.decode("utf-8").replace("\r\n", "\n")


def test_shares_have_bars_on_a_terminal_only() -> None:
    file = str(EXAMPLES / "pools")
    seen = in_a_terminal("allocate", file, COLUMNS="100", NO_COLOR="")
    assert "████████████████" in seen
    assert "\x1b[36m" in seen
    plain = in_a_terminal("allocate", file, COLUMNS="100", NO_COLOR="1")
    assert "████████████████" in plain
    assert "\x1b" not in plain
    piped = subprocess.run(
        [sys.executable, "-m", "fairlead", "allocate", file], capture_output=True, check=True
    ).stdout.decode("utf-8")
    assert "█" not in piped
    assert "\x1b" not in piped


@pytest.mark.parametrize("width", [80, 132])
def test_the_demo_fits_the_terminal(width: int) -> None:
    seen = in_a_terminal("demo", COLUMNS=str(width), NO_COLOR="1")
    assert max(columns(line) for line in seen.splitlines()) <= width


def test_the_package_data_is_there() -> None:
    from fairlead.cli.commands.demo import FILE

    assert Path(FILE).is_file()


def test_a_table_that_is_too_wide_goes_on_below_itself_in_each_column() -> None:
    header = ["job", "share by the scales of before", "why"]
    rows = [["train of vision", "0.25", "no gpu is left"], ["x", "=", ""]]
    assert table(header, rows, "<><", Screen(width=40)) == [
        "job                share  why",
        "                  by the",
        "                  scales",
        "                      of",
        "                  before",
        "train of vision     0.25  no gpu is left",
        "x                      =",
    ]
    assert table(header, rows, "<><", Screen(width=32))[5:] == [
        "train of      0.25  no gpu is",
        "vision              left",
        "x                =",
    ]
    assert table(header, [], "<><", Screen(width=32))[0] == "job  share by the scales of  why"


def test_where_nothing_stands_beside_another_a_row_is_a_list_of_its_cells() -> None:
    rows = [["x" * 30, "1", "two words"], ["y", "2", "z" * 30]]
    assert table(["name", "", "what"], rows, "<><", Screen(width=40)) == [
        f"name  {'x' * 30}",
        "      1",
        "what  two words",
        "",
        "name  y",
        "      2",
        f"what  {'z' * 30}",
    ]


def test_columns_without_names_have_no_header() -> None:
    assert table(["", ""], [["a", "b"]], "<<", Screen()) == ["a  b"]


WORD = st.text("abc", min_size=1, max_size=9)
CELL = st.lists(WORD, max_size=5).map(" ".join)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4), st.integers(40, 120))
def test_a_table_fits_its_terminal_and_breaks_no_word(
    rows: list[tuple[str, str, str]], width: int
) -> None:
    header = ["one", "two or more", "three"]
    lines = table(header, rows, "<><", Screen(width=width))
    assert max(map(columns, lines)) <= width
    words = [word for row in (header, *rows) for cell in row for word in cell.split()]
    assert sorted(word for line in lines for word in line.split()) == sorted(words)
    plain = table(header, rows, "<><", Screen())
    assert len(plain) == len(rows) + 1
    if max(map(columns, plain)) <= width:
        assert lines == plain


def test_a_moment_is_told_with_its_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it elsewhere, or beside the service's log, knows which hour is meant."""
    try:
        for zone, told in (("UTC", "00:00:05+00:00"), ("Asia/Kolkata", "05:30:05+05:30")):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert at(5_999_999) == f"1970-01-01 {told}"
            assert time_of_day(5_000_000) == told
    finally:
        monkeypatch.undo()
        time.tzset()
    assert at(None) == "-"
