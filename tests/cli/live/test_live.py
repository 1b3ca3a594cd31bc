"""Commands against a real service with the local engine: what a user types, and types wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from fairlead.cli.main import Exit
from fairlead.wire.fairness import Shares, WhyAnswer
from fairlead.wire.jobs import JobDetail, Jobs, Submitted
from fairlead.wire.machines import Machines
from fairlead.wire.tenants import Tenants
from tests.cli.live.place import PATIENCE, Served, Terminal, column, names, until
from tests.http_server import Quiet, serving_http

ENDLESS = ("--", "sleep", "1000")


# Submitting


def test_a_job_that_can_never_run_is_warned_of_or_strictly_refused(shell: Terminal) -> None:
    words = ("submit", "--name", "never", "--cpu", "1000", *ENDLESS)
    code, out, err = shell(*words[:1], "--strict", *words[1:])
    assert (code, out) == (Exit.BAD_INPUT, "")
    assert 'job "never": it can never run, because ' in err
    assert "too little cpu" in err
    assert shell.json("jobs")["jobs"] == []
    code, out, err = shell(*words)
    assert (code, out) == (0, "never: submitted, 1 task\n")
    assert err.startswith("warning: never: it can never run, because ")
    assert shell("why", "never")[1].count("can never run") == 1
    shell.good("cancel", "never")
    code, out, err = shell("submit", "--json", "--name", "far", "--where", "zne = a", *ENDLESS)
    (warning,) = json.loads(out)["warnings"]
    assert warning["job"] == "far"
    assert "no machine has the label zne" in warning["sentence"]
    assert err == f"warning: far: {warning['sentence']}\n"


def test_a_command_runs_and_its_end_is_the_exit_code(shell: Terminal) -> None:
    code, out, err = shell("submit", "--name", "good", "--wait", "--", "true")
    assert (code, out) == (0, "good: finished, 1/1 tasks done\n")
    assert err == "good: submitted, 1 task\n"
    words = ("submit", "--name", "bad", "-n", "2", "--wait", "--", "exit $FAIRLEAD_TASK")
    code, out, _ = shell(*words)
    assert (code, out) == (Exit.REFUTED, "bad: failed, 1/2 tasks done, 1 failed\n")


def test_a_job_that_is_cancelled_while_one_waits_has_its_own_exit_code(shell: Terminal) -> None:
    shell.good("submit", "--name", "unwanted", "--key", "k", *ENDLESS)
    shell.good("cancel", "unwanted")
    code, out, _ = shell("submit", "--name", "unwanted", "--key", "k", "--wait", *ENDLESS)
    assert (code, out) == (Exit.CANCELLED, "unwanted: cancelled, 0/1 tasks done\n")


def test_waiting_ends_when_its_time_is_over(shell: Terminal) -> None:
    words = ("submit", "--name", "long", "--wait", "--timeout", "200ms", *ENDLESS)
    code, out, _ = shell(*words)
    assert code == Exit.LATER
    assert out in ("long: running, 0/1 tasks done\n", "long: pending, 0/1 tasks done\n")


def test_who_stops_waiting_stops_no_job(shell: Terminal) -> None:
    words = [sys.executable, "-m", "fairlead", "submit", "--name", "goes-on", "--wait", *ENDLESS]
    waiting = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )
    until(lambda: shell.json("jobs", "--state", "running")["jobs"] != [])
    assert waiting.stderr is not None
    assert waiting.stderr.readline() == "goes-on: submitted, 1 task\n"
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (Exit.INTERRUPTED, "")
    assert err.startswith("no longer waiting: the jobs go on")
    assert names(shell.json("jobs", "--state", "running")["jobs"]) == ["goes-on"]


def test_options_reach_the_job(shell: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEED", "7")
    options = ["--name", "all", "--tenant", "vision", "-n", "3", "--cpu", "0.5", "--memory", "1MiB"]
    options += ["--where", "zone = east", "--machine", "a[1-2]", "-e", "A=1=2", "-e", "SEED"]
    options += ["--time-limit", "1h", "--duration", "5s", "--retries", "2", "--once", "--spread"]
    shell.good("submit", *options, "--cwd", "/", "--", "sleep", "1000")
    job = shell.json("job", "all")["job"]
    assert job == {
        "name": "all",
        "demand": {"cpu": "0.5", "memory": "1048576"},
        "tenant": "vision",
        "cwd": "/",
        "retries": 2,
        "where": "zone = east",
        "duration": "5s",
        "time_limit": "3600s",
        "tasks": 3,
        "machines": ["a1", "a2"],
        "spread": True,
        "command": ["sleep", "1000"],
        "env": {"A": "1=2", "SEED": "7"},
        "rerunnable": False,
    }


def test_a_command_runs_in_the_folder_where_it_was_submitted(
    shell: Terminal, tmp_path: Path
) -> None:
    shell("submit", "--name", "here", "--wait", "--", "pwd -P")
    assert shell.good("logs", "here").rstrip("\n") == str(tmp_path.resolve())


def test_a_job_without_a_name_gets_one_of_its_command(shell: Terminal) -> None:
    (row,) = shell.json("submit", "--", "/bin/sleep 1000")["jobs"]
    assert row["name"].startswith("sleep-")
    assert len(row["name"]) == len("sleep-12345")


def test_a_job_without_a_tenant_beside_one_of_the_same_name_is_called_by_both(
    shell: Terminal,
) -> None:
    said = ("--name", "twin", "--", "sleep 1000")
    shell("submit", "--tenant", "sales", *said)
    assert shell.good("submit", *said) == "/twin (twin of no tenant): submitted, 1 task\n"
    shell.good("cancel", "/twin", "sales/twin")


def test_a_file_of_jobs_is_submitted_whole_or_not_at_all(shell: Terminal, tmp_path: Path) -> None:
    good = "{name: one, tenant: sales, demand: {cpu: 1}, tasks: 1, command: [sleep, '1000']}"
    bad = "{name: two, tenant: nobody, demand: {cpu: 1}, tasks: 1, command: 'true'}"
    file = tmp_path / "jobs.yaml"
    file.write_text(f"jobs:\n  - {good}\n  - {bad}\n", encoding="utf-8")
    assert 'there is no tenant "nobody"' in shell.refused("submit", "jobs.yaml")
    assert shell.json("jobs")["jobs"] == []
    file.write_text(f"jobs:\n  - {good}\n", encoding="utf-8")
    assert shell.good("submit", "jobs.yaml") == "one: submitted, 1 task\n"
    again = shell.refused("submit", "jobs.yaml")
    assert 'job "one": there is a job of this name' in again
    assert again.count("\n") == 1
    (row,) = shell.json("submit", "--again", "jobs.yaml")["jobs"]
    assert row["name"].startswith("one-")
    assert shell.good(
        "submit", "--key", "keyed", "--name", "keyed", "--tenant", "sales", "--", "true"
    )
    said = shell.refused("submit", "--again", "--key", "keyed", "jobs.yaml")
    assert 'the key "keyed" was used for other jobs' in said


def test_memory_without_a_unit_is_told(shell: Terminal) -> None:
    code, out, err = shell(
        "submit", "--name", "few", "--memory", "10", "--tenant", "sales", *ENDLESS
    )
    assert (code, out) == (0, "few: submitted, 1 task\n")
    assert (
        "warning: few: each task asks for 10 bytes of memory, less than any process takes; with a"
        in err
    )


def test_very_many_jobs_are_submitted_in_several_requests_and_waited_for(
    shell: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.client.client.BATCH", 25)
    lines = [
        f"  - {{name: many-{i}, tenant: sales, demand: {{cpu: 1}}, tasks: 1, command: 'true'}}"
        for i in range(60)
    ]
    (tmp_path / "jobs.yaml").write_text("jobs:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    tree = shell.json("submit", "--wait", "--key", "many", "jobs.yaml")
    assert {row["state"] for row in tree["jobs"]} == {"finished"}
    assert names(tree["jobs"]) == [f"many-{i}" for i in range(60)]
    again = shell.json("submit", "--key", "many", "jobs.yaml")
    assert [row["id"] for row in again["jobs"]] == [row["id"] for row in tree["jobs"]]


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", " lead", ""])
def test_a_key_that_cannot_be_sent_is_a_mistake(key: str, shell: Terminal) -> None:
    said = shell.refused("submit", "--name", "unsent", "--key", key, *ENDLESS)
    assert "is no idempotency key; write 1 to 255 printable ASCII" in said
    assert "unsent" not in shell.good("jobs", "--all")


def test_the_same_key_submits_once(shell: Terminal) -> None:
    words = ("submit", "--name", "once", "--key", "mine", *ENDLESS)
    first = shell.good(*words)
    code, out, err = shell(*words)
    assert (code, out) == (0, first)
    assert "submitted before with the key mine: nothing new was" in err
    other = shell.refused("submit", "--name", "other", "--key", "mine", *ENDLESS)
    assert "key" in other


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["submit"], "there is nothing to submit; name files of jobs, or write a command after --"),
        (["submit", "--"], "nothing stands after --; write a command"),
        (["submit", "x.yaml", "--", "true"], "'x.yaml' stands before -- where options stand"),
        (["submit", "x.yaml"], "no such file: x.yaml"),
        (["submit", "--cpu", "2", "x.yaml"], "--cpu is about the job of a command"),
        (
            ["submit", "--tenant", "sales", "echo", "hi there"],
            "no such file: echo; put -- before the command: -- echo 'hi there'",
        ),
        (["submit", "python", "x.py", "--epochs", "3"], "put -- before the command"),
        (["submit", "--follow", "--", "true"], "write --wait, too"),
        (
            ["submit", "--wait", "--follow", "-n", "101", "--", "true"],
            "at most 100 can be followed",
        ),
        (["submit", "--cpu", "two", "--", "true"], 'demand, cpu: "two" is not'),
        (["submit", "--cpu", "0", "--", "true"], "needs nothing at all has no share"),
        (["submit", "-n", "0", "--", "true"], "0 is not a number of tasks"),
        (
            ["submit", "-r", "gpu=1", "--gpu", "2", "--", "true"],
            "--gpu 2 and --resource gpu=1 are two amounts of gpu; write one of them",
        ),
        (
            ["submit", "-r", "cpu=1", "-r", "cpu=1", "--", "true"],
            "--resource cpu=1 and --resource cpu=1 are two amounts of cpu",
        ),
        (["submit", "-r", "gpu", "--", "true"], "--resource gpu is no amount of a resource"),
        (["submit", "-e", "NO_SUCH", "--", "true"], "no such variable is set here"),
        (["submit", "-e", "A=1", "-e", "A=2", "--", "true"], "--env A is given twice"),
        (["submit", "--duration", "1e20h", "--", "true"], "1e20h is too long; write at most"),
        (["shares", "--jobs", "--over", "1h"], "--jobs is of now"),
        (["shares", "--over", ""], '--over: "" is not a duration'),
        (["shares", "--tenant", ""], "--tenant is for shares over time"),
        (["submit", "--where", "zone =", "--", "true"], "where"),
        (["submit", "--time-limit", "5", "--", "true"], "write the unit: 5s, 5m or 5h"),
        (["submit", "--timeout", "1s", "--", "true"], "write --wait, too"),
        (["submit", "--cpu", "", "--", "true"], 'cpu: ""'),
        (["submit", "--name", "", "--", "true"], "a name cannot be empty"),
        (["submit", "--name", " ", "--", "true"], "a name cannot be spaces alone; write at"),
        (["submit", "--name", "\udcff", "--", "true"], "'\\udcff' is no text in UTF-8"),
        (["submit", "--", "echo", "\udcff"], "is no text in UTF-8"),
        (["submit", "-n", "1e9", "--", "true"], "1000000000 tasks are more than one job may have"),
        (["jobs", "--state", ""], "a job is never ''"),
        (["job", ".."], 'there is no job ".."'),
        (["job", "../v1/tenants"], 'there is no job "../v1/tenants"'),
        (["job", ""], "a name is empty"),
        (["drain", ""], "a name is missing"),
        (["submit", "--demand", "cpu=2", "--", "true"], "--gpu N, or --resource NAME=N"),
        (["submit", "--zzz", "--", "true"], "`fairlead submit --help` shows what it takes"),
        (["submit", "--zzz", "true"], "if it is an option of the command, put -- before"),
        (["submit", "--wiat", "--", "true"], "did you mean '--wait'?"),
        (["submit", "--tenant", "vison", "--", "true"], "vison"),
        (["job", "nope"], 'there is no job "nope"'),
        (["why", "nope"], 'there is no job "nope"'),
        (["why", "a\x1b"], 'path "job": a name holds no control characters'),
        (["logs", "nope"], 'there is no job "nope"'),
        (["cancel", "nope"], 'there is no job "nope"'),
        (["forget", "nope"], 'there is no job "nope"'),
        (["cancel"], "no job is named; name the jobs to cancel"),
        (["cancel", "x", "--all", "--tenant", "sales"], "both jobs and a tenant are named"),
        (["cancel", "x", "--state", "pending"], "jobs are named, and others are chosen, too"),
        (["cancel", "--tenant", "sales"], "(--all --tenant TENANT: all of a tenant)"),
        (["cancel", "--state", "failed"], "are over; write --state pending or running"),
        (["cancel", "--state", "pendin"], "a job is never 'pendin'; did you mean 'pending'?"),
        (["cancel", "--prefix", ""], "--prefix is empty, and all names begin so; write --all"),
        (["cancel", "--name", "x"], "names that begin so"),
        (["cancel", "--all"], "everybody's jobs, and no tenant is named; write --tenant TENANT"),
        (["cancel", "--state", "running"], "or --yes where all are meant"),
        (["drain", "nowhere"], 'there is no machine "nowhere"; `fairlead machines` lists those'),
        (["drain", "a[1-"], "a[1-"),
        (["jobs", "--state", "runing"], "a job is never 'runing'; did you mean 'running'?"),
        (["job", "x", "--tasks", "lost"], "a task is never 'lost'; "),
        (["top", "-n", "0"], "-n 0 shows nothing"),
        (["top", "--interval", "1"], "write the unit"),
        (["logs", "x", "--task", "-1"], "--task -1 is below 0"),
        (["token", "create", "bob"], "the token needs a tenant or a role"),
        (["token", "create", "Bob B", "--role", "viewer"], "Bob B"),
        (["token", "create", "x", "--tenant", "nobody"], "nobody"),
        (["token", "revoke", "nobody"], 'there is no token "nobody"; `fairlead token list`'),
        (["submit", "--where", "a=b&&c", "--", "true"], "&& is no part of a constraint; a comma"),
        (["submit", "-e", "1X=2", "--", "true"], "no shell has a variable '1X'"),
        (["token"], "needs create, list or revoke"),
        (["tenants", "--apply", "nowhere.yaml"], "no such file: nowhere.yaml"),
        (["jobs", "--url", "localhost"], "is not the address of a service"),
    ],
)
def test_what_is_typed_wrong_is_refused_with_a_sentence(
    words: list[str], sentence: str, shell: Terminal
) -> None:
    assert sentence in shell.refused(*words)
    assert shell.json("jobs")["jobs"] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("machines: [{name: x, capacity: {cpu: 1}}]\n", "jobs.yaml:1:11: a submission holds jobs"),
        ("tenants: [{name: x}]\n", "make tenants with `fairlead tenants --apply`"),
        ("jobs: []\n", "there is no job in it"),
        ("jobs: [{name: x, demand: {cpu: 1}, tasks: 1}]\n", "what it runs"),
        ("jobs: [{name: x, demand: {cpu: 1}, command: a}]\n", "how many"),
        ("jobs:\n  - {name: x, demnd: {cpu: 1}}\n", 'jobs.yaml:2:15: job "x": unknown key "demnd"'),
    ],
)
def test_a_file_that_is_no_file_of_jobs_is_refused(
    text: str, sentence: str, shell: Terminal, tmp_path: Path
) -> None:
    (tmp_path / "jobs.yaml").write_text(text, encoding="utf-8")
    assert sentence in shell.refused("submit", "jobs.yaml")


# Looking


def test_jobs_are_listed_as_the_reference_says(shell: Terminal) -> None:
    shell.good("submit", "--name", "j-east", "--tenant", "vision", "--where", "zone=east", *ENDLESS)
    shell.good("submit", "--name", "j-done", "--tenant", "sales", "--wait", "--", "true")
    until(lambda: shell.json("jobs", "--state", "running")["jobs"] != [])
    table = shell.good("jobs")
    assert column(table, "job") == ["j-east"]
    assert column(table, "state") == ["running"]
    tree = shell.json("jobs", "--all", "--prefix", "j-")
    assert list(tree) == ["schema", "jobs"]
    assert tree["schema"] == "fairlead.jobs/1"
    Jobs.model_validate(tree)
    assert {row["name"]: row["state"] for row in tree["jobs"]} == {
        "j-east": "running",
        "j-done": "finished",
    }
    assert names(shell.json("jobs", "--all", "--prefix", "j-", "--tenant", "sales")["jobs"]) == [
        "j-done"
    ]
    assert names(shell.json("jobs", "--state", "finished", "--prefix", "j-")["jobs"]) == ["j-done"]


def test_an_empty_list_is_a_sentence(shell: Terminal) -> None:
    none = "no job is waiting or running (--all also lists finished ones)\n"
    assert shell.good("jobs") == none
    assert shell.good("jobs", "--all", "--prefix", "nothing") == "no such job\n"
    such = none.replace("no job", "no such job")
    assert shell.good("jobs", "--tenant", "vision") == such
    assert shell.good("jobs", "--prefix", "nothing") == such


def test_a_tenant_that_is_not_known_is_a_mistake(shell: Terminal) -> None:
    wrong = "error: there is no tenant 'sale'; did you mean 'sales'?\n"
    assert shell("jobs", "--tenant", "sale") == (2, "", wrong)
    assert shell("jobs", "--all", "--tenant", "sale", "--json") == (2, "", wrong)
    assert shell("cancel", "--all", "--tenant", "sale") == (2, "", wrong)
    assert "`fairlead tenants` lists them" in shell.refused("jobs", "--tenant", "zzz")
    shell("submit", "--name", "alone", "--wait", "--", "true")
    own = shell.json("job", "alone")["tenant"]
    assert shell.good("jobs", "--tenant", own).startswith("no such job is waiting or running")


def test_a_job_is_shown_with_its_tasks(shell: Terminal) -> None:
    shell("submit", "--name", "two", "-n", "2", "--wait", "--", "exit $((FAIRLEAD_TASK * 3))")
    out = shell.good("job", "two")
    assert "tasks        2: 1 finished, 1 failed" in out
    assert "exit code 3" in out
    only = shell.good("job", "two", "--tasks", "failed")
    assert "exit code 3" in only
    assert "exit code 0" not in only
    tree = shell.json("job", "two")
    JobDetail.model_validate(tree)
    assert [task["attempts"][-1]["code"] for task in tree["task_list"]] == [0, 3]


def test_why_says_what_a_waiting_job_waits_for(shell: Terminal) -> None:
    shell.good("submit", "--name", "large", "--tenant", "sales", "--cpu", "3", "-n", "3", *ENDLESS)
    until(lambda: shell.json("jobs", "--state", "running")["jobs"] != [])
    out = " ".join(shell.good("why", "large").split())
    assert "2 waiting" in out
    assert "too little cpu" in out
    answer = WhyAnswer.model_validate(shell.json("why", "large"))
    assert answer.job == "large"
    assert answer.reasons


def test_shares_over_time_of_a_tenant_that_is_not_there_are_refused(shell: Terminal) -> None:
    said = shell.refused("shares", "--over", "1h", "--tenant", "salse")
    assert "there is no tenant 'salse'; did you mean 'sales'?" in said


def test_shares_come_with_what_would_be_fair(shell: Terminal) -> None:
    shell.good("submit", "--name", "s", "--tenant", "sales", "-n", "20", *ENDLESS)
    shell.good("submit", "--name", "v", "--tenant", "vision", "-n", "20", *ENDLESS)

    def computed() -> bool:
        found = Shares.model_validate(shell.json("shares"))
        return all(each.fair for each in found.tenants)

    until(computed)
    out = shell.good("shares", "--jobs")
    assert out.splitlines()[2].split() == (
        ["tenant", "weight", "running", "waiting", "share", "fair", "below", "fair", "short", "of"]
    )
    assert "\n  vision " in out
    tree = shell.json("shares", "--jobs")
    assert {job["name"] for job in tree["jobs"]} == {"s", "v"}
    running = {job["name"]: job["running"] for job in tree["jobs"]}
    assert sum(running.values()) == 8


def test_machines_are_drained_and_taken_back(shell: Terminal) -> None:
    tree = shell.json("machines")
    Machines.model_validate(tree)
    assert names(tree["machines"]) == ["a1", "a2", "b1"]
    assert column(shell.good("machines"), "cpu") == ["0/2", "0/2", "0/4"]
    drained = shell.json("drain", "a[1-2]")
    assert [row["state"] for row in drained["machines"]] == ["draining", "draining"]
    assert column(shell.good("machines"), "state") == ["draining", "draining", "up"]
    assert names(shell.json("machines", "--prefix", "b")["machines"]) == ["b1"]
    back = shell.good("undrain", "a1", "a2")
    assert column(back, "state") == ["up", "up"]


def test_tenants_are_made_and_changed_from_a_file(shell: Terminal, tmp_path: Path) -> None:
    below, above = "{name: below-new, parent: new, limit: {cpu: 1}}", "{name: new, weight: 3}"
    text = f"tenants:\n  - {below}\n  - {above}\n"
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    table = shell.good("tenants", "--apply", "t.yaml")
    assert {"below-new", "new"} <= set(column(table, "tenant"))
    found = Tenants.model_validate(shell.json("tenants"))
    new = {tenant.name: tenant for tenant in found.tenants}
    assert (new["new"].weight, new["below-new"].parent) == ("3", "new")
    assert new["below-new"].limit == {"cpu": "1"}
    (tmp_path / "t.yaml").write_text(f"{text}  - {{name: x, user: nobody-here}}\n", "utf-8")
    code, _, said = shell("tenants", "--apply", "t.yaml")
    assert code == 0
    assert said.startswith("warning: there is no user 'nobody-here' on this machine")
    (tmp_path / "j.yaml").write_text("jobs: []\n", encoding="utf-8")
    assert "there is no tenant in it" in shell.refused("tenants", "--apply", "j.yaml")


def test_top_prints_a_picture_into_a_pipe(shell: Terminal) -> None:
    shell.good("submit", "--name", "t", "--tenant", "sales", "--cpu", "3", "-n", "3", *ENDLESS)
    until(lambda: shell.json("jobs", "--state", "running")["jobs"] != [])
    out = shell.good("top", "-n", "2", "--interval", "50ms")
    assert out.count("3 of 3 machines up") == 2
    assert "sales" in out
    assert "\x1b" not in out
    until(lambda: shell.json("shares")["behind"] is None)  # else the two may differ
    tree = shell.json("top")
    assert tree["schema"] == "fairlead.top/1"
    assert tree["shares"] == shell.json("shares", "--jobs") | {"time": tree["shares"]["time"]}
    assert [machine["name"] for machine in tree["machines"]] == ["a1", "a2", "b1"]
    assert names(tree["jobs"]) == ["t"]
    assert (list(tree["reasons"]), tree["more"]) == (["t"], False)
    assert "--json prints one snapshot" in shell.refused("top", "--json", "-n", "2")


# Outputs


def test_logs_are_what_was_written_byte_for_byte(shell: Terminal) -> None:
    script = "printf 'a\\nb'; echo oops >&2"
    shell("submit", "--name", "words", "--wait", "--", script)
    code, out, err = shell("logs", "words")
    assert (code, out, err) == (0, "a\nb", "oops\n")
    assert shell("logs", "words", "--stream", "stderr") == (0, "", "oops\n")


def test_lines_of_several_tasks_begin_with_the_task(shell: Terminal) -> None:
    shell("submit", "--name", "many", "-n", "3", "--wait", "--", "echo $FAIRLEAD_TASK; printf end")
    out = shell.good("logs", "many")
    assert out == "".join(f"[{task}] {task}\n[{task}] end\n" for task in range(3))
    assert shell.good("logs", "many", "--task", "2") == "2\nend"
    assert "has no task 3" in shell.refused("logs", "many", "--task", "3")


def test_lines_for_programs_say_where_they_are_of(shell: Terminal) -> None:
    script = "printf 'a\\n\\377'; echo oops >&2"
    shell("submit", "--name", "parts", "-n", "2", "--wait", "--", script)
    code, out, err = shell("logs", "parts", "--json")
    head, *lines = [json.loads(line) for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert head == {"schema": "fairlead.logs/1", "job": "parts"}
    assert lines == [
        {"task": task, "attempt": 1} | line
        for task in range(2)
        for line in (
            {"stream": "stdout", "line": "a"},
            {"stream": "stdout", "line": "\N{REPLACEMENT CHARACTER}", "whole": False},
            {"stream": "stderr", "line": "oops"},
        )
    ]
    assert shell("logs", "nothing", "--json")[:2] == (2, "")


def test_the_tail_is_the_last_lines(shell: Terminal) -> None:
    shell("submit", "--name", "ten", "--wait", "--", "seq 10; printf x")
    assert shell.good("logs", "ten", "--tail", "3") == "9\n10\nx"
    assert shell.good("logs", "ten", "--tail", "0") == ""
    assert shell.good("logs", "ten", "--tail", "99").startswith("1\n2\n")


def test_following_goes_on_until_all_is_over(shell: Terminal) -> None:
    shell.good("submit", "--name", "slow", "--", "for i in 1 2 3; do echo $i; sleep 0.4; done")
    assert shell.good("logs", "-f", "slow") == "1\n2\n3\n"


def test_forgetting_frees_the_name_and_drops_the_output(shell: Terminal) -> None:
    shell("submit", "--name", "short", "--wait", "--", "echo x")
    assert shell.good("forget", "short") == "short: forgotten\n"
    assert 'there is no job "short"' in shell.refused("logs", "short")
    shell("submit", "--name", "short", "--wait", "--", "echo y")
    assert shell.good("logs", "short") == "y\n"
    assert shell.json("forget", "short") == {"schema": "fairlead.forgotten/1", "jobs": ["short"]}


def test_what_is_not_over_is_not_forgotten(shell: Terminal) -> None:
    shell.good("submit", "--name", "busy", *ENDLESS)
    assert "busy" in shell.refused("forget", "busy")
    assert names(shell.json("jobs")["jobs"]) == ["busy"]


# Who may do what


@pytest.fixture
def vision(shell: Terminal, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The token of a tenant, given to whoever types from here on."""
    token = shell.good("token", "create", "viv", "--tenant", "vision").strip()
    assert token.startswith("fl_viv_")
    monkeypatch.setenv("FAIRLEAD_TOKEN", token)
    yield token
    monkeypatch.delenv("FAIRLEAD_TOKEN")
    shell.good("token", "revoke", "viv")


