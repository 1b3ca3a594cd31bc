"""What jobs write, and that they wrote nothing, against a real service."""

from __future__ import annotations

from fairlead.cli.main import Exit
from tests.cli.live.place import Terminal


def test_a_job_that_was_submitted_can_be_followed_to_its_end(shell: Terminal) -> None:
    words = ("submit", "--name", "loud", "--wait", "--follow", "--")
    code, out, err = shell(*words, "echo one; echo bad >&2; sleep 0.5; printf two; exit 3")
    assert (code, out) == (Exit.REFUTED, "one\ntwo")
    said = err.splitlines()
    assert said[0] == "loud: submitted, 1 task"
    assert "bad" in said
    assert said[-1] == "loud: failed, 0/1 tasks done, 1 failed"
    code, out, _ = shell("submit", "--name", "two", "-n", "2", "--wait", "--follow", "--", "echo x")
    assert (code, sorted(out.splitlines())) == (0, ["[0] x", "[1] x"])


def test_one_does_not_follow_for_longer_than_one_wants(shell: Terminal) -> None:
    words = (
        "submit",
        "--name",
        "long",
        "--wait",
        "--follow",
        "--timeout",
        "1s",
        "--",
        "sleep 1000",
    )
    assert shell(*words)[:2] == (Exit.LATER, "")
    shell.good("cancel", "long")


def test_a_job_that_never_ran_says_so_instead_of_nothing(shell: Terminal) -> None:
    shell.good("submit", "--name", "first", "--cpu", "4", "--", "sleep", "1000")
    shell.good("submit", "--name", "never", "--cpu", "4", "--tasks", "3", "--", "echo hi")
    said = "never: nothing ran yet, 3 tasks waiting (`fairlead why never` says why)\n"
    assert shell("logs", "never") == (0, "", said)
    shell.good("cancel", "never", "first")
    assert shell("logs", "never") == (0, "", "never: none of its tasks ever ran\n")


def test_a_kill_for_memory_says_how_much_was_used_and_asked(shell: Terminal) -> None:
    take = "import time; block = bytearray(64 << 20); time.sleep(1000)"
    words = ("--memory", "40MiB", "--retries", "0", "--wait", "--", "python3", "-c", take)
    code, ended, _ = shell("submit", "--name", "fat", *words)
    assert code == Exit.REFUTED
    for said in (ended, shell.good("job", "fat")):
        assert "Mi of memory, and asked for 40Mi" in said
