"""Loading files, directories and the standard input."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from fairlead import files
from fairlead.files import load, text_of
from fairlead.model.errors import InputError

CLUSTER = "machines: [{name: a1, capacity: {cpu: 4}}]\n"
JOBS = "jobs: [{name: j, demand: {cpu: 1}}]\n"


def refused(*paths: str | Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(*paths)
    return [str(mistake) for mistake in caught.value.mistakes]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bytes], None]]:
    """Has these bytes come in the standard input."""
    with ExitStack() as opened:

        def standard_input(content: bytes) -> None:
            (tmp_path / "said").write_bytes(content)
            stream = opened.enter_context((tmp_path / "said").open("rb"))
            monkeypatch.setattr("sys.stdin", stream)

        yield standard_input


def test_several_files_are_one_input(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "jobs.yaml").write_text(JOBS)
    cluster, jobs = load(tmp_path / "cluster.yaml", str(tmp_path / "jobs.yaml"))
    assert [machine.name for machine in cluster.machines] == ["a1"]
    assert [job.name for job in jobs] == ["j"]


def test_a_directory_stands_for_its_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text("jobs: [{name: second, demand: {cpu: 1}}]")
    (tmp_path / "a.yaml").write_text("jobs: [{name: first, demand: {cpu: 1}}]")
    (tmp_path / "c.json").write_text('{"machines": [{"name": "a1", "capacity": {"cpu": 1}}]}')
    (tmp_path / "notes.txt").write_text("not input")
    (tmp_path / ".hidden.yaml").write_text("not input")
    (tmp_path / "folder.yaml").mkdir()
    assert [job.name for job in load(tmp_path)[1]] == ["first", "second"]


def test_a_dash_is_the_standard_input(say: Callable[[bytes], None]) -> None:
    say((CLUSTER + JOBS).encode())
    assert [job.name for job in load("-")[1]] == ["j"]
    say(b"machines: 5")
    assert refused("-")[0].startswith("<stdin>:1:11: machines:")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbf" + CLUSTER.encode())
    assert len(load(tmp_path)[0].machines) == 1


def test_mistakes_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("machines: 5")
    assert refused(path) == [
        (
            f'{path}:1:11: machines: "5" stands where a list should;'
            ' write machines: [{name: "a[01-25]", capacity: {cpu: 16}}]'
        )
    ]


def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    (tmp_path / "bad.yaml").write_bytes(b"machines:\n  - \xe9\xff\n")
    (tmp_path / "empty").mkdir()
    assert refused(missing, tmp_path / "bad.yaml", tmp_path / "empty") == [
        f"no such file: {missing}; check its name, or the folder that you are in",
        (
            f"{tmp_path / 'bad.yaml'}:2:5: the file is not UTF-8: byte 0xe9 cannot be decoded;"
            " save it as UTF-8"
        ),
        (
            f"the directory {tmp_path / 'empty'} holds no file that ends in .yaml, .yml, .json;"
            " give the files, or another directory"
        ),
    ]
    assert "cannot be read" in refused("a\0b")[0]


def test_a_file_without_an_end_is_refused(
    monkeypatch: pytest.MonkeyPatch, say: Callable[[bytes], None]
) -> None:
    monkeypatch.setattr(files, "LARGEST", 2**20)
    sentence = "/dev/zero has more than 1 MiB, which is the most that is read; check its name"
    assert refused("/dev/zero")[0].startswith(sentence)
    say(b" " * (2**20 + 1))
    assert refused("-")[0].startswith("<stdin> has more than 1 MiB")


def test_a_pipe_to_which_nobody_writes_is_told_of_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SILENT", 0.0)
    pipe, told = tmp_path / "jobs.yaml", list[str]()
    os.mkfifo(pipe)

    def write(sentence: str) -> None:
        told.append(sentence)
        pipe.write_text("jobs: []", encoding="utf-8")

    assert files.texts([pipe], write) == [(str(pipe), "jobs: []")]
    assert told == [f"{pipe} is a pipe: waiting for somebody who writes to it"]


def test_a_signal_ends_the_wait_for_a_pipe_though_no_call_of_the_system_was_broken_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that comes after Python looked for signals and before it waits: another thread gets
    it, so that nothing breaks the wait off."""
    monkeypatch.setattr(files, "SILENT", 0.0)
    pipe = tmp_path / "jobs.yaml"
    os.mkfifo(pipe)
    waits, handled = threading.Event(), signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        waits.wait()
        time.sleep(0.1)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            files.texts([pipe], lambda _: waits.set())
    finally:
        signal.signal(signal.SIGINT, handled)
        thread.join()


def test_no_file_at_all_is_a_sentence() -> None:
    assert refused() == ["no file is given; give a file, a directory, or - for stdin"]


def test_a_file_is_given_once(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text(CLUSTER)
    assert refused(tmp_path, tmp_path / "f.yaml") == [
        f"{tmp_path / 'f.yaml'} is given twice; give it once"
    ]


def test_a_link_to_nowhere_is_said_to_be_one(tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to("nowhere.yaml")
    with pytest.raises(InputError, match=r"is a link to nowhere\.yaml, which is not there; see to"):
        text_of(str(link))


@pytest.mark.parametrize(
    ("meant", "there", "near"),
    [
        ("nix.yaml", "unit.yaml", False),
        ("clster.yaml", "cluster.yaml", True),
        ("jobs.yml", "jobs.yaml", True),
        ("job.yaml", "jobs.yaml", True),
    ],
)
def test_only_a_near_name_is_suggested(meant: str, there: str, near: bool, tmp_path: Path) -> None:
    (tmp_path / there).touch()
    with pytest.raises(InputError) as caught:
        text_of(str(tmp_path / meant))
    assert (f"did you mean {tmp_path / there}?" in str(caught.value)) is near
