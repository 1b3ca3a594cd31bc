"""Transcripts: the commands and outputs that docs and examples show, read, run and rewritten.

In a Markdown file a fenced block marked `console` is a transcript: a line `$ command` and, below
it, all that the command prints. All blocks of a file run in order, in one copy of `examples/` (a
file inside of `examples/` runs in the copy of its own folder).

- `fairlead`, `python` and what a shell offers can be used, pipes as well; a line that ends in `\\`
  goes on in the next one.
- A command that ends with another exit code than 0 says so: `$ fairlead allocate x  # exits 2`.
- A line `...` alone stands for any number of lines; `…` within a line for any text, such as a time
  (columns of that output may then be of other widths).
- A page that starts a service (`fairlead serve --detach`) has a state folder of its own; if the
  service still runs at the end of the page, it is stopped.
- `<!-- file: NAME -->` on the line above a block of any kind: the block is the file NAME, there
  from here on. If `examples/` has that file, the two must be the same.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.surroundings import without_service
from tests.zygote.forked import Forked, asking

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>[\w-]*)\s*$")
FILE = re.compile(r"^ *<!-- file: (?P<name>\S+) -->$")
EXITS = re.compile(r"# exits (?P<code>\d+)$")
PLAIN = re.compile(
    r"""(?P<words>(fairlead|python\ \w+\.py)
    (\ +([\w./=,:@%+-]+|"[\w\ ./=,:@%+()-]*"))*)(\s+\#.*)?""",
    re.VERBOSE,
)
"""A single command of ours, or a script, of which a shell makes the same words: it needs none."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its lines without the fences, from line `first` (from 0) of its file."""

    kind: str
    indent: str
    first: int
    lines: tuple[str, ...]
    file: str | None


@dataclass(frozen=True)
class Entry:
    """A command as it stands in a block, with the lines that are shown below it."""

    command: tuple[str, ...]
    shown: tuple[str, ...]

    @property
    def words(self) -> str:
        """The command for the shell."""
        return "\n".join(self.command)

    @property
    def code(self) -> int:
        """The exit code that the command says."""
        said = EXITS.search(self.words)
        return int(said["code"]) if said else 0


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown file."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = FENCE.match(lines[at])
        if not fence:
            at += 1
            continue
        named = FILE.match(lines[at - 1]) if at else None
        indent = fence["indent"]
        end = at + 1
        while end < len(lines) and lines[end] != f"{indent}```":
            end += 1
        inside = tuple(line.removeprefix(indent) for line in lines[at + 1 : end])
        yield Block(fence["kind"], indent, at + 1, inside, named["name"] if named else None)
        at = end + 1


def entries(lines: tuple[str, ...]) -> list[Entry]:
    """The commands of a transcript; ValueError if it does not begin with one."""
    found: list[tuple[list[str], list[str]]] = []
    going_on = False
    for line in lines:
        if going_on:
            found[-1][0].append(line)
        elif line.startswith("$ "):
            found.append(([line[2:]], []))
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f"a console block begins with `$ command`, not with {line!r}")
        going_on = bool(found) and not found[-1][1] and found[-1][0][-1].endswith("\\")
    return [Entry(tuple(command), tuple(shown)) for command, shown in found]


def matches(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Whether the output is what is shown, where `...` alone stands for any lines, and `…` for
    any text within a line. Columns are as wide then as that text makes them."""
    if shown == printed:
        return True
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("…"))) + "\n"
        for line in shown
    )
    if any("…" in line for line in shown):
        pattern = re.sub(r"(?:\\ ){2,}", " {2,}", pattern)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


class Shell:
    """Runs commands in a copy of the examples, where `fairlead` and `python` are ours."""

    def __init__(self, directory: Path, inside: Path = Path()) -> None:
        self.here = directory / "examples"
        commands = directory / "bin"
        commands.mkdir(parents=True)
        for name, words in (("fairlead", asking("fairlead")), ("python", [sys.executable])):
            script = commands / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            script.chmod(0o755)
        if EXAMPLES.is_dir():
            shutil.copytree(EXAMPLES, self.here)
        else:
            self.here.mkdir()
        self.here = self.here / inside
        unwanted = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")
        self.state = directory / "state"
        kept = {name: value for name, value in without_service().items() if name not in unwanted}
        self.environment = kept | {
            "XDG_STATE_HOME": str(self.state),
            "XDG_CONFIG_HOME": str(directory / "config"),
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONUTF8": "1",
            "TERM": "dumb",
        }

    def run(self, entry: Entry) -> tuple[tuple[str, ...], int]:
        """What the command prints (stdout and stderr as they come), and its exit code."""
        plain = PLAIN.fullmatch(entry.words.replace("\\\n", " "))
        words = ["bash", "-o", "pipefail", "-c", entry.words]
        if plain:
            words = shlex.split(plain["words"].removeprefix("python "))
        begin: type[subprocess.Popen[str]] = Forked if plain else subprocess.Popen
        with begin(
            words,
            cwd=self.here,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        ) as process:
            try:
                # It hangs; the first of all may compile the core, on busy cores.
                said, _ = process.communicate(timeout=600)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return tuple(line.rstrip() for line in said.splitlines()), process.returncode

    def close(self) -> None:
        """Stops the service that commands left running, if there is one."""
        if (self.state / "fairlead" / "process").exists():
            self.run(Entry(("fairlead cancel $(fairlead jobs | tail -n +2 | cut -d' ' -f1)",), ()))
            self.run(Entry(("fairlead stop",), ()))

    def write(self, name: str, lines: tuple[str, ...]) -> str:
        """Puts a block's file there; says what is wrong if another one is there."""
        path = self.here / name
        text = "".join(f"{line}\n" for line in lines)
        given = EXAMPLES / name
        if given.is_file() and given.read_text(encoding="utf-8") != text:
            return f"the block is not the same as examples/{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return ""


def trim(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines without empty ones at the end: a block may leave space between its commands."""
    end = len(lines)
    while end and not lines[end - 1]:
        end -= 1
    return lines[:end]


def play(text: str, shell: Shell) -> tuple[list[str], str]:
    """What differs between what a Markdown file shows and what happens, and the file put right."""
    try:
        return _played(text, shell)
    finally:
        shell.close()


def _played(text: str, shell: Shell) -> tuple[list[str], str]:
    lines, problems = text.splitlines(), []
    replaced: list[tuple[int, int, list[str]]] = []
    for block in blocks(text):
        if block.file:
            wrong = shell.write(block.file, block.lines)
            problems += [f"line {block.first}: {wrong}"] if wrong else []
        if block.kind != "console":
            continue
        fresh: list[str] = []
        for entry in entries(block.lines):
            printed, code = shell.run(entry)
            if code != entry.code:
                problems.append(
                    f"line {block.first}: `{entry.words}` exits {code}, not {entry.code}:\n"
                    + "\n".join(printed)
                )
            same = matches(trim(entry.shown), trim(printed))
            if not same:
                problems.append(
                    f"line {block.first}: `{entry.words}` prints\n"
                    + "\n".join(printed)
                    + "\nnot\n"
                    + "\n".join(entry.shown)
                )
            gap = entry.shown[len(trim(entry.shown)) :]
            shown = trim(entry.shown) if same else trim(printed)
            fresh += [f"$ {entry.command[0]}", *entry.command[1:], *shown, *gap]
        replaced.append((block.first, len(block.lines), [block.indent + line for line in fresh]))
    for first, count, fresh in reversed(replaced):
        lines[first : first + count] = [line.rstrip() for line in fresh]
    return problems, "\n".join(lines) + "\n"
