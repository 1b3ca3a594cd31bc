"""The docs are complete, their links resolve, and what they show is what happens."""

from __future__ import annotations

import argparse
import dataclasses
import doctest
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import fairlead
import fairlead.model.proof
import fairlead.model.shares
from fairlead.cli.main import COMMANDS, Exit, parser_of
from fairlead.engines.registry import ENGINES
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.placement.registry import placement_names
from fairlead.sharing.rules import registry
from fairlead.sharing.rules.registry import mechanism_names, policy_names
from tests.transcripts import EXAMPLES, ROOT, Block, Shell, blocks, entries, play

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *EXAMPLES.rglob("*.md")])
DECISIONS = sorted((DOCS / "decisions").glob("*"))
SOURCE = ROOT / "src" / "fairlead"
SOURCES = sorted(SOURCE.rglob("*.py"))

INPUT = (Cluster, Machine, Tenant, Job)

LINK = re.compile(
    r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)|^\[[^\]]+\]: (?P<reference>\S+)", re.MULTILINE
)
TITLE = r"\d{4}-[a-z0-9-]+\.md"
VARIABLE = re.compile(r"environ(?:\.get\(|\[)\s*[\"'](?P<name>\w+)[\"']|getenv\([\"'](?P<n>\w+)")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    return list(blocks(page.read_text(encoding="utf-8")))


@cache
def reference() -> tuple[str, ...]:
    """The pages of the reference."""
    return tuple(page.read_text("utf-8") for page in sorted((DOCS / "reference").rglob("*.md")))


def in_reference(pattern: str) -> bool:
    """Whether a page of the reference has the pattern."""
    return any(re.search(pattern, text, re.MULTILINE) for text in reference())


@cache
def sections(command: str) -> str:
    """The sections of `cli.md` on a command, and those on what all of them have; of one whose
    options fill a page, that page."""
    page = (DOCS / "reference" / "cli.md").read_text("utf-8")
    named = rf"## .*`fairlead {command}\b|## Common to all commands|## Which service"
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    found = [each for each in parts if re.match(named, each)]
    if command == "simulate":
        found.append((DOCS / "reference" / "simulation.md").read_text("utf-8"))
    return "".join(found)


def missing(what: str, page: str = "") -> str:
    """What to do where the reference has nothing on this."""
    return f"write {what} into {f'docs/reference/{page}' if page else 'a page of docs/reference'}"


def without_blocks(text: str) -> str:
    """The prose: what is in fenced blocks is not for the reader of links."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as the forges make them."""
    text = page.read_text(encoding="utf-8")
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#+ (.+)$", without_blocks(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        names.add(f"{slug}-{found[slug]}" if found[slug] else slug)
        found[slug] += 1
    return frozenset(names)


