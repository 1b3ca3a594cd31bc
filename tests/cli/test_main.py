"""The command line as a whole: exit codes, streams, hints, interruptions."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairlead.__main__ import THREADS
from fairlead.cli.commands import allocate as allocate_command
from fairlead.cli.common.too_long import too_long
from fairlead.cli.main import COMMANDS, FILES, Exit, main
from fairlead.model.errors import CertificateError, InputError, SolverError
from fairlead.version import __version__
from tests.surroundings import without_service
from tests.transcripts import EXAMPLES
from tests.zygote.forked import finished

FIGURE_4 = str(EXAMPLES / "tsf-figure-4")
GENERATIONS = str(EXAMPLES / "gpu-generations")
LONG = "a\n" * 200
CLUSTER = str(EXAMPLES / "gpu-generations" / "cluster.yaml")


def python(*words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """A process of the checkout's own command line, with an input that does not end."""
    # Whoever runs the tests in the background of a script has Ctrl-C ignored, and children inherit
    # that; not so while a handler is set here.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=env,
        )
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == Exit.OK
    out = capsys.readouterr().out
    assert all(f"\n  {command} " in out for command in COMMANDS)


def test_every_file_is_a_command_or_a_part_of_one() -> None:
    known = {FILES.get(command, command) for command in COMMANDS}
    files = {path.stem for path in Path(allocate_command.__file__).parent.glob("[!_]*.py")}
    strange = {name for name in files - known if name.partition("_")[0] not in known}
    assert strange == set(), "name each command in SHARING or SERVICE of src/fairlead/cli/main.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == Exit.OK
    first = capsys.readouterr().out
    assert first.startswith(f"usage: fairlead {command}")
    assert f"fairlead {command}" in first.partition("options:")[2] or command == "policies"
    assert main(["help", command]) == Exit.OK
    assert capsys.readouterr().out == first


BEGUN = """
import os, subprocess, sys
from fairlead.__main__ import main
sys.argv[1:] = ["--version"]
main()
asked = ["sh", "-c", "echo ${OPENBLAS_NUM_THREADS-none}"]
subprocess.run(asked)
subprocess.run(asked, env=dict(os.environ))
"""


