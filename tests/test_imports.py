"""What a command imports: the time to start is a feature, and the checker keeps its distance."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from fairlead.cli.main import main

ROOT = Path(__file__).resolve().parent.parent

CLUSTER = """\
devices: [gpu]
machines:
  - {name: "a[01-04]", capacity: {cpu: 16, memory: 64GiB, gpu: 4}, labels: {model: a100}}
  - {name: "c[1-3]", capacity: {cpu: 32, memory: 64GiB}}
tenants:
  - {name: vision, weight: 2, limit: {gpu: 10}}
jobs:
  - {name: train, tenant: vision, demand: {cpu: 4, gpu: 1}, where: "model in (a100)", tasks: 100}
  - {name: web, demand: {cpu: 2, memory: 3GiB}}
"""

ALLOWED = {"fairlead", "flint", "highspy", "numpy", "yaml"}
"""What is not of Python itself and may be imported for a small `fairlead allocate`. Each of these
is needed there; SciPy, Clarabel, Numba, pandas, Polars and a web framework are not."""

SLOW = {"asyncio", "concurrent", "email", "http", "multiprocessing", "sqlite3", "ssl", "unittest"}
"""Parts of Python that take long to import and have no business there."""

PROBE = """\
import sys
before = set(sys.modules)
{code}
import json
sys.stderr.write("\\nmodules:" + json.dumps(sorted(set(sys.modules) - before)))
"""


def imported(*codes: str, into: Path) -> set[str]:
    """The modules that the codes import, one after another in an interpreter of their own, in this
    folder."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(code="\n".join(codes))],
        cwd=into,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(json.loads(done.stderr.rpartition("modules:")[2]))


def command(line: str, ends: int = 0) -> str:
    """Code that runs `fairlead` with the words of a line, and insists that it so ends."""
    return f"from fairlead.cli.main import main\nassert main({line.split()!r}) == {ends}"


def tops(modules: set[str]) -> set[str]:
    """The packages that modules belong to, those of Python itself apart, and what has no name to
    import it by: the compiled part of a package (`_yaml`), and Cython's own."""
    found = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    return {name for name in found if not name.startswith("_")} - {"cython_runtime"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A folder with a small cluster."""
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return tmp_path


def test_small_commands_import_only_what_they_need(directory: Path) -> None:
    ways = ("", "--json", "--csv", "--quiet", "--policy drf")
    lines = [f"allocate cluster.yaml {each}" for each in ways]
    lines += ["explain train cluster.yaml", "compare cluster.yaml", "demo"]
    modules = imported(*map(command, lines), into=directory)
    assert tops(modules) <= ALLOWED
    assert sorted(SLOW & modules) == []


def test_what_starts_local_tasks_imports_little_of_python() -> None:
    """Each service starts one, and each of its tasks is a fork of it."""
    code = f"import sys; sys.path.append({str(ROOT / 'src')!r})\n"
    code += "import fairlead.engines.local.spawner; print(*sys.modules)"
    words = [sys.executable, "-I", "-S", "-X", "utf8", "-c", code]
    said = subprocess.check_output(words, encoding="utf-8")
    assert not {"dataclasses", "json", "re", "socket", "typing"} & set(said.split())


@pytest.mark.parametrize("code", ["import fairlead", command("--version"), command("--help")])
def test_what_shares_nothing_imports_nothing_heavy(code: str, directory: Path) -> None:
    assert tops(imported(code, into=directory)) == {"fairlead"}


def test_a_service_is_planned_without_what_it_runs_with(directory: Path) -> None:
    """`serve --detach` waits for another process that loads all of it."""
    assert tops(imported("import fairlead.cli.serving.plan", into=directory)) <= {
        "fairlead",
        "yaml",
    }


def test_a_cluster_file_of_a_service_is_refused_before_anything_heavy(directory: Path) -> None:
    (directory / "odd.yaml").write_text("machines: [{name: a, capacity: {cpu: x}}]\n")
    lines = [
        f"serve --cluster {file} --state none{more}"
        for file in ("odd.yaml", "cluster.yaml", "nowhere.yaml")  # wrong, with jobs, not there
        for more in ("", " --detach")
    ]
    modules = imported(*(command(line, 2) for line in lines), into=directory)
    assert tops(modules) <= {"fairlead", "yaml"}


def test_checking_a_proof_never_meets_what_made_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(directory)
    assert main(["allocate", "cluster.yaml", "--proof", "proof.json"]) == 0
    modules = imported(command("verify cluster.yaml proof.json"), into=directory)
    made_it = ("problem", "compile", "filling", "solvers", "mechanisms", "policies")
    assert sorted(modules & {f"fairlead.sharing.{part}" for part in made_it}) == []
    assert not tops(modules) & {"highspy", "scipy", "clarabel"}


def test_the_checker_is_built_on_the_model_and_arithmetic_alone() -> None:
    graph = grimp.build_graph("fairlead", cache_dir=None)
    built_on = graph.find_upstream_modules("fairlead.sharing.certificate", as_package=True)
    arithmetic = {f"fairlead.sharing.numbers.{name}" for name in ("enclosure", "sums", "threads")}
    assert {name for name in built_on if not name.startswith("fairlead.model")} == arithmetic
    for name in arithmetic:
        assert graph.find_upstream_modules(name) <= arithmetic
