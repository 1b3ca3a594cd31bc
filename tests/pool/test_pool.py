"""The pool of tests: each runs once, and none is missing unseen."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.zygote.forked import finished

CONFTEST = """
import pytest
from tests.pool.pool import Pool

class Noting(Pool):
    def _drain(self):
        super()._drain()
        open("drained", "w").close()

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    Noting([[0], [1]], {groups}).run(session)
    return True
"""

TWO = "[range(2, 6), range(6, 10)]"
"""What is taken together of the tests that both processes share."""


def run(
    folder: Path, body: str, *words: str, groups: str = TWO
) -> subprocess.CompletedProcess[str]:
    """Pytest in a folder with ten tests `test[0]` to `test[9]` of this body, which two processes
    share: `test[0]` and `test[1]` are what they do first. The file `drained` is there once nothing
    is left to take."""
    (folder / "conftest.py").write_text(CONFTEST.format(groups=groups), encoding="utf-8")
    head = "import os, pytest, time\n\n@pytest.mark.parametrize('n', range(10))\ndef test(n):\n"
    (folder / "test_ten.py").write_text(f"{head}    {body}\n", encoding="utf-8")
    asked = ["pytest", "-q", "-p", "no:cacheprovider", "--confcutdir", ".", *words, "."]
    plain = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"
    }  # what others brought takes a second
    return finished(asked, folder, plain)


def test_each_test_runs_once_in_one_of_the_processes_which_begin_with_their_own(
    tmp_path: Path,
) -> None:
    note = "open('ran', 'a').write(f'{n} {os.getpid()}\\n')"
    meet = "    while n < 2 and len(open('ran').readlines()) < 2: time.sleep(0.01)"
    done = run(tmp_path, f"{note}\n{meet}")
    assert "10 passed" in done.stdout, done.stdout + done.stderr
    ran = [line.split() for line in (tmp_path / "ran").read_text(encoding="utf-8").splitlines()]
    assert sorted(number for number, _ in ran) == [str(n) for n in range(10)]
    assert {number for number, _ in ran[:2]} == {"0", "1"}
    assert len({process for _, process in ran}) == 2


def test_what_a_failing_test_said_is_shown(tmp_path: Path) -> None:
    done = run(tmp_path, "print('said', n); assert n != 5")
    assert done.returncode == 1
    assert "1 failed, 9 passed" in done.stdout
    assert "said 5" in done.stdout
    assert "said 4" not in done.stdout


def test_a_process_that_ends_fails_what_it_ran_and_what_it_had_taken(tmp_path: Path) -> None:
    done = run(tmp_path, "n == 3 and os._exit(7)")
    assert done.returncode == 1
    assert "the process that ran it ended with 7" in done.stdout
    failed = set(re.findall(r"FAILED test_ten.py::test\[(\d)\]", done.stdout))
    assert {"3", "4", "5"} <= failed <= {"3", "4", "5", "6", "7", "8", "9"}
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert len(failed) + int(passed[1]) == 10


def test_after_the_first_failure_nothing_more_is_taken_where_that_was_asked_for(
    tmp_path: Path,
) -> None:
    waits = "    while not os.path.exists('drained'): time.sleep(0.01)"
    alone = "[[n] for n in range(2, 10)]"
    done = run(tmp_path, f"assert n != 0\n{waits}", "-x", groups=alone)
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    # Each process has taken one more than it runs; the first another one, before that was heard.
    passed = re.search(r"1 failed, (\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) in (3, 4)