def broken_links(page: Path) -> Iterator[str]:
    """The relative links of a page that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    for link in LINK.finditer(without_blocks(text)):
        target = link["target"] or link["reference"]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (
            anchor and there.suffix == ".md" and anchor not in anchors(there)
        ):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_resolves(page: Path) -> None:
    assert list(broken_links(page)) == []


RUN = [page for page in PAGES if any(b.kind == "console" or b.file for b in blocks_of(page))]
TAUGHT = [page for page in PAGES if any(b.kind == "pycon" for b in blocks_of(page))]
"""The pages with commands or files, and those with Python: most are decisions and show neither, and
a place to run in is a copy of all examples."""


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_what_a_page_shows_is_what_happens(
    page: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    inside = page.parent.relative_to(EXAMPLES) if page.is_relative_to(EXAMPLES) else Path()
    text = page.read_text(encoding="utf-8")
    problems, put_right = play(text, Shell(tmp_path, inside))
    if pytestconfig.getoption("--update-docs") and put_right != text:
        page.write_text(put_right, encoding="utf-8")
        problems = play(put_right, Shell(tmp_path / "again", inside))[0]
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("page", TAUGHT, ids=name_of)
def test_what_a_page_shows_of_python_is_what_happens(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    shell = Shell(tmp_path)
    monkeypatch.chdir(shell.here)
    lines = [""] * len(text.splitlines())
    for block in blocks(text):
        if block.file:
            shell.write(block.file, block.lines)
        if block.kind == "pycon":
            lines[block.first : block.first + len(block.lines)] = block.lines
    test = doctest.DocTestParser().get_doctest("\n".join(lines), {}, name_of(page), str(page), 0)
    wrong: list[str] = []
    known = vars(registry)["_everybodys"]
    before = {*known, *registry.BUILT_IN}
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=wrong.append)
    # What the page registered is there for it alone: other tests list the policies.
    for name in known.keys() - before:
        del known[name]
    assert not wrong, "".join(wrong)


def test_the_fields_of_answers_are_those_that_the_reference_names() -> None:
    text = (DOCS / "reference/python.md").read_text(encoding="utf-8")
    homes = (fairlead.model.shares, fairlead.model.proof)
    told = {
        name: set(re.findall(r"`(\w+)`", fields))
        for name, fields in re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE)
        if any(hasattr(home, name) for home in homes)
    }
    real = {
        name: {field.name for field in dataclasses.fields(getattr(home, name))}
        for home in homes
        for name in told
        if hasattr(home, name)
    }
    assert len(told) >= 9
    assert told == real


LESSONS = [page for page in PAGES if page.parent.name in ("tutorial", "howto")]


@pytest.mark.parametrize("page", LESSONS, ids=name_of)
def test_a_reader_is_told_which_file_to_write(page: Path) -> None:
    """The comment that names the file of a block is seen by nobody who reads the page."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    untold = []
    for block in blocks(text):
        if block.file is not None:
            before = "\n".join(lines[: block.first - 2])
            section = without_blocks(before[max(0, before.rfind("\n## ")) :])
            if f"`{block.file}`" not in section:
                untold.append(f"line {block.first}: {block.file}")
    assert untold == []


def test_every_example_is_shown_somewhere() -> None:
    commands = [
        entry.words
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        if block.kind == "console"
        for entry in entries(block.lines)
    ]
    files = [path for path in EXAMPLES.rglob("*") if path.is_file() and path.suffix != ".md"]
    unused = [
        name_of(path)
        for path in files
        if not any(
            path.name in command or re.search(rf"\b{path.parent.name}\b", command)
            for command in commands
        )
    ]
    assert unused == [], "an example that no console block runs"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_reference(command: str) -> None:
    there = re.search(rf"^## .*`fairlead {command}\b", sections(command), re.MULTILINE)
    assert there, missing(f"a section on `fairlead {command}`", "cli.md")


def options() -> Iterator[tuple[str, str]]:
    """Every option of every command, by its long name."""
    for command in COMMANDS:
        for action in parser_of(command)[0]._actions:  # noqa: SLF001  (there is no public list)
            if action.option_strings and action.help != argparse.SUPPRESS:
                yield command, action.option_strings[-1]


@pytest.mark.parametrize(("command", "option"), [*options()])
def test_every_option_is_in_the_reference(command: str, option: str) -> None:
    there = re.search(rf"{option}\b", sections(command))
    assert there, (
        f"write {option} into the section on `fairlead {command}` of docs/reference/cli.md"
    )


@pytest.mark.parametrize("name", [*policy_names(), *mechanism_names()])
def test_every_policy_and_mechanism_is_in_the_reference(name: str) -> None:
    assert in_reference(rf"`{re.escape(name)}[`(]"), missing(f"`{name}`", "policies.md")


@pytest.mark.parametrize("name", placement_names())
def test_every_placement_rule_is_in_the_reference(name: str) -> None:
    there = in_reference(rf"^\| `{re.escape(name)}` \|")
    assert there, missing(f"a row for `{name}`", "placement.md")


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_has_its_contract_and_its_section(name: str) -> None:
    # One that launches nothing promises what it sees (tests/service/loop/test_adopting.py).
    contract = "test_observe.py" if ENGINES[name].modes else "test_contract.py"
    suite = f"tests/engines/{name}/{contract}"
    assert (ROOT / suite).is_file(), f"try what the engine promises: write {suite}"
    assert in_reference(rf"(?i)^#+ .*\b{name}\b"), missing(f"a section on {name}", "engines.md")


