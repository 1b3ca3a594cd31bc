"""Installs a lock into .venv and shows what it is doing; scripts/environment.sh calls it.

    .venv/bin/python scripts/install.py NAME         what requirements/NAME.txt locks, and Fairlead
    .venv/bin/python scripts/install.py NAME alone   the same, and nothing is compiled

What the compiler needs is installed first: the scheduler is compiled while the rest arrives. Exits
with 1 after the last lines of pip's output and a sentence where something could not be installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

PYTHON = ".venv/bin/python"
LOG = Path(".venv/install.log")
COMPILER = ("llvmlite", "numba", "numpy", "python-flint", "pyyaml")
"""What scripts/compile.py imports."""

COMPILE = (PYTHON, "scripts/compile.py")
PIP = (PYTHON, "-u", "-m", "pip", "--disable-pip-version-check", "--no-input", "install")
# Python compiles what is imported when it is imported first: the rest, most of it, never.
LOCKED = ("--no-compile", "--require-hashes", "--progress-bar", "off")
LAST_LINES = 15
LINE_EVERY = 10.0
"""Seconds between lines where there is no terminal."""


class Display:
    """What is being done: one line that changes on a terminal, a line now and then in a pipe."""

    def __init__(self) -> None:
        self.packages = "pip starts"
        self.compiler = ""
        self._begun = time.monotonic()
        self._live = sys.stderr.isatty()
        self._next = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def _go_on(self) -> None:
        while not self._over.wait(0.2):
            self.show()

    def show(self) -> None:
        """Shows how far it is, if it is time to."""
        seconds = time.monotonic() - self._begun
        if not self._live and seconds < self._next:
            return
        self._next = seconds + LINE_EVERY
        line = f"{seconds:3.0f} s  " + "; ".join(filter(None, (self.packages, self.compiler)))
        if self._live:
            line = f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}"
        print(line, end="" if self._live else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the terminal as it was."""
        self._over.set()
        self._thread.join()
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def blocks(lock: str) -> dict[str, str]:
    """The lines of a lock that belong to each package, by its name."""
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=\S)", lock):
        name = re.match(r"([A-Za-z0-9._-]+)==", block)
        if name:
            found[name[1].lower()] = block + "\n"
    return found


def _counted(packages: int) -> str:
    return "1 package" if packages == 1 else f"{packages} packages"


def install(display: Display, arguments: list[str], count: int, sentence: str) -> None:
    """Runs pip. Exits with its last lines and the sentence where it fails."""
    arrived = 0
    lines: list[str] = []
    with (
        LOG.open("a", encoding="utf-8") as log,
        subprocess.Popen(
            [*PIP, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as pip,
    ):
        assert pip.stdout is not None
        for line in pip.stdout:
            log.write(line)
            lines = [*lines[1 - LAST_LINES :], line]
            word, _, rest = line.strip().partition(" ")
            if word in ("Collecting", "Requirement"):
                arrived += 1
                name = rest.removeprefix("already satisfied: ").partition("==")[0]
                display.packages = f"{arrived} of {_counted(count)} arrive: {name}"
            elif word == "Downloading" and "(" in rest:
                display.packages += f" {rest[rest.rindex('(') :]}"
            elif word == "Installing":
                verb = "is" if count == 1 else "are"
                display.packages = f"{_counted(count)} {verb} being unpacked"
    if pip.returncode:
        display.close()
        print("".join(lines), end="", file=sys.stderr)
        print(f"{sentence}; the whole output is in {LOG}.", file=sys.stderr)
        sys.exit(1)


def _compile_beside(display: Display, install_rest: Callable[[], None]) -> None:
    """Compiles while the rest is installed, and waits for both."""
    compiler, hearing = begin_compiling(display)
    second: subprocess.Popen[str] | None = None
    try:
        install_rest()
        # From here on there is a processor for it.
        second = subprocess.Popen(
            [*COMPILE, "events"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
        )
        compiler.wait()
        hearing.join()
    finally:
        for each in filter(None, (compiler, second)):
            each.kill()  # where it is not over, nobody waits for it
            each.wait()


def begin_compiling(display: Display) -> tuple[subprocess.Popen[str], threading.Thread]:
    """Begins to compile the scheduler. Where that fails, the first start of a service does it."""
    process = subprocess.Popen(
        COMPILE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )

    def hear() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            done, _, total = line.strip().partition(" ")
            display.compiler = f"compiling the scheduler, {done} of about {total}"

    thread = threading.Thread(target=hear, daemon=True)
    thread.start()
    return process, thread


def main() -> None:
    """Installs, compiles beside it unless it is told not to, and waits for both."""
    name, *alone = sys.argv[1:]
    path = f"requirements/{name}.txt"
    packages = blocks(Path(path).read_text(encoding="utf-8"))
    LOG.write_text("", encoding="utf-8")
    failed = (
        f"The packages of {path} could not be installed: pip needs to reach a package index the"
        " first time"
    )
    display = Display()

    def install_all() -> None:
        install(display, [*LOCKED, "--requirement", path], len(packages), failed)
        # The lock holds the build backend, so this asks the index for nothing.
        install(
            display,
            ["--no-deps", "--no-build-isolation", "--no-index", "--editable", "."],
            1,
            "Fairlead itself could not be installed into .venv",
        )
        verb = "is" if len(packages) == 1 else "are"
        display.packages = f"{_counted(len(packages))} {verb} there"

    if alone:
        install_all()
    else:
        first = Path(".venv/compiler.txt")
        first.write_text("".join(packages[each] for each in COMPILER), encoding="utf-8")
        arguments = [*LOCKED, "--no-deps", "--requirement", str(first)]
        install(display, arguments, len(COMPILER), failed)
        _compile_beside(display, install_all)
    display.close()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ninterrupted; the next call goes on")
