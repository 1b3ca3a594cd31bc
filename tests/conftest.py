"""What all tests share: how many random cases, where the data is, and which skips are expected."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from fairlead.scheduling.warming import warm
from fairlead.simulation.engine.run import compile_all
from tests.pool.dealing import dealt
from tests.pool.pool import Pool
from tests.zygote.forked import zygote
from tests.zygote.spawned import fork_what_is_spawned

ROOT = Path(__file__).resolve().parent.parent

EXPECTED_SKIPS: dict[str, str] = {
    "tests/cli/commands/test_completion.py::test_the_shell_itself_can_read_the_script": (
        "bash is everywhere, zsh and fish are not: their scripts are read by them where they are"
    ),
    "tests/engines/local/test_groups.py::test_memory_is_limited_at_once": (
        "a group needs this controller, which not every machine gives to version 2"
    ),
    "tests/engines/local/test_groups.py::test_processes_are_limited_at_once": (
        "a group needs this controller, which not every machine gives to version 2"
    ),
    "tests/engines/local/test_groups.py::test_processors_are_shared_by_demand": (
        "a group needs this controller, which not every machine gives to version 2"
    ),
    "tests/test_packaging.py::test_systemd_finds_nothing_wrong_with_the_unit": (
        "not every machine has systemd"
    ),
}
"""Tests (`tests/file.py::name`, without parameters) that CI may leave out, each with its reason."""

EXAMPLES = 16
"""Examples of a property test that asks for no number of its own, at `--cases 1`."""


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
    group.addoption("--processes", type=int, default=0, help="so many share the tests; 0: this one")
    group.addoption("--left-out", type=Path, help="a file to add the names of what was left out to")


def pytest_configure(config: pytest.Config) -> None:
    hear_ctrl_c()
    fork_what_is_spawned()
    config.pluginmanager.register(LeftOut(config), "left-out")
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
        # Hypothesis also draws numbers and texts that stand in the modules that happen to be
        # loaded: those of another process of the pool, or of another day, are others. And it reads
        # all of them, in each process.
        none = providers._local_constants  # noqa: SLF001  no setting leaves them out
        setattr(providers, "_get_local_constants", lambda: none)  # noqa: B010  mypy: not exported


def pytest_unconfigure() -> None:
    if zygote.cache_info().currsize:
        zygote().end()


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


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """What is collected stays to the end: no garbage is looked for in it, now or later. Where a
    pool is to run it, its zygote is made ready meanwhile."""
    gc.disable()
    if session.config.getoption("--processes") and not session.config.getoption("--collect-only"):
        zygote()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def prepare(config: pytest.Config) -> None:
    """Has there, once for all processes, what they would each make for themselves."""
    config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # noqa: SLF001
    warm(lambda *_: None)
    compile_all()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Runs the tests in a pool, where one is asked for."""
    processes = session.config.getoption("--processes")
    if not processes or session.testsfailed or session.config.getoption("--collect-only"):
        return None
    prepare(session.config)
    Pool(*dealt(session.items, processes)).run(session)
    return True


class LeftOut:
    """What was left out."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.skipped: dict[str, str] = {}
        self.deselected = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes a test that was skipped, with its reason."""
        if report.skipped and not hasattr(report, "wasxfail"):
            told = report.longrepr
            self.skipped[report.nodeid] = told[2] if isinstance(told, tuple) else str(told)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Counts what was not asked for."""
        self.deselected += len(items)

    def unexpected(self) -> dict[str, str]:
        """The skipped tests that EXPECTED_SKIPS does not name, with their reasons."""
        known = EXPECTED_SKIPS
        return {test: why for test, why in self.skipped.items() if test.split("[")[0] not in known}

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fails where nothing may be left out and something was; tells whoever reports."""
        if in_ci() and self.unexpected() and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Says what was left out, or adds it to the file that asks for it."""
        lines = [f"tests that were not asked for: {self.deselected}"] if self.deselected else []
        lines += [f"{test}: {why}" for test, why in sorted(self.skipped.items())]
        collected = self.config.getoption("--left-out")
        if lines and collected:
            with collected.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        elif lines:
            terminalreporter.section("left out")
            for line in lines:
                terminalreporter.line(line)
        for test in self.unexpected() if in_ci() else ():
            terminalreporter.line(f"FAILED: CI did not expect {test} to be skipped", red=True)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A whole file that skips while it is collected is left out, too."""
    if report.skipped and in_ci():
        report.outcome = "failed"