@pytest.mark.parametrize(("set_before", "seen"), [(None, "1\nnone"), ("3", "3\n3")])
def test_its_processes_make_no_threads_that_nobody_needs_and_users_commands_are_told_nothing(
    set_before: str | None, seen: str, tmp_path: Path
) -> None:
    variables = {name: value for name, value in without_service().items() if name != THREADS}
    variables |= {} if set_before is None else {THREADS: set_before}
    run = finished(["-c", BEGUN], tmp_path, variables)
    assert (run.stdout, run.stderr) == (f"fairlead {__version__}\n{seen}\n", "")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == Exit.OK
    assert capsys.readouterr().out == f"fairlead {__version__}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["alocate", FIGURE_4], "no command 'alocate'; did you mean 'allocate'?"),
        (["frobnicate"], "no command 'frobnicate'; the commands are allocate, "),
        (["--polcy"], "no option '--polcy'; "),
        ([FIGURE_4], f"to share what it describes, write `fairlead allocate {FIGURE_4}`"),
        (["allocate"], "fairlead allocate needs FILE; `fairlead allocate --help` shows"),
        (["allocate", "--polcy", "tsf", FIGURE_4], "'--polcy'; did you mean '--policy'?"),
        (
            ["allocate", FIGURE_4, "--json", "--csv"],
            "fairlead allocate: --json and --csv exclude each other; leave one out",
        ),
        (
            ["allocate", FIGURE_4, "--policy", "tsf", "--policy=drf"],
            "fairlead allocate: --policy is given twice; give it once",
        ),
        (["token", "list", "--url", "a", "--url", "b"], ": --url is given twice; give it once"),
        (
            ["allocate", FIGURE_4, "--tasks", "halves"],
            "--tasks cannot be 'halves'; give divisible or whole",
        ),
        (["allocate", FIGURE_4, "--draw"], "tsf has no lottery to draw from; use cdrf-lottery"),
        (["allocate", FIGURE_4, "--policy", "tfs"], "no policy `tfs`; did you mean `tsf`?"),
        (["allocate", "nowhere.yaml"], "no such file: nowhere.yaml; check its name"),
        (["explain", "trian", GENERATIONS], "no job or tenant `trian`; did you mean `train`"),
        (["explain", "zzz", FIGURE_4], "no job or tenant `zzz`; the jobs are u1, u2 and u3"),
        (
            ["explain", "--tenant", "train", GENERATIONS],
            "`train` is a job, not a tenant; leave --tenant out",
        ),
        (["explain", GENERATIONS], "name a job or a tenant before the files; the jobs are train"),
        (["explain", GENERATIONS], "; the tenants are vision, language and robotics"),
        (["explain", "train"], "no file is given; write `fairlead explain train cluster.yaml jo"),
        (["allocate", "--whole", FIGURE_4], "'--whole'; did you mean '--tasks whole'?"),
        (["allocate", "--pol", "tsf", FIGURE_4], "'--pol'; did you mean '--policy'?"),
        (["allocate", "--hlep", FIGURE_4], "'--hlep'; did you mean '--help'?"),
        (["allocate", "--hlep"], "'--hlep'; did you mean '--help'?"),
        (["allocate", "--zz", FIGURE_4], "'--zz'; `fairlead allocate --help` shows what it takes"),
        (["trace", "info", "--sett", "x"], "'--sett'; did you mean '--set'?"),
        (["--verison"], "no option '--verison'; did you mean '--version'?"),
        (["audit", CLUSTER], "cluster.yaml describes no jobs; give the file of the jobs, too"),
        (["compare", CLUSTER], "cluster.yaml describes no jobs; give the file of the jobs, too"),
        (["explain", "train", CLUSTER], "describes no jobs; give the file of the jobs, too"),
        (["whatif", CLUSTER, "--remove", "a01"], "describes no jobs; give the file of the jobs"),
        (
            ["compare", FIGURE_4, "--policies", "tsf"],
            "'tsf' names one policy, and two are compared",
        ),
        (["compare", FIGURE_4, "--policies", "tfs,dfr,tsf"], "no policy `dfr`; did you mean"),
        (["verify", FIGURE_4], "fairlead verify needs PROOF"),
        (["start", "--for", "x"], '--for: "x" is not a duration'),
        (["verify", FIGURE_4, "nowhere.json"], "no such file: nowhere.json"),
        (["verify", FIGURE_4, "nowhere.json"], "that `fairlead allocate --proof` wrote, after the"),
        (["help", "alocate"], "no command 'alocate'; did you mean 'allocate'?"),
        (["top", "-n", "x"], "fairlead top: --number cannot be 'x'; give a whole number"),
        (["top", "--interval", "0"], "error: --interval: 0 is not positive; write more than 0"),
        (["shares", "--over", "x"], 'error: --over: "x" is not a duration; write a number and'),
        (["submit", "--array", "0-9", "--", "x"], "'--array'; -n 10 is ten tasks, and each finds"),
        (["submit", "--dependency=afterok:7", "x.yaml"], "jobs do not wait for others here:"),
        (["submit", "--time", "2h", "--", "x"], "'--time'; write --time-limit TIME, as in 2h"),
        (["submit", "-p", "short", "--", "x"], "'-p'; a partition is a label here"),
        (["submit", "--reservation=x", "--", "x"], "nothing is kept free for a time: who has less"),
        (["submit", "--preemptible", "--", "x"], "with --once it runs to its end"),
        (["jobs", "--user", "ann"], "does not know '--user'; write --tenant TENANT"),
        (["tenants", "add", "x"], "'add'; write it into a file, as in tenants: [{name: vision"),
        (["tenants", "--weight", "vision=3"], "and `fairlead tenants --apply FILE`"),
        (["tenants", "delete", "vision"], "a tenant stays; with no jobs it takes nothing from"),
        (["status"], "no command 'status'; `fairlead top` shows how things stand"),
        (["sbatch", "x.sh"], "write `fairlead submit -- COMMAND`"),
        (["nodes"], "`fairlead machines` lists the machines"),
        (["demo", "--html", ""], "fairlead demo: --html is empty; name a file"),
        (["demo", "--write", ""], "--write is empty; name a folder, or `.` for this one"),
        (["report", ""], "fairlead report: DIR is empty; name a folder, or `.` for this one"),
        (["submit", "--cwd", "", "--", "true"], "fairlead submit: --cwd is empty; name a folder"),
        (["journal", "check", ""], "PLACE is empty; name a folder or a file"),
        (["tenants", "--apply", "a.yaml", "--apply", ""], "--apply is empty; name a file"),
        (["top", "--interval"], "--interval needs a value; `fairlead top --help` shows"),
        (["submit", "--time-limit", "-1s", "--", "x"], "is joined to it: --time-limit=-1s"),
        (["submit", "--time-limit", "--strict", "--", "x"], "needs a value; `fairlead submit"),
        (["explain", "--live"], "fairlead explain needs NAME; "),
        (["policies", "a", "b", "c"], "no use for the word"),
        (["token", "creat"], "fairlead token has no 'creat'; did you mean 'create'?"),
        (["token"], "fairlead token needs create, list or revoke"),
        (["completion", "tcsh"], "fairlead completion has no 'tcsh'; give bash, zsh or fish"),
    ],
)
def test_a_mistake_is_a_sentence_on_stderr_and_nothing_on_stdout(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert sentence in err
    assert "Traceback" not in err


def test_all_mistakes_are_reported_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", FIGURE_4, "--policies", "tfs,dfr"]) == Exit.BAD_INPUT
    assert capsys.readouterr().err.count("error: ") == 2


@pytest.mark.parametrize(
    "failure",
    [SolverError("stopped with a gap of 0.1"), CertificateError("u1 has too much"), ValueError()],
)
def test_an_internal_failure_says_that_it_is_ours(
    failure: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise failure

    monkeypatch.setattr(allocate_command, "run", fail)
    assert main(["allocate", FIGURE_4]) == Exit.INTERNAL
    out, err = capsys.readouterr()
    assert out == ""
    said = str(failure) or "ValueError"
    assert f"internal error: {said}" in err
    assert "not yours" in err
    assert "Traceback" not in err
    with pytest.raises(type(failure)):
        main(["allocate", FIGURE_4, "--debug"])


FREE = ("--listen", "127.0.0.1:0")
"""The usual port may be somebody's, and would be waited for."""


@pytest.mark.parametrize(
    "words", [["serve", *FREE], ["serve", *FREE, "--state", "here"], ["start"]]
)
def test_a_working_folder_that_was_removed_is_said(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(words) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "error: the working folder was removed; change to one that is there\n"


@pytest.mark.parametrize(
    "words",
    [
        ["allocate", LONG],
        ["allocate", LONG + ".yaml"],
        ["allocate", ".", "--html", LONG],
        ["trace", "info", LONG],
        ["report", LONG],
        ["import", "slurm", "--from", LONG],
        ["serve", "--cluster", LONG],
        ["serve", "--state", LONG],
        ["serve", "--journal", LONG],
        ["journal", "check", LONG],
        ["stop", "--state", LONG],
        [LONG],
        ["simulate", "table-ii", "--out", LONG],
        ["doctor", f"--state={LONG}"],
    ],
)
def test_what_is_too_long_for_a_path_is_told_so(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    both = "machines: [{name: m, capacity: {cpu: 1}}]\njobs: [{name: j, demand: {cpu: 1}}]\n"
    (tmp_path / "all.yaml").write_text(both)
    assert main(words) == Exit.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("a...' is longer than a path may be; give the path of a file or folder\n")
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    assert err.startswith(f"error: {options[-1]}: 'a" if options else "error: 'a")
    assert [path.name for path in tmp_path.iterdir()] == ["all.yaml"]


def test_an_error_that_is_its_own_cause_has_an_end() -> None:
    error = InputError("wrong")
    error.__cause__ = error
    assert too_long(error, [LONG], {}) is None


def test_a_variable_that_is_too_long_for_a_path_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIRLEAD_STATE", LONG)
    assert main(["jobs"]) == Exit.BAD_INPUT
    assert capsys.readouterr().err.startswith("error: FAIRLEAD_STATE: 'a")


def test_an_interruption_ends_with_its_own_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(allocate_command, "run", interrupt)
    assert main(["allocate", FIGURE_4]) == Exit.INTERRUPTED
    assert capsys.readouterr() == ("", "interrupted\n")


def test_ctrl_c_within_an_import_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object) -> int:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(allocate_command, "run", interrupt)
    assert main(["allocate", FIGURE_4, "--debug"]) == Exit.INTERRUPTED
    assert capsys.readouterr() == ("", "interrupted\n")


def test_ctrl_c_before_the_command_line_is_there_leaves_no_traceback(tmp_path: Path) -> None:
    # The module that is imported first stands in for whatever the signal may interrupt.
    (tmp_path / "argparse.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    process = python("demo", env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert process.communicate(timeout=60) == (b"", b"interrupted\n")
    assert process.returncode == Exit.INTERRUPTED


def test_ctrl_c_while_it_waits_for_input_leaves_no_traceback(tmp_path: Path) -> None:
    pipe = tmp_path / "jobs.yaml"
    os.mkfifo(pipe)
    process = python("allocate", str(pipe))
    try:
        # Opening waits for the other side to open it. Then it reads until the end of the input,
        # which does not come: only the signal ends it. Not while it is still importing: what is
        # interrupted in an `exec` of Python's own ends the process by the signal itself.
        with pipe.open("wb"):
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == Exit.INTERRUPTED
    assert (out, err) == (b"", b"interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        ("allocate", "FILE", "--policy", "cmmf(gpu)"),
        ("explain", "b", "FILE", "--policy", "cmmf(gpu)"),
        ("audit", "FILE", "--policy", "cmmf(gpu)"),
        ("whatif", "FILE", "--policy", "cmmf(gpu)", "--weight", "a=2"),
        ("compare", "FILE", "--policies", "cmmf(gpu),tsf"),
        ("allocate", "-", "--policy", "cmmf(gpu)"),
    ],
)
def test_what_sharing_finds_wrong_has_its_place_in_the_files(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(
        "machines: [{name: m, capacity: {cpu: 4, gpu: 1}}]\n"
        "jobs:\n  - {name: a, demand: {cpu: 1}}\n  - {name: b, demand: {gpu: 1}}\n"
    )
    with file.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        code = main([str(file) if word == "FILE" else word for word in words])
    assert code == Exit.BAD_INPUT
    where = "<stdin>" if "-" in words else str(file)
    said = f'error: {where}:3:23: job "a", demand: it demands no gpu, so it has no share'
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(("option", "what"), [("--config", "settings"), ("--cluster", "machines")])
def test_a_service_reads_nothing_from_the_standard_input(
    option: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["serve", *FREE, option, "-", "--state", str(tmp_path / "state")]
    assert main(words) == Exit.BAD_INPUT
    said = f"error: the {what} of a service cannot come from the standard input; name a file\n"
    assert capsys.readouterr().err == said


def test_a_reader_that_goes_away_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, "-m", "fairlead", "allocate", FIGURE_4],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert process.returncode == Exit.PIPE_CLOSED
    assert process.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
def test_a_result_that_cannot_be_written_is_an_error() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        process = subprocess.run(
            [sys.executable, "-m", "fairlead", "allocate", FIGURE_4],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.returncode == Exit.OUTPUT
    assert process.stderr == b"error: the result cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("closed", "code", "out", "err"),
    [
        (
            "--version >&-",
            Exit.OUTPUT,
            "",
            "error: the result cannot be written: Bad file descript",
        ),
        ("nonsense 2>&-", Exit.BAD_INPUT, "", ""),
        (
            "allocate - <&-",
            Exit.BAD_INPUT,
            "",
            "error: <stdin> cannot be read: Bad file descriptor",
        ),
    ],
)
def test_a_stream_that_is_closed_is_taken_for_no_other_one(
    closed: str, code: int, out: str, err: str
) -> None:
    words = ["sh", "-c", f"exec {sys.executable} -m fairlead {closed}"]
    found = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    assert (found.returncode, found.stdout) == (code, out)
    assert found.stderr.startswith(err)
    assert bool(found.stderr) == bool(err)


@pytest.mark.parametrize("closed", ["<&-", "2>&-"])
def test_processes_of_a_command_have_what_stands_in_for_a_closed_stream(closed: str) -> None:
    number = 0 if closed == "<&-" else 2
    child = f"import os; os.fstat({number}); print('is there')"
    code = "import subprocess, sys; from fairlead.__main__ import stand_in; stand_in(); "
    code += f"sys.exit(subprocess.call([sys.executable, '-c', {child!r}]))"
    words = ["sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "is there\n")


def test_names_that_the_terminal_cannot_show_are_escaped(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "machines: [{name: m, capacity: {cpu: 1}}]\njobs: [{name: naïve, demand: {cpu: 1}}]\n",
        encoding="utf-8",
    )
    process = python("allocate", str(file), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert rb"na\xefve" in out
