"""Services that lead, follow and take over, as processes on a real database."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx2
import psutil
import psycopg
import pytest

from fairlead.cli.main import parser_of
from fairlead.cli.serving.maker import ServiceMaker
from fairlead.cli.serving.plan import plan_of
from fairlead.client.client import Client
from fairlead.client.errors import BusyError, NotLeadingError
from fairlead.client.transport import TAKEOVER
from fairlead.model.job import Job
from fairlead.service.journal.leases import RUN_OUT, TRUST
from fairlead.service.journal.places import open_reader
from fairlead.service.metrics import Metrics
from fairlead.service.process.clock import wall_clock
from fairlead.service.recovery.follower import Follower
from fairlead.whole_file import write_whole
from fairlead.wire.kinds import JobState
from tests.cli.live.place import (
    CLUSTER,
    PATIENCE,
    Served,
    environment,
    fairlead,
    lacking,
    serving,
    start,
    until,
)
from tests.service.failovers import Way
from tests.surroundings import NOBODY
from tests.zygote.forked import Forked

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.deep
def test_what_the_page_for_operators_shows(database: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, str(ROOT / "packaging" / "try-failover"), database],
        env=environment(tmp_path) | {"FAIRLEAD": f"{sys.executable} -m fairlead"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = re.sub(r"\d+ s\b", "N s", done.stdout)
    assert re.sub(r"N s$", "-", said, flags=re.MULTILINE).count("finished") == 4
    page = (ROOT / "docs" / "howto" / "run-a-standby.md").read_text(encoding="utf-8")
    shown = re.sub(r"\d+ s\b", "N s", page)
    lines = [line for line in said.splitlines() if "finished" not in line]
    for line in lines:
        assert line in shown


def get(url: str, path: str = "/v1/ready") -> httpx2.Response:
    return httpx2.get(f"{url}{path}", timeout=60, verify=NOBODY)


def follows(url: str, leader: str) -> bool:
    try:
        return bool(get(url).json()["leader"] == leader)
    except httpx2.TransportError:  # it begins anew, and drops connections that it had not heard
        return False


def leads(url: str) -> bool:
    return get(url).status_code == 200


def test_a_follower_reads_and_is_ready_only_once_it_leads(database: str, tmp_path: Path) -> None:
    words = ("--cluster", "cluster.yaml", "--journal", database)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with serving(folders[0], *words) as one, serving(folders[1], *words) as other:
        token = (one.state / "admin-token").read_text().strip()
        with Client(one.url, token) as client:
            client.submit(Job("x", {"cpu": 1}, tasks=1, command="true"))
        assert leads(one.url)
        found = get(other.url)
        assert found.status_code == 503
        assert found.json()["leader"] == found.headers["fairlead-leader"] == one.url
        with Client(other.url, token) as client:
            until(lambda: [row.name for row in client.jobs(all=True)] == ["x"])
            assert client.age is not None
            assert client.shares().tenants
            why = client.why("x")
            assert why.job == "x"
            assert "nothing new starts" not in str(why)  # its leader starts what it does not
            with pytest.raises(NotLeadingError, match=f"the one that leads at {one.url}"):
                client.submit(Job("y", {"cpu": 1}, tasks=1, command="true"))
        both = f"{other.url},{one.url}"
        with Client(both, token, timeout=5, patience=PATIENCE) as client:
            client.submit(Job("y", {"cpu": 1}, tasks=1, command="true"))
            assert client.place.url == one.url
            one.process.send_signal(signal.SIGSTOP)
            client.submit(Job("z", {"cpu": 1}, tasks=1, command="true"))
            assert client.place.url == other.url
            assert client.age is None
        one.process.send_signal(signal.SIGCONT)
        until(lambda: follows(one.url, other.url))
        assert leads(other.url)


def test_a_leader_that_cannot_write_is_not_ready(database: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with serving(tmp_path, "--cluster", "cluster.yaml", "--journal", database) as served:
        assert leads(served.url)
        with psycopg.connect(database) as connection:
            connection.execute("LOCK TABLE journal_head IN ACCESS EXCLUSIVE MODE")
            until(lambda: not leads(served.url))
            assert get(served.url).json()["leads"]
        until(lambda: leads(served.url))


def test_a_leader_whose_database_hangs_answers_what_it_knows_and_how_old_that_is(
    database: str, tmp_path: Path
) -> None:
    """Nothing goes through, and nobody is told: neither the beats nor an append come back."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    way = Way(tmp_path / "way", Path(database.rpartition("host=")[2]))
    place = f"{database.partition('?')[0]}?host={way.folder}"
    with serving(tmp_path, "--cluster", "cluster.yaml", "--journal", place, "--no-auth") as served:
        with Client(served.url) as client:
            client.submit(Job("x", {"cpu": 1}, tasks=1, command="true"))
            assert client.age is None
        way.stalled = True
        until(lambda: not leads(served.url))
        found = get(served.url, "/v1/jobs?all=true")
        assert [job["name"] for job in found.json()["jobs"]] == ["x"]
        assert float(found.headers["fairlead-age"]) > TRUST
        with Client(served.url) as client, pytest.raises(BusyError, match="journal"):
            client.submit(Job("y", {"cpu": 1}, tasks=1, command="true"))
        way.stalled = False
        until(lambda: leads(served.url))
        assert "fairlead-age" not in get(served.url, "/v1/jobs").headers
        with Client(served.url) as client:
            client.submit(Job("y", {"cpu": 1}, tasks=1, command="true"))


