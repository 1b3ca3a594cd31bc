"""What all tests share: how many random cases, where the data is, and which skips are expected."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent

EXPECTED_SKIPS: dict[str, str] = {
    "tests/cli/commands/test_completion.py::test_the_shell_itself_can_read_the_script": (
        "bash is everywhere, zsh and fish are not: their scripts are read by them where they are"
    ),
    "tests/test_packaging.py::test_systemd_finds_nothing_wrong_with_the_unit": (
        "not every machine has systemd"
    ),
}
"""Tests (`tests/file.py::name`, without parameters) that CI may leave out, each with its reason."""

EXAMPLES = 50
"""Examples of a property test that asks for no number of its own, at `--cases 1`."""

SKIPPED = pytest.StashKey[dict[str, str]]()
DESELECTED = pytest.StashKey[int]()


def in_ci() -> bool:
    """Whether nothing may be left out silently."""
    return os.environ.get("CI") == "true"


def hear_ctrl_c() -> None:
    """A shell lets what it starts in the background ignore Ctrl-C, and so does all that this starts
    in turn; some tests press it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fairlead")
    group.addoption("--cases", type=int, default=1, help="times as many random instances")
    group.addoption(
        "--update-docs", action="store_true", help="rewrite the outputs that docs and examples show"
    )
    group.addoption("--left-out", type=Path, help="a file to add the names of what was left out to")


def pytest_configure(config: pytest.Config) -> None:
    hear_ctrl_c()
    config.stash[SKIPPED] = {}
    config.stash[DESELECTED] = 0
    examples = EXAMPLES * config.getoption("--cases")
    # The same examples every time, whatever the machine is busy with: the gate never fails by
    # chance, and what it refuses, it refuses again.
    settings.register_profile(
        "gate",
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    # New examples every time (`--hypothesis-profile=explore`), failures kept to be tried again.
    settings.register_profile("explore", deadline=None, max_examples=examples, print_blob=True)
    if not config.getoption("--hypothesis-profile", default=None):
        settings.load_profile("gate")


@pytest.fixture(scope="session")
def cases(pytestconfig: pytest.Config) -> int:
    """By how much to multiply the number of random instances."""
    return int(pytestconfig.getoption("--cases"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The data directory: FAIRLEAD_DATA, or `shared/data` beside the checkout."""
    named = os.environ.get("FAIRLEAD_DATA")
    directory = Path(named) if named else ROOT.parent / "shared" / "data"
    if not directory.is_dir():
        sentence = (
            "the data directory is not there; set FAIRLEAD_DATA to it (see CONTRIBUTING.md, 'Data')"
        )
        # In CI a test that needs the data must run.
        if in_ci():
            pytest.fail(sentence)
        pytest.skip(sentence)
    return directory


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        item.config.stash[SKIPPED][item.nodeid] = reason
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A whole file that skips while it is collected is left out, too."""
    if report.skipped and in_ci():
        report.outcome = "failed"


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        items[0].config.stash[DESELECTED] += len(items)


def unexpected(config: pytest.Config) -> dict[str, str]:
    """The skipped tests that EXPECTED_SKIPS does not name, with their reasons."""
    skipped = config.stash[SKIPPED]
    return {test: why for test, why in skipped.items() if test.split("[")[0] not in EXPECTED_SKIPS}


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if in_ci() and unexpected(session.config) and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    skipped, deselected = config.stash[SKIPPED], config.stash[DESELECTED]
    if not skipped and not deselected:
        return
    lines = [f"tests that were not asked for: {deselected}"] if deselected else []
    lines += [f"{test}: {why}" for test, why in skipped.items()]
    collected = config.getoption("--left-out")
    if collected:
        with collected.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
    else:
        terminalreporter.section("left out")
        for line in lines:
            terminalreporter.line(line)
    if in_ci():
        for test in unexpected(config):
            terminalreporter.line(f"FAILED: CI did not expect {test} to be skipped", red=True)
