"""A journal that is damaged, cut off, missing, locked or without room says so."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from fairlead.model.errors import InputError
from fairlead.service.journal import sqlite as sqlite_store
from fairlead.service.journal.entry import (
    CorruptJournalError,
    Entry,
    JournalError,
    TakenJournalError,
)
from fairlead.service.journal.places import open_reader, open_store
from fairlead.service.journal.schema import VERSION
from tests.service.journal.entries import some
from tests.zygote.forked import Forked, finished

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of 40 entries and two snapshots, closed."""
    path = tmp_path / "journal.db"
    store = open_store(path)
    for first in range(1, 40, 4):
        store.append(some(first, 4))
    store.keep(10, b"ten" * 2000)
    store.keep(30, b"thirty" * 2000)
    store.close()
    return path


def beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.name}-{what}")


def read(path: Path) -> list[Entry]:
    """What can be read, by whoever writes it and by whoever does not."""
    reader = open_reader(path)
    reader.check()
    seen = list(reader.read())
    store = open_store(path)
    try:
        assert list(store.read()) == seen
        assert store.last() == len(seen)
    finally:
        store.close()
    return seen


# Damage


def test_a_zero_length_journal_is_not_taken_for_a_new_one(path: Path) -> None:
    path.write_bytes(b"")
    for opened in (open_store, open_reader):
        with pytest.raises(CorruptJournalError, match=r"is empty \(0 bytes\)"):
            opened(path)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_journal_that_was_cut_off_is_refused(path: Path, part: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(JournalError, match="journal"):
        read(path)


def test_whatever_byte_is_damaged_the_entries_are_the_same_or_it_is_noticed(
    path: Path, cases: int
) -> None:
    whole, random, noticed = path.read_bytes(), Random(1), 0
    for _ in range(80 * cases):
        place, bit = random.randrange(len(whole)), 1 << random.randrange(8)
        path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
        try:
            assert read(path) == some(1, 40)
        except JournalError:
            noticed += 1
        for what in ("wal", "shm"):
            beside(path, what).unlink(missing_ok=True)
    assert noticed > 5


def test_entries_that_were_changed_or_taken_out_by_hand_are_noticed(path: Path) -> None:
    for change in (
        "UPDATE journal_entry SET body = '{}' WHERE seq = 7",
        "UPDATE journal_entry SET time = time + 1 WHERE seq = 7",
        "UPDATE journal_entry SET body = x'00' WHERE seq = 7",
        "DELETE FROM journal_entry WHERE seq = 7",
        "DELETE FROM journal_entry WHERE seq = 1",
        "DELETE FROM journal_entry WHERE seq > 30",
        "DELETE FROM journal_head",
        "UPDATE journal_head SET seq = 39",
        "INSERT INTO journal_entry VALUES (41, 1, 1, 'launch', '{}', x'00')",
    ):
        kept = path.read_bytes()
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(change)
        connection.close()
        with pytest.raises(CorruptJournalError, match="journal"):
            read(path)
        path.write_bytes(kept)


def test_a_damaged_snapshot_gives_the_one_before_it(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE journal_part SET data = x'00' WHERE seq = 30")
    reader = open_reader(path)
    assert reader.snapshot() == (10, b"ten" * 2000)
    connection.execute("UPDATE journal_part SET data = 'text' WHERE seq = 30")
    assert reader.snapshot() == (10, b"ten" * 2000)
    with pytest.raises(CorruptJournalError, match=r"the snapshot of entry 30 of .* is damaged"):
        reader.check()
    connection.execute("DELETE FROM journal_part")
    connection.close()
    assert reader.snapshot() is None
    assert len(list(reader.read())) == 40


# What is beside it


def test_a_missing_journal_beside_what_is_left_of_it_is_not_begun_anew(path: Path) -> None:
    path.unlink()
    with pytest.raises(CorruptJournalError, match=r"journal\.db-head is left of it"):
        open_store(path)
    beside(path, "head").unlink()
    beside(path, "wal").touch()
    with pytest.raises(CorruptJournalError, match=r"journal\.db-wal is left of it"):
        open_store(path)
    assert not path.exists()
    beside(path, "wal").unlink()
    store = open_store(path)  # nothing says that there ever was one
    assert store.last() == 0
    store.close()


def test_a_journal_without_its_write_ahead_log_has_lost_its_end(path: Path, tmp_path: Path) -> None:
    store = open_store(path)
    store.append(some(41, 4))  # in the log, as after a kill
    copy = tmp_path / "copy" / path.name
    copy.parent.mkdir()
    for what in ("", "-wal", "-head"):
        shutil.copy(f"{path}{what}", f"{copy}{what}")
    store.close()
    log = beside(copy, "wal").read_bytes()
    beside(copy, "wal").unlink()
    for opened in (read, open_store):
        with pytest.raises(CorruptJournalError, match="has lost its end: 44 entries were written"):
            opened(copy)
    # SQLite takes a damaged log for one that ends before the damage.
    beside(copy, "wal").write_bytes(log[:-100])
    with pytest.raises(CorruptJournalError, match="has lost its end"):
        open_store(copy)
    beside(copy, "wal").write_bytes(log)
    again = open_store(copy)
    assert list(again.read()) == some(1, 44)
    again.close()


def test_an_older_copy_put_in_its_place_is_noticed(path: Path) -> None:
    older = path.read_bytes()
    store = open_store(path)
    store.append(some(41, 1))
    store.close()
    path.write_bytes(older)
    with pytest.raises(CorruptJournalError, match="41 entries were written, and 40 are there"):
        open_store(path)
    beside(path, "head").unlink()  # as the sentence says
    assert read(path) == some(1, 40)


def test_a_backup_that_was_taken_meanwhile_can_be_started_from(path: Path) -> None:
    store = open_store(path)
    other, backup = sqlite3.connect(path), path.with_name("backup")
    other.execute(f"VACUUM INTO '{backup}'")
    other.close()
    store.append(some(41, 3))
    store.close()
    backup.chmod(0o600)
    backup.rename(path)
    with pytest.raises(CorruptJournalError, match="43 entries were written, and 40 are there"):
        open_store(path)
    beside(path, "head").unlink()
    assert read(path) == some(1, 40)


def test_another_journal_put_in_its_place_is_noticed(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    store = open_store(other)
    store.append(some(1, 50))
    store.close()
    shutil.copy(other, path)
    with pytest.raises(CorruptJournalError, match="is another journal than the one"):
        open_store(path)


def test_a_damaged_head_is_noticed_and_a_missing_one_is_made_again(path: Path) -> None:
    head = beside(path, "head")
    for wrong in (b"", b"x" * 256, head.read_bytes()[:100], head.read_bytes().replace(b"4", b"5")):
        head.write_bytes(wrong)
        with pytest.raises(CorruptJournalError, match="is damaged: it says how far"):
            open_store(path)
    head.unlink()
    assert read(path) == some(1, 40)
    assert head.exists()


def test_a_journal_whose_head_was_removed_is_one_that_was_put_back(path: Path) -> None:
    for removed in (False, True, False):
        if removed:
            beside(path, "head").unlink()
        store = open_store(path)
        assert store.restored is removed
        store.close()


def test_a_new_journal_was_not_put_back(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db")
    assert not store.restored
    store.close()


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("not a database at all\n" * 100)
    other = tmp_path / "other"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE precious (x)")
    connection.commit()
    connection.close()
    for file, sentence in ((text, "is damaged"), (other, "is no journal of Fairlead's")):
        file.chmod(0o600)
        before = file.read_bytes()
        for opened in (open_store, open_reader):
            with pytest.raises(JournalError, match=sentence):
                opened(file)
        assert file.read_bytes() == before


def test_a_journal_of_a_newer_version_is_refused(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    for opened in (open_store, open_reader):
        with pytest.raises(JournalError, match="written by a newer Fairlead"):
            opened(path)


def test_what_is_not_there_cannot_be_read_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        open_reader(tmp_path / "no.db")
    with pytest.raises(JournalError, match="cannot be written"):
        open_store(tmp_path / "no" / "no.db")
    assert list(tmp_path.iterdir()) == []


# Permissions


def test_nobody_but_its_owner_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(tmp_path / "journal.db")
        store.append(some(1, 1))
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert {"journal.db", "journal.db-wal", "journal.db-head", "journal.db-lock"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_one_that_others_may_read_is_refused(path: Path) -> None:
    path.chmod(0o644)
    with pytest.raises(JournalError, match=r"others than its owner may use .* chmod 600"):
        open_store(path)


def test_one_that_may_not_be_read_is_refused(path: Path) -> None:
    # Not in tmp_path, which another run of tests closes for others as it begins.
    folder = Path(tempfile.mkdtemp(prefix="fairlead-journal-"))
    there = shutil.copytree(path.parent, folder / "closed") / path.name
    for each in (folder, there.parent):
        each.chmod(0o755)
    program = f"""
        import os
        from pathlib import Path
        from fairlead.service.journal.entry import JournalError
        from fairlead.service.journal.places import open_store, open_reader
        if os.geteuid() == 0:
            os.setuid(65534)
        else:
            os.chmod({str(there)!r}, 0)
        for opened in (open_store, open_reader):
            try:
                opened(Path({str(there)!r}))
            except JournalError as error:
                print(error)
    """
    lines = run(program).splitlines()
    shutil.rmtree(folder)
    assert len(lines) == 2
    assert "journal.db-lock cannot be written: Permission denied" in lines[0]
    assert "it cannot be opened; see to its permissions" in lines[1]


def run(program: str) -> str:
    done = finished(["-c", textwrap.dedent(program)], ROOT, os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


# No room, locked, taken


def test_a_full_disk_refuses_what_is_new_and_keeps_what_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Small(sqlite_store.SqliteSession):
        pages = 0

        def begin(self, *, write: bool) -> None:
            super().begin(write=write)
            if self.pages:
                self.run(f"PRAGMA max_page_count = {self.pages}")

    monkeypatch.setattr(sqlite_store, "SqliteSession", Small)
    store = open_store(path)
    monkeypatch.setattr(Small, "pages", 20)
    big = [Entry(41, 9, 10**15, "launch", {"x": "y" * 200_000}), *some(42, 1)]
    for _ in range(3):
        with pytest.raises(JournalError, match="the disk is full; make room: nothing that was"):
            store.append(big)
    assert store.last() == 40
    assert list(store.read()) == some(1, 40)
    monkeypatch.setattr(Small, "pages", 100_000)
    store.append(big)
    assert store.last() == 42
    assert list(store.read()) == [*some(1, 40), *big]
    store.close()


def test_a_limit_on_files_refuses_what_is_new_and_keeps_what_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    program = f"""
        import resource
        from pathlib import Path
        from fairlead.service.journal.places import open_store
        from fairlead.service.journal.entry import JournalError
        from tests.service.journal.entries import some
        store = open_store(Path({str(path)!r}))
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
        seq, failed = 1, None
        while failed is None:
            try:
                store.append(some(seq, 100))
                seq += 100
            except JournalError as error:
                failed = error
        failures = 0
        while failures < 3:  # what the failure made room for may be used up first
            try:
                store.append(some(seq, 100))
                seq += 100
            except JournalError:
                failures += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        store.append(some(seq, 100))
        store.append(some(seq, 110))
        assert list(store.read()) == some(1, seq + 109)
        print(seq + 109, failed)
    """
    last, _, sentence = run(program).partition(" ")
    assert "cannot be used now" in sentence
    assert "see to the disk and to limits on files" in sentence or "is full" in sentence
    assert read(path) == some(1, int(last))


def test_a_disk_without_room_refuses_a_new_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store, "sync_folder", full)
        with pytest.raises(JournalError, match=r"cannot be made \(No space left on device\)"):
            open_store(tmp_path / "journal.db")


def test_a_journal_that_another_program_locked_is_not_written_until_it_is_free(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "PATIENCE", 0.05)
    store = open_store(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for _ in range(2):
        with pytest.raises(JournalError, match="another program has locked it; close that one"):
            store.append(some(41, 2))
    other.execute("ROLLBACK")
    store.append(some(41, 2))
    assert list(store.read()) == some(1, 42)
    other.close()
    store.close()


def test_a_journal_that_was_taken_away_is_not_written(path: Path) -> None:
    store = open_store(path)
    away = path.with_name("away")
    path.rename(away)
    for _ in range(2):
        with pytest.raises(JournalError, match="was taken away: put it back"):
            store.append(some(41, 2))
    away.rename(path)
    store.append(some(41, 2))
    assert list(store.read()) == some(1, 42)
    store.close()


def test_a_writer_that_was_overtaken_writes_no_more(path: Path) -> None:
    store = open_store(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("UPDATE journal_head SET epoch = epoch + 1")  # as opening it does
    for _ in range(2):
        with pytest.raises(TakenJournalError, match="another service has taken over"):
            store.append(some(41, 1))
    with pytest.raises(TakenJournalError, match="another service has taken over"):
        store.keep(40, b"x")
    store.close()
    other.close()
    assert read(path) == some(1, 40)


# Killed


def begun(program: str, *words: str) -> subprocess.Popen[str]:
    return Forked(
        ["-c", textwrap.dedent(program), *words], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


WRITER = """
    import sys
    from pathlib import Path
    from random import Random
    from fairlead.service.journal.places import open_store
    from tests.service.journal.entries import some
    store, random = open_store(Path(sys.argv[1])), Random(int(sys.argv[2]))
    print(store.last(), flush=True)
    while True:
        count = random.randrange(1, 20)
        store.append(some(store.last() + 1, count))
        print(store.last(), flush=True)
        if random.random() < 0.1:
            store.keep(store.last(), str(store.last()).encode() * random.randrange(1, 10**5))
"""


def test_what_was_appended_survives_a_kill(tmp_path: Path, cases: int) -> None:
    path, random, said = tmp_path / "journal.db", Random(5), 0
    for seed in range(4 * cases):
        writer = begun(WRITER, str(path), str(seed))
        assert writer.stdout is not None
        for _ in range(random.randrange(1, 60)):
            said = int(writer.stdout.readline())
        with pytest.raises(TakenJournalError, match=rf"\(process {writer.pid}\): stop that one"):
            open_store(path)
        assert open_reader(path).last() >= said  # while it is being written
        writer.send_signal(signal.SIGKILL)
        last = [int(line) for line in writer.stdout.read().splitlines()]
        writer.wait()
        writer.stdout.close()
        said = max([said, *last])
        entries = read(path)
        assert len(entries) >= said
        assert entries == some(1, len(entries))
        snapshot = open_reader(path).snapshot()
        if snapshot is not None:
            assert snapshot[1].startswith(str(snapshot[0]).encode())


def test_what_a_killed_writer_started_does_not_keep_others_out(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    program = f"""
        import os, subprocess, time
        from pathlib import Path
        from fairlead.service.journal.places import open_store
        from tests.service.journal.entries import some
        store = open_store(Path({str(path)!r}))
        store.append(some(1, 3))
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
        forked = os.fork()
        if not forked:
            time.sleep(60)
            os._exit(0)
        print(child.pid, forked, flush=True)
        os.kill(os.getpid(), 9)
    """
    writer = begun(program)
    assert writer.stdout is not None
    left = [int(word) for word in writer.stdout.readline().split()]
    assert writer.wait() == -signal.SIGKILL
    writer.stdout.close()
    try:
        assert read(path) == some(1, 3)
    finally:
        for process in left:
            os.kill(process, signal.SIGKILL)


def test_what_a_start_that_was_killed_left_is_cleared_away(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    for what in ("new", "new-wal", "new-shm", "head.new"):
        beside(path, what).write_bytes(b"half of it")
    store = open_store(path)
    store.append(some(1, 2))
    store.close()
    assert read(path) == some(1, 2)
    assert not beside(path, "new").exists()
    assert not beside(path, "head.new").exists()


# PostgreSQL


def test_a_lost_connection_is_made_again_and_nothing_is_lost(
    postgres: Callable[[], str],
) -> None:
    import psycopg

    url = postgres()
    store = open_store(url)
    store.append(some(1, 3))
    assert list(store.read()) == some(1, 3)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        assert list(store.read()) == some(1, 3)
        with pytest.raises(JournalError, match="cannot be used now"):
            store.append(some(4, 2))
        store.append(some(4, 2))
        assert list(store.read()) == some(1, 5)
        other.execute("UPDATE journal_head SET epoch = epoch + 1")
        with pytest.raises(TakenJournalError, match="another service has taken over"):
            store.append(some(6, 1))
    store.close()


def test_damage_in_a_database_is_noticed(postgres: Callable[[], str], tmp_path: Path) -> None:
    import psycopg

    changes = (
        "UPDATE journal_entry SET body = '{}' WHERE seq = 7",
        "DELETE FROM journal_entry WHERE seq = 7",
        "DELETE FROM journal_entry WHERE seq > 8",
        "UPDATE journal_head SET seq = 9",
        "DELETE FROM journal_head",
    )
    for number, change in enumerate(changes):
        url, head = postgres(), tmp_path / f"head{number}"
        store = open_store(url, head)
        store.append(some(1, 10))
        store.close()
        with psycopg.connect(url) as other:
            other.execute(change.encode())
        reader = open_reader(url, head)
        with pytest.raises(CorruptJournalError, match="journal"):
            list(reader.read())


def test_an_emptied_database_is_not_begun_anew(postgres: Callable[[], str], tmp_path: Path) -> None:
    head = tmp_path / "head"
    store = open_store(postgres(), head)
    store.append(some(1, 2))
    store.close()
    with pytest.raises(CorruptJournalError, match="head is left of it"):
        open_store(postgres(), head)


def test_postgresql_without_its_package_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "fairlead.service.journal.postgres", raising=False)
    with pytest.raises(InputError, match=r"pip install 'fairlead\[postgres\]'"):
        open_store("postgresql://somewhere/fairlead")


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(JournalError) as caught:
        open_store("postgresql://me:secret@127.0.0.1:1/fairlead")
    assert "postgresql://127.0.0.1:1/fairlead cannot be used now" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_journal_in_a_folder_that_may_not_be_written_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    reader = open_reader(path)
    reader.check()
    assert list(reader.read()) == some(1, 40)
    reader.close()
    assert not path.with_name(f"{path.name}-shm").exists()
    path.with_name(f"{path.name}-wal").touch()
    with pytest.raises(JournalError, match="its last entries are still in the log beside it"):
        open_reader(path)
