"""`fairlead journal`: what it finds of a journal, what it writes, and what it refuses."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fairlead.cli.main import Exit, main
from fairlead.service.journal.entry import Entry
from fairlead.service.journal.memory import Place
from fairlead.service.journal.places import open_store
from fairlead.service.recovery.configuration import SCHEMA
from fairlead.service.settings import Retention, Settings
from tests.engines.world import Fate
from tests.service.journal.lived import kept, lived, simulated, snapshot_of
from tests.service.loop.stage import SECOND, Stage, job

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS = ROOT / "src/fairlead/model/schemas"


@pytest.fixture(scope="module")
def entries() -> list[Entry]:
    return lived()


@pytest.fixture
def state(entries: list[Entry], tmp_path: Path) -> Path:
    """A state folder with a journal."""
    folder = tmp_path / "state"
    folder.mkdir()
    kept(entries, folder / "journal.db")
    return folder


def said(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    """What the command prints; where it fails, on stderr and nothing on stdout."""
    assert main(["journal", *map(str, words)]) == code
    printed = capsys.readouterr()
    if code:
        assert printed.out == ""
        return printed.err
    assert printed.err == ""
    return printed.out


def valid(schema: str, tree: object) -> None:
    Draft202012Validator(json.loads((SCHEMAS / schema).read_text())).validate(tree)


def change(state: Path, sql: str) -> None:
    connection = sqlite3.connect(state / "journal.db", isolation_level=None)
    connection.execute(sql)
    connection.close()


def test_check_and_replay_say_how_the_core_stands(
    state: Path, entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    checked = said(capsys, "check", state).splitlines()
    assert checked[0].endswith(f"is whole: {len(entries):,} entries, no snapshot")
    replayed = said(capsys, "replay", state / "journal.db").splitlines()
    assert "decisions made again, all the same, after" in replayed[1]
    assert checked[-1] == replayed[-1]
    assert checked[-1].startswith("digest ")


def test_the_same_as_json(
    state: Path, entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    checked = json.loads(said(capsys, "check", state, "--json"))
    valid("journal-check-1.json", checked)
    replayed = json.loads(said(capsys, "replay", "--state", state, "--json"))
    valid("journal-replay-1.json", replayed)
    assert checked["entries"] == replayed["entries"] == len(entries)
    assert checked["digest"] == replayed["digest"]
    assert checked["steps"] == replayed["steps"]


def test_a_simulated_run_replays_to_the_simulations_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result, written = simulated("random(jobs=25)", 5, "tsf")
    path = kept(written, tmp_path / "simulated.db")
    found = json.loads(said(capsys, "replay", path, "--json"))
    assert found["digest"] == result.digest
    assert found["decisions"] == result.launches


def test_export_writes_every_entry_as_a_line(
    state: Path, entries: list[Entry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.loads(line) for line in said(capsys, "export", state).splitlines()]
    for line in lines:
        valid("journal-1.json", line)
    assert lines[0] == {"schema": "fairlead.journal/1", "after": 0, "entries": len(entries)}
    assert [Entry(**line) for line in lines[1:]] == entries
    file = tmp_path / "out.jsonl"
    after = len(entries) - 3
    said(capsys, "export", state, "--after", after, "--out", file)
    written = [json.loads(line) for line in file.read_text().splitlines()]
    assert [Entry(**line) for line in written[1:]] == entries[-3:]
    assert file.stat().st_mode & 0o777 == 0o600
    assert said(capsys, "export", state, "--json") == said(capsys, "export", state)
    told = json.loads(said(capsys, "export", state, "--after", after, "--out", file, "--json"))
    assert told == written[0]


@pytest.mark.parametrize("action", ["check", "replay"])
def test_a_journal_of_a_newer_version_is_told_as_one(
    action: str, entries: list[Entry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(entry for entry in entries if entry.kind == "service_started")
    body = first.body | {"schema": SCHEMA + 1, "version": "9.9", "options": {"unheard_of": True}}
    newer = [replace(each, body=body) if each is first else each for each in entries]
    path = kept(newer, tmp_path / "newer.db")
    why = said(capsys, action, path, code=2)
    assert "as version 9.9 of Fairlead wrote it" in why
    assert "use the newer one" in why


def test_it_reads_while_a_service_writes(
    state: Path, entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    store = open_store(state)
    before = json.loads(said(capsys, "check", state, "--json"))
    last = entries[-1]
    store.append([Entry(last.seq + 1, last.step + 1, last.time, "token_revoked", {"name": "x"})])
    assert json.loads(said(capsys, "replay", state, "--json"))["entries"] == before["entries"] + 1
    store.close()


def test_check_goes_through_the_snapshot_too(
    state: Path, entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    digest = json.loads(said(capsys, "check", state, "--json"))["digest"]
    ends = [one.seq for one, two in pairwise(entries) if one.step != two.step]
    seq, earlier = ends[len(ends) // 2], ends[len(ends) // 2 - 1]
    store = open_store(state)
    store.keep(seq, snapshot_of(entries[:seq]))
    found = json.loads(said(capsys, "check", state, "--json"))
    assert (found["snapshot"], found["digest"]) == (seq, digest)
    store.keep(seq, snapshot_of(entries[:earlier]))  # of another moment than it says
    text = said(capsys, "check", state, code=Exit.REFUTED)
    assert f"the snapshot of entry {seq} says that it is of {earlier}" in text
    store.keep(seq, b"of a version to come")  # a start passes over it
    store.close()
    found = json.loads(said(capsys, "check", state, "--json"))
    assert (found["snapshot"], found["digest"]) == (None, digest)


def test_a_services_own_snapshots_lead_to_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place()
    written = lived(place, snapshot_every=40)
    (seq, data), *_ = place.snapshots.items()
    assert 0 < seq < len(written)
    path = kept(written, tmp_path / "journal.db")
    store = open_store(path)
    store.keep(seq, data)
    store.close()
    assert json.loads(said(capsys, "check", path, "--json"))["snapshot"] == seq


@pytest.mark.parametrize("action", ["check", "replay", "export"])
def test_damage_is_refuted(
    state: Path, capsys: pytest.CaptureFixture[str], action: str, tmp_path: Path
) -> None:
    change(state, "UPDATE journal_entry SET body = replace(body, '1', '2') WHERE seq = 20")
    text = said(capsys, action, state, code=Exit.REFUTED)
    assert "entry 20 is damaged" in text
    if action == "export":
        out = tmp_path / "out"
        said(capsys, action, state, "--out", out, code=Exit.REFUTED)
        assert not out.exists()


def test_a_decision_that_does_not_follow_is_refuted(
    entries: list[Entry], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = next(i for i, entry in enumerate(entries) if entry.kind == "launch")
    launch = entries[place]
    other = "c" if launch.body["machine"] != "c" else "a"
    wrong = Entry(launch.seq, launch.step, launch.time, "launch", {**launch.body, "machine": other})
    path = kept([*entries[:place], wrong, *entries[place + 1 :]], tmp_path / "wrong.db")
    for action in ("check", "replay"):
        text = said(capsys, action, path, code=Exit.REFUTED)
        assert f"entry {launch.seq} " in text


def test_what_is_no_journal_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for action in ("check", "replay", "export"):
        assert "there is no journal" in said(capsys, action, tmp_path / "no", code=Exit.BAD_INPUT)
        assert "there is no journal" in said(capsys, action, tmp_path, code=Exit.BAD_INPUT)
    assert "postgresql://" in said(capsys, "check", "mysql://x/y", code=Exit.BAD_INPUT)
    assert list(tmp_path.iterdir()) == []


def test_after_is_an_entry_of_the_journal(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("-1", "1000000"):
        text = said(capsys, "export", state, "--after", wrong, code=Exit.BAD_INPUT)
        assert "the last entry is" in text


def test_a_new_journal_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept([], tmp_path / "journal.db")
    assert "no service has begun" in said(capsys, "check", tmp_path)
    assert "no service has begun" in said(capsys, "replay", tmp_path)


def test_adopt_writes_down_that_the_engine_is_gone(
    state: Path, entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    refused = said(capsys, "adopt", state, code=Exit.BAD_INPUT)
    assert "write --old-machine-is-gone" in refused
    store = open_store(state)
    taken = said(capsys, "adopt", state, "--old-machine-is-gone", code=Exit.BAD_INPUT)
    assert "being written by another service" in taken
    store.close()
    gone = ("--old-machine-is-gone", "--clock-is-right")  # the journal is of 1970
    told = json.loads(said(capsys, "adopt", state, *gone, "--json"))
    valid("journal-adopt-1.json", told)
    assert "is whole" in said(capsys, "check", state)
    lines = [json.loads(line) for line in said(capsys, "export", state).splitlines()]
    assert len(lines) == len(entries) + 2
    assert lines[-1]["kind"] == "engine_gone"
    assert lines[-1]["body"] == {"engine": told["engine"]}
    twice = json.loads(said(capsys, "adopt", state, *gone, "--may-run-twice", "--json"))
    valid("journal-adopt-1.json", twice)
    assert [told["may_run_twice"], twice["may_run_twice"]] == [False, True]
    last = json.loads(said(capsys, "export", state).splitlines()[-1])
    assert last["body"] == {"engine": told["engine"], "may_run_twice": True}
    assert "fails, as it may have begun" in said(capsys, "adopt", state, *gone)
    assert "though it may have begun" in said(capsys, "adopt", state, *gone, "--may-run-twice")
    kept([], state.parent / "new.db")
    new = state.parent / "new.db"
    nothing = said(capsys, "adopt", new, "--old-machine-is-gone", code=Exit.BAD_INPUT)
    assert "no service has started" in nothing


def test_prune_removes_what_two_snapshots_cover_and_the_rest_says_so(
    state: Path, entries: list[Entry], capsys: pytest.CaptureFixture[str]
) -> None:
    before = json.loads(said(capsys, "check", state, "--json"))
    assert "there are not two yet" in said(capsys, "prune", state)
    ends = [one.seq for one, two in pairwise(entries) if one.step != two.step]
    store = open_store(state)
    for seq in (ends[len(ends) // 3], ends[len(ends) // 2]):
        store.keep(seq, snapshot_of(entries[:seq]))
    taken = said(capsys, "prune", state, code=Exit.BAD_INPUT)
    assert "being written by another service" in taken
    store.close()
    size = (state / "journal.db").stat().st_size
    first = ends[len(ends) // 3] + 1
    pruned = json.loads(said(capsys, "prune", state, "--json"))
    valid("journal-prune-1.json", pruned)
    assert (pruned["removed"], pruned["first"]) == (first - 1, first)
    assert (state / "journal.db").stat().st_size < size
    checked = json.loads(said(capsys, "check", state, "--json"))
    replayed = json.loads(said(capsys, "replay", state, "--json"))
    assert checked["first"] == replayed["first"] == first
    assert checked["digest"] == replayed["digest"] == before["digest"]
    assert f"from entry {first:,} on" in said(capsys, "check", state)
    assert f"from entry {first:,} on" in said(capsys, "check", state, "--recent")
    assert f"from entry {first:,} on" in said(capsys, "replay", state)
    lines = [json.loads(line) for line in said(capsys, "export", state).splitlines()]
    assert [Entry(**line) for line in lines[1:]] == entries[first - 1 :]
    text = said(capsys, "export", state, "--after", 0, code=Exit.BAD_INPUT)
    assert f"entries up to {first - 1} were removed" in text
    assert "removed 0 entries" in said(capsys, "prune", state, "--keep", "30d", "--clock-is-right")


def test_nothing_of_a_job_that_was_forgotten_is_left_in_a_shortened_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(retention=Retention(time=SECOND), snapshot_every=0)
    stage = Stage(settings=settings, fates={"secret": [Fate(SECOND)]})
    stage.submit(job("secret", 1, command="echo the-password"))
    stage.settle(8)
    assert stage.service.records.job("secret") is None
    for name in ("later", "last"):
        stage.submit(job(name, 1))
        stage.settle(1)
    entries = stage.entries()
    gone = next(entry.seq for entry in entries if entry.kind == "job_forgotten")
    ends = [one.seq for one, two in pairwise(entries) if one.step != two.step and one.seq >= gone]
    state = tmp_path / "secret"
    state.mkdir()
    path = kept(entries, state / "journal.db")
    store = open_store(path)
    for seq in (ends[0], ends[-1]):
        store.keep(seq, snapshot_of(entries[:seq]))
    store.close()
    assert b"the-password" in path.read_bytes()
    said(capsys, "prune", state)
    assert all(b"the-password" not in file.read_bytes() for file in state.iterdir())
