"""What is kept of what attempts on a node write: up to a limit, as the local engine has it."""

from __future__ import annotations

import errno
import signal
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fairlead.engines.local.outputs import MISSING, NOTICE, Missing
from fairlead.engines.ray.node import command, files, function

MOST = 100_000

WHERE: dict[str, Any] = {
    "service": "tests",
    "key": (1, 0, 1),
    "most_output": MOST,
    "cwd": None,
    "user": None,
    "env": {},
    "limit": None,
    "grace": 1.0,
}


PATIENCE = 300.0


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node's folder for temporary files; and nobody is told of a start, however long it is
    ago: there is no launcher."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(command, "HERALD", PATIENCE)


def output(stream: str = "stdout") -> bytes:
    return files.path_of("tests", (1, 0, 1), stream).read_bytes()


def ended(text: str) -> dict[str, Any]:
    """How a command ended, of which nobody is told that it began. In a worker of Ray Ctrl-C means
    it, ever after; here others are to hear it."""
    before = signal.getsignal(signal.SIGINT)
    try:
        return command.run_command({**WHERE, "command": text, "machine": "here"})
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_command_that_writes_without_end_fills_no_disk_and_hears_nothing_of_it() -> None:
    found = ended(f"head -c {2 * MOST} /dev/zero; echo good >&2; exit 3")
    assert (found["cause"], found["code"]) == ("exited", 3)
    assert found["message"] == MISSING[Missing.BEYOND_LIMIT]
    assert output() == bytes(MOST) + NOTICE.format(MOST).encode()
    assert found["stdout"]["size"] == len(output())
    assert output("stderr") == NOTICE.format(MOST).encode()  # both together


def test_a_command_whose_output_nobody_passes_on_any_more_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(_: int) -> NoReturn:
        raise OSError(errno.EINVAL, "what a system may say")

    monkeypatch.setattr(command, "Telling", lambda _: fails)
    with pytest.raises(OSError, match="what a system may say"):
        ended("echo hello; while :; do head -c 100000 /dev/zero; done")


def test_a_worker_whose_threads_ask_for_the_launcher_at_once_finds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Asked(dict[str, Any]):
        """Another thread forgets what is known as soon as this one knows something."""

        def __setitem__(self, which: str, found: Any) -> None:
            super().__setitem__(which, found)
            self.clear()

    monkeypatch.setattr(command, "_launchers", Asked())
    monkeypatch.setattr("ray.get_actor", lambda name, namespace: (name, namespace))
    spec = {"incarnation": "one", "launcher": "it", "namespace": "here"}
    assert command.launcher_of(spec) == ("it", "here")


def test_what_is_within_the_limit_is_whole() -> None:
    found = ended(f"head -c {MOST - 5} /dev/zero; echo good >&2")
    assert (found["code"], found["message"]) == (0, "")
    assert output() == bytes(MOST - 5)
    assert output("stderr") == b"good\n"


def test_a_function_may_print_as_much() -> None:
    room = function._Room(MOST, lambda _: False)  # noqa: SLF001
    out, err = (function._LazyFile(WHERE, stream, room) for stream in ("stdout", "stderr"))  # noqa: SLF001
    print("é" * (MOST // 2 - 1), file=out, end="")
    assert (out.cut, err.cut) == (False, False)
    for _ in range(3):
        print("ünd mehr", file=out)
    print("not a word", file=err)
    assert (out.cut, err.cut) == (True, True)
    assert out.finish()["size"] == len(output())
    err.finish()
    text = "é" * (MOST // 2 - 1) + "ü" + NOTICE.format(MOST)
    assert output().decode() == text
    assert output("stderr").decode() == NOTICE.format(MOST)


def test_what_a_function_prints_is_cut_where_its_tenant_has_no_more_room() -> None:
    asked = list[int]()

    def cut(kept: int) -> bool:
        asked.append(kept)
        return kept > 0

    room = function._Room(MOST, cut)  # noqa: SLF001
    out = function._LazyFile(WHERE, "stdout", room)  # noqa: SLF001
    for _ in range(3):
        out.write("more\n")
    out.finish()
    assert asked == [0, 5]
    assert output().decode() == "more\n" + NOTICE.format(5)