@pytest.mark.parametrize(
    "field",
    sorted({field.name for kind in INPUT for field in dataclasses.fields(kind)}),
)
def test_every_field_of_the_input_is_in_the_reference(field: str) -> None:
    assert in_reference(rf"`{field}:?`"), missing(f"the field `{field}`", "input.md")


@pytest.mark.parametrize("name", fairlead.__all__)
def test_every_public_name_is_in_the_reference(name: str) -> None:
    assert in_reference(rf"\b{name}\b"), missing(name, "python.md")


@pytest.mark.parametrize("code", Exit, ids=lambda code: code.name)
def test_every_exit_code_is_in_the_reference(code: Exit) -> None:
    assert in_reference(rf"\b{code.value}\b"), missing(f"exit code {code.value}", "cli.md")


def test_every_environment_variable_is_documented() -> None:
    texts = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    read = {
        found["name"] or found["n"]
        for source in SOURCES
        for found in VARIABLE.finditer(source.read_text(encoding="utf-8"))
    }
    assert sorted(name for name in read if name not in texts) == [], missing("what they are for")


def test_every_schema_is_in_the_reference() -> None:
    files = [path.stem.rpartition("-") for path in (ROOT / "src").rglob("schemas/*.json")]
    names = [f"fairlead.{name}/{version}" for name, _, version in files]
    untold = sorted(name for name in names if not in_reference(re.escape(name)))
    assert untold == [], missing("the names of these schemas")


def test_decisions_are_numbered_once_and_named() -> None:
    numbers = Counter(path.name[:4] for path in DECISIONS)
    assert [number for number, count in numbers.items() if count > 1] == []
    odd = [path.name for path in DECISIONS if not re.fullmatch(TITLE, path.name)]
    assert odd == []


@pytest.mark.parametrize("decision", DECISIONS, ids=name_of)
def test_a_decision_fits_on_a_page_and_has_a_title(decision: Path) -> None:
    lines = decision.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= 60


def test_the_architecture_names_nothing_that_is_not_there() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    where = page.partition("## Where")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+`) \| (.+) \|$", where, re.MULTILINE)
    for folders, content in rows:
        names = re.findall("`([^`]+)`", folders)
        places = [
            base / name for name in names for base in (SOURCE, ROOT) if (base / name).exists()
        ]
        assert len(places) == len(names), folders
        for name in re.findall("`([^`]+)`", content):
            ways = [place / name for place in (ROOT, *places)]
            assert any(way.exists() or way.with_suffix(".py").is_file() for way in ways), name


README = ROOT / "README.md"

NOT_RUN = {
    "git clone": "takes the repository from elsewhere",
    "./start demo": "sets up an environment first; `fairlead demo` is run by tests/cli",
    "./start": "sets up an environment first; `fairlead start` is run by tests/cli/live",
    "./check": "runs all tests, this one among them",
    "source .venv/bin/activate": "changes the reader's shell; the commands of a page find ours",
    "export FAIRLEAD_STATE": "changes the reader's shell; the tests have their own folder",
    "pip install": "takes packages from elsewhere; the tests' environment has them",
    "cd examples": "is where all commands of a page are run",
}
"""Commands of the README that no test runs, each with the reason."""


def test_every_command_of_the_readme_is_run_or_has_a_reason_not_to_be() -> None:
    """What is in `console` blocks is run, where a reader stands who followed the page."""
    seen = set()
    for block in blocks(README.read_text(encoding="utf-8")):
        if block.kind == "sh":
            for line in filter(None, block.lines):
                reason = next((words for words in NOT_RUN if line.startswith(words)), None)
                assert reason, f"line {block.first}: write `{line}` into a console block"
                seen.add(reason)
    assert seen == set(NOT_RUN), "a reason for a command that is not there"