def test_a_tenant_acts_on_its_own_and_sees_of_others_what_all_may_see(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch, vision: str
) -> None:
    monkeypatch.delenv("FAIRLEAD_TOKEN")
    shell.good("submit", "--name", "hidden", "--tenant", "sales", "--", "sleep 1000 # secret")
    monkeypatch.setenv("FAIRLEAD_TOKEN", vision)
    shell.good("submit", "--name", "own", *ENDLESS)
    assert shell.json("job", "own")["tenant"] == "vision"
    seen = shell.good("job", "hidden")
    assert "sales" in seen
    assert "secret" not in seen
    assert shell.json("job", "hidden")["job"] is None
    for words in (["cancel", "hidden"], ["logs", "hidden"], ["why", "hidden"], ["drain", "a1"]):
        shell.refused(*words, code=Exit.NOT_ALLOWED)
    shell.refused("submit", "--tenant", "sales", *ENDLESS, code=Exit.NOT_ALLOWED)
    shell.refused("token", "list", code=Exit.NOT_ALLOWED)
    assert "sales" in shell.good("shares")
    assert "hidden" in shell.good("top")
    shell.good("cancel", "own")


def test_a_revoked_token_is_good_for_nothing(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = shell.json("token", "create", "gone", "--role", "viewer")
    assert made["schema"] == "fairlead.token/1"
    assert column(shell.good("token", "list"), "token") == ["admin", "gone"]
    assert shell.good("token", "revoke", "gone") == "gone: revoked\n"
    monkeypatch.setenv("FAIRLEAD_TOKEN", made["token"])
    until(lambda: shell("jobs")[0] == Exit.NOT_ALLOWED)
    assert "does not take the token; it is from FAIRLEAD_TOKEN: check it" in shell.refused(
        "jobs", code=Exit.NOT_ALLOWED
    )


def test_a_folder_that_is_not_there_is_said(shell: Terminal) -> None:
    words = ("submit", "--cwd", "nowhere", "--where", "zone = 'a&&b'", "--", "true")
    code, out, err = shell(*words)
    assert code == 0
    assert "warning: there is no folder /" in err
    shell.good("cancel", out.partition(":")[0])


def test_nobody_locks_himself_out_by_chance(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert '"admin" is the token that is asked with; make another one' in shell.refused(
        "token", "revoke", "admin"
    )
    other = shell.json("token", "create", "other", "--role", "admin")["token"]
    monkeypatch.setenv("FAIRLEAD_TOKEN", other)
    assert '"other" is the token that is asked with' in shell.refused("token", "revoke", "other")
    assert shell.good("token", "revoke", "other", "--lock-out") == "other: revoked\n"
    monkeypatch.delenv("FAIRLEAD_TOKEN")
    assert column(shell.good("token", "list"), "token") == ["admin"]


def test_without_a_token_the_sentence_says_where_one_goes(
    shell: Terminal, served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("FAIRLEAD_STATE", str(tmp_path))
        sentence = shell.refused("jobs", "--url", served.url, code=Exit.NOT_ALLOWED)
    assert "none is given: set FAIRLEAD_TOKEN" in sentence


def test_a_service_that_is_not_there_has_its_own_exit_code(shell: Terminal) -> None:
    sentence = shell.refused("jobs", "--url", "http://127.0.0.1:9", code=Exit.UNAVAILABLE)
    assert "nothing listens at http://127.0.0.1:9 (from --url)" in sentence


def test_a_program_that_is_no_service_counts_as_none(shell: Terminal) -> None:
    class Other(Quiet, BaseHTTPRequestHandler):
        """It has no such page."""

        def no_page(self) -> None:
            """Of every request."""
            self.send_error(404)

        do_GET = do_POST = no_page  # noqa: N815  http.server's

    with serving_http(Other) as url:
        for words in (["jobs"], ["submit", "--url", url, "--", "true"]):
            asked = words if "--url" in words else [*words, "--url", url]
            sentence = shell.refused(*asked, code=Exit.UNAVAILABLE)
            assert "does not answer as a Fairlead service does (status 404)" in sentence


# Completion


def test_names_are_completed_from_what_the_service_knows(
    shell: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "fairlead.cli.commands.completion.PATIENCE", 60.0
    )  # however busy the machine is
    shell.good("submit", "--name", "findme", *ENDLESS)
    assert "findme" in shell.good("completion", "names", "jobs").split()
    assert shell.good("completion", "names", "machines").split() == ["a1", "a2", "b1"]
    assert "sales" in shell.good("completion", "names", "tenants").split()


@pytest.mark.usefixtures("shell")
def test_the_python_client_does_what_the_commands_do(served: Served) -> None:
    from fairlead.client import Client, wait_for
    from fairlead.model.job import Job

    job = Job("python", {"cpu": 1}, tasks=2, tenant="sales", command="echo from $FAIRLEAD_TASK")
    seen: list[str] = []
    with Client() as client, Client() as watcher:
        assert client.place.url == served.url
        events = watcher.events(since=0)

        def follow() -> None:
            for each in events:
                if each.event is not None and each.event.job == "python":
                    seen.append(each.event.kind.value)
                    if seen.count("task_finished") == 2:
                        return

        thread = threading.Thread(target=follow)
        thread.start()
        answer = client.submit(job, key="from-python")
        assert Submitted.model_validate(answer.model_dump(by_alias=True)) == answer
        *_, last = wait_for(client, ["python"], timeout=PATIENCE)
        assert last["python"].state.value == "finished"
        thread.join(timeout=PATIENCE)
        assert not thread.is_alive()
        events.close()  # type: ignore[attr-defined]  # it is a generator
        assert [b"".join(client.outputs("python", task)) for task in (0, 1)] == [
            b"from 0\n",
            b"from 1\n",
        ]
        assert client.submit(job, key="from-python").repeated
        assert client.ready().ready
        assert client.me().role.value == "admin"
    assert seen[0] == "job_submitted"
    assert seen.count("launch") == 2