FILES = ("address", "process")
"""What a state folder has of a service that serves there, or waits for it."""


def test_one_that_waits_for_the_state_folder_takes_it(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = ["--state", "state", "--cluster", "cluster.yaml"]
    with serving(tmp_path, *words) as served:
        with lacking(tmp_path, *words, "--listen", "127.0.0.1:0") as (_, said):
            assert "is being written by another service" in said
        waiting = ["serve", *words, "--listen", "127.0.0.1:0", "--standby", "--detach"]
        first = start(tmp_path, *waiting[1:-1])
        until(lambda: all((served.state / f"standby-{what}").exists() for what in FILES))
        again = fairlead(tmp_path, *waiting)
        assert again.returncode == 2
        assert "one can wait" in again.stderr
        url = (served.state / "standby-address").read_text().strip()
        process = int((served.state / "standby-process").read_text().split()[0])
        try:
            assert get(url).json()["leader"] == served.url
            served.process.kill()
            served.process.wait()
            until(lambda: leads(url))
            until(lambda: (served.state / "address").read_text().strip() == url)
            token = (served.state / "admin-token").read_text().strip()
            with Client(url, token) as client:
                client.submit(Job("x", {"cpu": 1}, tasks=1, command="true"))
            third = fairlead(tmp_path, *waiting)  # and now another one can wait
            assert third.stdout.startswith("waiting on http://"), third.stderr
            next_url = (served.state / "standby-address").read_text().strip()
            assert get(next_url).json()["leader"] == url
            stopped = fairlead(tmp_path, "stop", "--state", "state")
            assert stopped.returncode == 0, stopped.stderr
            assert not running(process)
            until(lambda: leads(next_url))
            until(lambda: (served.state / "address").read_text().strip() == next_url)
            stopped = fairlead(tmp_path, "stop", "--state", "state")
            assert stopped.returncode == 0, stopped.stderr
        finally:
            for name in ("process", "standby-process"):
                with suppress(FileNotFoundError, ProcessLookupError):
                    os.kill(int((served.state / name).read_text().split()[0]), signal.SIGKILL)
            first.communicate()
    assert not (served.state / "address").exists()


def running(process: int) -> bool:
    """Whether it has not ended; where nobody reaps it, something of it stays."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_leader_that_hangs_is_gone_before_its_followers_lose_patience() -> None:
    assert RUN_OUT + 4 <= 10 < TAKEOVER


def test_a_try_to_lead_that_somebody_holds_up_or_a_full_disk_forgets_nothing(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To read the journal again takes the longer the more there is in it: then the silence of who
    led would count anew, and nobody would lead for twice as long."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    parser, _ = parser_of("serve")
    words = ["--cluster", str(tmp_path / "cluster.yaml"), "--journal", database, "--state"]
    plan = plan_of(parser.parse_args([*words, str(tmp_path / "other")]))
    plan.state.mkdir()
    noted = tmp_path / "noted"
    with (
        serving(tmp_path, "--cluster", "cluster.yaml", "--journal", database) as served,
        psycopg.connect(database) as held,
        ExitStack() as opened,
    ):
        maker = ServiceMaker(plan, Metrics(), [], wall_clock, opened)
        follower = maker.begin(lambda: None)
        assert isinstance(follower, Follower)
        opened.callback(follower.close)
        known = follower.core
        served.process.send_signal(signal.SIGSTOP)
        gone = follower.free = follower.store.standing()
        held.execute("SELECT 1 FROM journal_head FOR UPDATE")
        assert maker.lead(follower, gone, noted.touch) is None
        assert maker.lead(follower, gone, noted.touch) is None
        assert capsys.readouterr().err.count("this service cannot yet") == 1
        assert not noted.exists()
        follower.step(0)
        assert follower.free != gone
        assert follower.core is known is not None
        held.rollback()
        # Who leads is written down in the state folder: while that is full, nobody does.
        full = partial(write_whole, tmp_path / "there is no folder" / "process", "1\n")
        assert maker.lead(follower, follower.store.standing(), full) is None
        assert "this service cannot yet: " in capsys.readouterr().err
        service = maker.lead(follower, follower.store.standing(), noted.touch)
        assert service is not None
        assert noted.exists()
        assert service.core is known
        service.close()


@pytest.mark.deep
def test_one_in_the_background_says_that_it_follows_and_whom(database: str, tmp_path: Path) -> None:
    words = ("--cluster", "cluster.yaml", "--journal", database)
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with serving(tmp_path, *words) as one:
        unseen = ("--listen", "127.0.0.1:0", "--state", "b", "--detach")
        other = fairlead(tmp_path, "serve", *words, *unseen)
        try:
            said = f"following the service that leads at {one.url}; reads"
            assert other.stdout.startswith(said), other.stderr
        finally:
            stopped = fairlead(tmp_path, "stop", "--state", "b")
            assert stopped.returncode == 0, stopped.stderr


def test_one_that_was_overtaken_says_that_it_waits_for_the_database_and_then_follows(
    database: str, tmp_path: Path
) -> None:
    """Connections that there are stay; nobody gets another one for a while."""
    place = database.replace("postgres@", "once@")
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("CREATE ROLE once LOGIN")
        admin.execute("GRANT ALL ON SCHEMA public TO once")
        folders = [tmp_path / "a", tmp_path / "b"]
        for folder in folders:
            folder.mkdir()
            (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
        words = ("--cluster", "cluster.yaml", "--journal", place)
        try:
            with serving(folders[0], *words) as one, serving(folders[1], *words) as other:
                one.process.send_signal(signal.SIGSTOP)
                until(lambda: leads(other.url))
                admin.execute("ALTER ROLE once NOLOGIN")
                one.process.send_signal(signal.SIGCONT)
                lines = said_until(one, "journal_down")
                assert "it follows that one" in lines[0]
                assert 'role \\"once\\" is not permitted to log in' in lines[-1]
                assert (one.state / "process").read_text().split()[0] == str(one.process.pid)
                admin.execute("ALTER ROLE once LOGIN")
                lines = said_until(one, "following the service that leads")
                # It tried once a second, and said no more than that it waits and that this is over.
                assert ["journal_back" in line for line in lines] == [True, False]
                until(lambda: follows(one.url, other.url))
                assert leads(other.url)
        finally:
            admin.execute("DROP OWNED BY once")
            admin.execute("DROP ROLE once")


@contextmanager
def newer(folder: Path, *words: str) -> Iterator[str]:
    """The address of a service of a version that writes what this one does not know."""
    with (folder / "said").open("wb") as said:
        process = Forked(
            ["tests.service.newer", "serve", "--listen", "127.0.0.1:0", *words],
            cwd=folder,
            env=environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )
    address = folder / "state" / "address"
    try:
        until(address.exists)
        yield address.read_text().strip()
    finally:
        process.kill()
        process.wait()


def test_one_that_a_newer_one_overtook_ends_with_a_sentence_and_writes_nothing(
    database: str, tmp_path: Path
) -> None:
    """Two versions on one journal, as when one machine is upgraded before the other."""
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        (folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    words = ("--cluster", "cluster.yaml", "--journal", database)
    with (
        serving(folders[0], *words) as old,
        newer(folders[1], *words, "--state", "state") as url,
    ):
        until(lambda: follows(url, old.url))
        old.process.send_signal(signal.SIGSTOP)
        until(lambda: leads(url))
        old.process.send_signal(signal.SIGCONT)
        rest, _ = old.process.communicate(timeout=PATIENCE)
        assert old.process.returncode == 2, rest
        assert "as version 9.9 of Fairlead wrote it" in rest.splitlines()[-1]
        assert rest.count("use the newer one") == 1
        assert "Traceback" not in rest
        reader = open_reader(database)
        before = [entry for entry in reader.read() if entry.kind == "service_started"]
        again = fairlead(folders[0], "serve", *words, "--listen", "127.0.0.1:0")
        assert again.returncode == 2
        assert "use the newer one" in again.stderr
        assert [e for e in reader.read() if e.kind == "service_started"] == before
        reader.close()
        token = (old.state / "admin-token").read_text().strip()
        with Client(url, token) as client:
            client.submit(Job("x", {"cpu": 1}, tasks=1, command="true"))
            until(lambda: client.job("x").state is JobState.FINISHED)


def test_one_that_waits_for_the_database_can_be_stopped(database: str, tmp_path: Path) -> None:
    place = database.replace("postgres@", "twice@")
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute("CREATE ROLE twice LOGIN")
        admin.execute("GRANT ALL ON SCHEMA public TO twice")
        (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
        try:
            with serving(tmp_path, "--cluster", "cluster.yaml", "--journal", place) as one:
                admin.execute("ALTER ROLE twice NOLOGIN")
                admin.execute("UPDATE journal_head SET epoch = epoch + 1")
                said_until(one, "journal_down")
                stopped = fairlead(tmp_path, "stop", "--state", "state")
                assert (stopped.returncode, stopped.stderr) == (0, "")
                assert one.process.wait() == 128 + signal.SIGTERM
        finally:
            admin.execute("DROP OWNED BY twice")
            admin.execute("DROP ROLE twice")


def said_until(one: Served, word: str) -> list[str]:
    """The lines that it says up to the one with that word."""
    found: list[str] = []
    while not found or word not in found[-1]:
        assert one.process.stdout is not None
        line = one.process.stdout.readline()
        assert line, found
        found.append(line.rstrip("\n"))
    return found
