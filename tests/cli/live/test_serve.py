"""`fairlead serve` itself: how it begins, refuses, stops, and goes on where it was."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.cli.main import Exit, main, parser_of
from fairlead.cli.serving.process import forget_unused, running
from fairlead.client import Client, wait_for
from fairlead.model.job import Job
from fairlead.service.journal.places import open_store
from tests.cli.live.place import (
    CLUSTER,
    PATIENCE,
    Served,
    environment,
    fairlead,
    lacking,
    serving,
    until,
)
from tests.ports import kept_port
from tests.zygote.forked import Forked, finished


def test_all_that_was_asked_for_goes_into_the_background() -> None:
    parser, command = parser_of("serve")
    options = {
        action.option_strings[-1]: action
        for action in parser._actions  # noqa: SLF001  argparse has no other list of them
        if action.option_strings and action.dest not in ("help", "detach", "debug")
    }
    words = [
        word
        for name, action in options.items()
        for word in ([name] if action.nargs == 0 else [name, next(iter(action.choices or "x"))])
    ]
    again = command.words_of(parser.parse_args([*words, "--detach"]))
    assert {word for word in again if word.startswith("--")} == set(options)


def client_of(served: Served) -> Client:
    token = (served.state / "admin-token").read_text().strip()
    return Client(served.url, token)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_it_says_where_it_serves_where_its_state_is_and_how_it_stops(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    with serving(tmp_path, "--cluster", "cluster.yaml") as served:
        text = "\n".join(served.said)
        assert "the token of the administrator is in its file admin-token" in text
        assert f"serving 3 machines (local) on {served.url}" in text
        assert f"state in {served.state}" in text
        assert "`fairlead stop`" in text
        assert running(served.state) == served.process.pid
        assert mode(served.state) == 0o700
        for name in ("address", "admin-token", "journal.db"):
            assert mode(served.state / name) & 0o077 == 0, name
        with lacking(tmp_path, "--state", "state", "--listen", "127.0.0.1:0") as (_, said):
            assert f"is being written by another service (process {served.process.pid})" in said
        assert running(served.state) == served.process.pid
        code, rest = served.stop(signal.SIGINT)
    assert code == 0
    assert "stopped; tasks that run go on" in rest
    assert not (served.state / "address").exists()
    assert running(served.state) is None


@pytest.mark.slow
def test_tasks_outlive_the_service_and_are_found_again(tmp_path: Path) -> None:
    with serving(tmp_path) as served, client_of(served) as client:
        go, done = tmp_path / "go", tmp_path / "done"
        command = f"until [ -e {go} ]; do sleep 0.05; done; echo alive; touch {done}; exit 7"
        client.submit(Job("lasting", {"cpu": 1}, tasks=1, command=command))
        until(lambda: client.job("lasting").tasks.running == 1)
        code, _ = served.stop()
        assert code == 0
    go.touch()
    until(done.exists)
    with serving(tmp_path) as served, client_of(served) as client:
        *_, last = wait_for(client, ["lasting"], timeout=PATIENCE)
        assert last["lasting"].tasks.failed == 1
        (task,) = client.tasks("lasting")
        assert [(each.number, each.cause, each.code) for each in task.attempts] == [
            (1, "exited", 7)
        ]
        assert b"".join(client.outputs("lasting")) == b"alive\n"


@pytest.mark.slow
def test_who_waits_and_who_follows_outlasts_a_restart_of_the_service(tmp_path: Path) -> None:
    with kept_port() as port:
        outlasted(tmp_path, f"127.0.0.1:{port}")


def outlasted(tmp_path: Path, address: str) -> None:
    """Two commands talk to a service that is killed and comes back at its address."""
    commands, go = [], tmp_path / "go"
    with serving(tmp_path, "--listen", address) as served, client_of(served) as client:
        assert served.url == f"http://{address}"
        script = f"echo before; until [ -e {go} ]; do sleep 0.1; done; echo after"
        words = ["submit", "--name", "through", "--wait", "--url", served.url, "--", script]
        variables = environment(tmp_path) | {"FAIRLEAD_STATE": str(served.state)}
        for line in (words, ["logs", "-f", "through", "--url", served.url]):
            program = ["fairlead", *line]
            commands.append(
                Forked(
                    program,
                    env=variables,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                )
            )
            until(lambda: any(job.tasks.running for job in client.jobs()))
        follower = commands[1].stdout
        assert follower is not None
        assert follower.readline() == "before\n"
        served.stop(signal.SIGKILL)
    with serving(tmp_path, "--listen", address):
        go.touch()
        outs = [command.communicate(timeout=PATIENCE) for command in commands]
    assert [command.returncode for command in commands] == [0, 0], outs
    assert outs[0][0] == "through: finished, 1/1 tasks done\n"
    assert outs[1][0] == "after\n"


@pytest.mark.slow
def test_in_the_background_it_is_up_when_the_command_returns_and_warned_first(
    tmp_path: Path,
) -> None:
    machines = "machines:\n- {name: 'a[1-8]', capacity: {cpu: 1000, memory: 12TiB}}\n"
    (tmp_path / "cluster.yaml").write_text(machines, encoding="utf-8")
    words = ("--cluster", "cluster.yaml", "--listen", "127.0.0.1:0", "--log", "all")
    done = fairlead(tmp_path, "serve", "--detach", *words)  # `test_folder` has a real one
    assert done.returncode == 0, done.stderr
    state = tmp_path / "state-home" / "fairlead"
    try:
        assert done.stderr.startswith(
            "warning: the local engine runs the tasks of all 8 machines on this machine; together"
            " they have 8000 cpu and 96Ti memory, and this machine has "
        )
        assert done.stderr.count("\n") == 1
        assert done.stdout.startswith("serving on http://127.0.0.1:")
        assert json.loads(fairlead(tmp_path, "jobs", "--json").stdout)["jobs"] == []
        again = fairlead(tmp_path, "serve", "--detach")
        assert again.returncode == Exit.BAD_INPUT
        assert "a service runs with its state in" in again.stderr
        lines = (state / "service.log").read_text().splitlines()
        events = [json.loads(line) for line in lines if line.startswith("{")]
        assert events, lines
        assert "fl_admin" not in "\n".join(lines)
    finally:
        stopped = fairlead(tmp_path, "stop")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert running(state) is None
    nothing = fairlead(tmp_path, "stop")
    assert nothing.returncode == Exit.BAD_INPUT
    assert "no service runs here with its state in" in nothing.stderr


def test_in_the_background_it_says_what_keeps_it_from_starting(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("machines: [{name: a}]\n", encoding="utf-8")
    words = ("--listen", "127.0.0.1:0", "--cluster", "cluster.yaml")
    done = fairlead(tmp_path, "serve", "--detach", *words)
    assert done.returncode == Exit.BAD_INPUT
    assert 'error: cluster.yaml:1:12: machine "a": it has no capacity' in done.stderr


@pytest.mark.deep
@pytest.mark.slow
def test_in_the_background_it_says_that_it_waits_where_that_takes_long(tmp_path: Path) -> None:
    code = "import sys; from fairlead.cli.commands import serve; serve.SILENT = 0.0\n"
    code += "from fairlead.cli.main import main; sys.exit(main(sys.argv[1:]))"
    state = tmp_path / "state"
    words = ["serve", "--detach", "--listen", "127.0.0.1:0", "--state", str(state)]
    screen, terminal = os.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
            stderr=terminal,
            encoding="utf-8",
            check=False,
            timeout=300,
        )
        said = os.read(screen, 10_000).decode()
        log = state / "service.log"
        assert said == f"not serving yet; waiting up to 300 s (its log: {log})\r\n"
        assert done.returncode == 0
        assert done.stdout.startswith("serving on http://127.0.0.1:")
    finally:
        os.close(terminal)
        os.close(screen)
        fairlead(tmp_path, "stop", "--state", str(state))


def test_the_file_says_what_the_command_line_does_not(tmp_path: Path) -> None:
    text = "listen: 127.0.0.1:1\nlimits: {tasks_per_job: 3}\npolicy: drfh\nreserve_after: off\n"
    text += "retention: {time: 1h}\napi: {body_seconds: 5s, token_rate: 50.5}\nno_auth: true\n"
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    with serving(tmp_path, "--config", "config.yaml") as served:
        with Client(served.url) as client:
            job = Job("four", {"cpu": 1}, tasks=4, command="true")
            with pytest.raises(Exception, match="3"):
                client.submit(job)
            assert client.shares().policy == "drfh"
        assert not served.url.endswith(":1")
        assert "everybody on this machine may do everything" in "\n".join(served.said)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--listen", "nonsense"], "--listen 'nonsense' is not where to listen; write HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "is not where to listen"),
        (["--listen", "0.0.0.0:0"], "without TLS tokens can be read on the way"),
        (["--listen", "0.0.0.0:0", "--no-auth"], "everybody who reaches 0.0.0.0"),
        (["--listen", "no-such-host.invalid:0"], "no-such-host.invalid"),
        (["--tls-cert", "x.pem"], "TLS needs a certificate and its key"),
        (["--tls-cert", "x.pem", "--tls-key", "y.pem"], "x.pem"),
        (["--address", "auto"], "--address is that of a Ray cluster; write --engine ray"),
        (["--engine", "flux"], "--engine cannot be 'flux'; give local, ray or slurm"),
        (["--cluster", "nowhere.yaml"], "no such file: nowhere.yaml"),
        (
            ["--cluster", "large.yaml"],
            'machine "b1", capacity, cpu: this is more than can be counted of one machine',
        ),
        (["--cluster", "large.yaml"], "large.yaml:1:45: machine"),
        (["--cluster", "limits.yaml", "--listen", "127.0.0.1:0"], 'limits.yaml:2:34: tenant "t"'),
        (["--cluster", "large.yaml"], "large.yaml:2:35: machine"),
        (["--cluster", "with-jobs.yaml"], "describes jobs, too"),
        (["--cluster", "with-jobs.yaml", "--engine", "ray"], "describes jobs, too"),
        (["--cluster", "cluster.yaml", "--engine", "ray"], "with --engine ray they come from Ray"),
        (["--config", "nowhere.yaml"], "no such file: nowhere.yaml"),
        (["--config", "bad.yaml"], 'bad.yaml:1:9: setting "engine"'),
        (  # found where it is made, once the address is there
            ["--state", "cluster.yaml", "--listen", "127.0.0.1:0"],
            "cluster.yaml cannot be the state folder",
        ),
        (["--state", "cluster.yaml", "--detach"], "cluster.yaml cannot be the state folder"),
        (["--journal", "mysql://x/y"], "no journal is kept at mysql://"),
        (["--journal", "x"], "nothing is at x, so this may be a folder or a file; make the folder"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_is_there(
    words: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FAIRLEAD_STATE", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    large = 'machines: [{name: "b[1-2]", capacity: {cpu: 2e19}},\n'
    large += "{name: c, capacity: {cpu: 1, gpu: 100}}]"
    Path("large.yaml").write_text(large, encoding="utf-8")
    limits = "machines: [{name: a, capacity: {cpu: 1}}]\ntenants: [{name: t, limit: {cpu: 2e19}}]"
    Path("limits.yaml").write_text(limits, encoding="utf-8")
    job = "jobs: [{name: a, demand: {cpu: 1}}]\n"
    Path("with-jobs.yaml").write_text(f"{CLUSTER}{job}", encoding="utf-8")
    Path("bad.yaml").write_text("engine: [local]\n", encoding="utf-8")
    with socket.socket() as taken:  # which would be waited for
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        listen = [] if "--listen" in words else ["--listen", address]
        assert main(["serve", *listen, *words]) == Exit.BAD_INPUT
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: ")
    assert sentence in printed.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("limit: {}\n", 'unknown key "limit"; did you mean "limits"?'),
        ("limits: {task: 3}\n", 'unknown key "task"'),
        ("limits: {jobs: many}\n", 'config.yaml:1:16: limits, jobs: "many" is not a whole number'),
        ("node_interval: 5\n", "write the unit: 5s, 5m or 5h"),
        ("no_auth: yes\n", '"yes" is neither true nor false'),
        ("api: {token_rate: fast}\n", '"fast" is not a number'),
        ("engine: flux\n", 'there is no engine "flux"'),
        ("policy: tfs\n", "tfs"),
        ("policy: kdf(k=0)\n", 'config.yaml:1:9: setting "policy": k-DF with k = 0; k must be 1'),
        (
            "policy: 'kdf(k=2, gpu=0)'\n",
            'config.yaml:1:9: setting "policy": k-DF is given the weight gpu=0',
        ),
        (
            "resources: [cpu, gpu, cpu]\n",
            'config.yaml:1:23: setting "resources": "cpu" is there twice',
        ),
        (
            "quarantine: 1h\nquarantine_most: 1s\n",
            'config.yaml:1:13: setting "quarantine": the first',
        ),
        ("log: all\ntls_cert: c.pem\n", 'config.yaml:2:11: setting "tls_cert": TLS needs a cert'),
        ("cluster: nope.yaml\n", 'config.yaml:1:10: setting "cluster": no such file: nope'),
        ("a: [\n", "this is not YAML"),
    ],
)
def test_mistakes_of_the_file_have_their_places(
    text: str,
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(text, encoding="utf-8")
    words = ["serve", "--config", "config.yaml", "--state", "state", "--listen", "127.0.0.1:0"]
    assert main(words) == Exit.BAD_INPUT
    assert sentence in capsys.readouterr().err


def test_a_port_that_is_taken_is_waited_for(tmp_path: Path) -> None:
    with kept_port() as port, socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        address = f"127.0.0.1:{port}"
        words = ("--listen", address, "--state", "state", "--log", "off")
        with lacking(tmp_path, *words) as (process, said):
            assert f"{address} cannot be listened on: Address already in use" in said
            assert not (tmp_path / "state").exists()
            taken.close()
            assert process.stdout is not None
            assert f"on http://{address}\n" in process.stdout.readline()


def test_a_database_that_is_away_is_waited_for(tmp_path: Path) -> None:
    words = ("--journal", "postgresql://127.0.0.1:1/none", "--listen", "127.0.0.1:0")
    with lacking(tmp_path, *words, "--state", "state") as (_, said):
        assert "the journal in postgresql://127.0.0.1:1/none cannot be used now: " in said


def test_a_cluster_whose_commands_are_not_here_leaves_no_journal(tmp_path: Path) -> None:
    words = ("--engine", "slurm", "--mode", "observe", "--state", "state", "--listen")
    done = finished(
        ["fairlead", "serve", *words, "127.0.0.1:0"],
        tmp_path,
        environment(tmp_path) | {"PATH": str(tmp_path)},
    )
    assert (done.returncode, done.stdout) == (Exit.BAD_INPUT, "")
    assert "there is no sinfo on this machine" in done.stderr
    assert not (tmp_path / "state").exists()


def test_where_nothing_could_begin_no_folder_is_left(tmp_path: Path) -> None:
    state = tmp_path / "state"
    forget_unused([state], None)  # it was never made
    state.mkdir(mode=0o700)
    store = open_store(state)
    forget_unused([state], None)  # another service has it
    assert (state / "journal.db").exists()
    store.close()
    forget_unused([state], None)
    assert not state.exists()
    state.mkdir(mode=0o700)
    (state / "journal-head").touch()  # of a journal elsewhere, which may hold something
    forget_unused([state], "postgresql://db/fairlead")
    assert state.exists()


def test_what_was_written_down_stays(tmp_path: Path) -> None:
    with serving(tmp_path, "--state", "state") as served:
        served.stop()
    before = sorted((tmp_path / "state").iterdir())
    forget_unused([tmp_path / "state"], None)
    assert sorted((tmp_path / "state").iterdir()) == before


def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "journal.db").write_bytes(b"this is no database" * 100)
    done = fairlead(tmp_path, "serve", "--state", "state", "--listen", "127.0.0.1:0")
    assert (done.returncode, done.stdout) == (Exit.BAD_INPUT, "")
    assert "journal" in done.stderr
    assert (state / "journal.db").read_bytes() == b"this is no database" * 100


def test_a_stale_note_of_a_process_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "process").write_text(f"{os.getpid()} 1.00\n")
    assert running(tmp_path) is None
    (tmp_path / "process").write_text("nonsense\n")
    assert running(tmp_path) is None
