"""ARCHITECTURE.md shows the house as it is: its picture is drawn from the imports, and every room
has its row."""

from __future__ import annotations

import ast
import re
import textwrap
from graphlib import TopologicalSorter
from itertools import product
from typing import TypeGuard

import grimp
import pytest

from fairlead.scheduling.kernels.memory.state import FIELDS
from tests.transcripts import ROOT

PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- drawn by tests/test_architecture.py -->\n```text\n", "```\n<!-- end -->"
LINES, WIDTH = 13, 122
BELOW_AT, ROOMS_AT = 11, 41
FILES_SIDE_BY_SIDE = 18
"""More files than so many in a folder are two rooms, if not in LONG."""

LONG = {"model": "values, each by itself", "cli/commands": "one file a command"}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("fairlead", cache_dir=None)


def collapsed(graph: grimp.ImportGraph, parts: set[str]) -> dict[str, set[str]]:
    """What each part, with all that is in it, imports of the others."""
    arrows: dict[str, set[str]] = {}
    for above, below in product(sorted(parts), repeat=2):
        if above != below and graph.direct_import_exists(
            importer=above, imported=below, as_packages=True
        ):
            arrows.setdefault(above, set()).add(below)
    return {part: arrows.get(part, set()) for part in parts}


def next_below(arrows: dict[str, set[str]], part: str) -> set[str]:
    """What a part imports that nothing else which it imports does too: the rest follows."""
    reached = {below: reach(arrows, below) for below in arrows[part]}
    return {
        below
        for below in arrows[part]
        if not any(below in others for each, others in reached.items() if each != below)
    }


def reach(arrows: dict[str, set[str]], part: str) -> set[str]:
    """All parts that are reached from this one, itself left out."""
    found: set[str] = set()
    waiting = [part]
    while waiting:
        for below in arrows[waiting.pop()] - found:
            found.add(below)
            waiting.append(below)
    return found


def floors(arrows: dict[str, set[str]]) -> list[str]:
    """The parts from the top to the bottom. Raises CycleError where they go in a circle."""
    order = TopologicalSorter(arrows)
    order.prepare()
    found: list[str] = []
    while order.is_active():
        ready = sorted(order.get_ready())
        found = [*ready, *found]
        order.done(*ready)
    return found


def rooms(graph: grimp.ImportGraph, package: str) -> set[str]:
    """The folders in a package."""
    return {child for child in graph.find_children(package) if graph.find_children(child)}


def picture(graph: grimp.ImportGraph) -> str:
    """A line for each package but the lowest, which has no rooms: what is next below it, and the
    rooms in it from the top down."""
    packages = rooms(graph, "fairlead")
    arrows = collapsed(graph, packages)
    lines = []
    for package in floors(arrows):
        inside = " ".join(
            room.removeprefix(f"{package}.")
            for room in floors(collapsed(graph, rooms(graph, package)))
        )
        below = " ".join(
            each.removeprefix("fairlead.")
            for each in floors(arrows)
            if each in next_below(arrows, package)
        )
        if not below and not inside:
            continue
        name = package.removeprefix("fairlead.")
        head = f"{name:{BELOW_AT}}{f'{below} ':{ROOMS_AT - BELOW_AT}}"
        for part in textwrap.wrap(inside, WIDTH - ROOMS_AT) or [""]:
            lines.append(f"{head}{part}".rstrip())
            head = " " * ROOMS_AT
    return "\n".join(lines) + "\n"


def test_the_picture_of_the_imports_is_the_house(
    graph: grimp.ImportGraph, pytestconfig: pytest.Config
) -> None:
    drawn = picture(graph)
    assert len(drawn.splitlines()) <= LINES
    assert max(map(len, drawn.splitlines())) <= WIDTH
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if pytestconfig.getoption("--update-docs") and shown != drawn:
        PAGE.write_text(before + BEGIN + drawn + END + after, encoding="utf-8")
        pytest.skip("ARCHITECTURE.md is drawn anew; run this again")
    assert shown == drawn, "`./check docs -- --update-docs` draws it anew"


def test_rooms_beside_each_other_import_in_one_direction(graph: grimp.ImportGraph) -> None:
    for package in ["fairlead", *(m for m in graph.modules if graph.find_children(m))]:
        assert len(floors(collapsed(graph, rooms(graph, package)))) == len(rooms(graph, package))


def test_every_room_has_its_row() -> None:
    source = ROOT / "src" / "fairlead"
    folders = {
        path.parent.relative_to(source).as_posix() for path in source.rglob("__init__.py")
    } - {"."}
    rows = set(
        re.findall(r"^\| `(?:fairlead/)?([a-z_/]+)/` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    )
    assert folders - rows == set(), "say in a row of ARCHITECTURE.md what is there"


def test_no_room_is_a_hall() -> None:
    source = ROOT / "src" / "fairlead"
    for folder in {path.parent for path in source.rglob("*.py")}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        name = folder.relative_to(source).as_posix()
        few = len(files) <= FILES_SIDE_BY_SIDE
        assert few or name in LONG, f"{name} has {len(files)} files: make two rooms of it"


def test_the_arrays_of_a_core_are_read_by_scheduling_and_the_simulator_alone() -> None:
    source = ROOT / "src" / "fairlead"
    for path in source.rglob("*.py"):
        if path.relative_to(source).parts[0] not in ("scheduling", "simulation"):
            text = path.read_text(encoding="utf-8")
            # Most files have no attribute of that name at all, and are not parsed.
            for node in ast.walk(ast.parse(text)) if ".state" in text else ():
                assert not reads_arrays(node), f"{path}:{node.lineno}"


def reads_arrays(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether this is `core.state`, or an array of a state whoever has it."""
    if not isinstance(node, ast.Attribute):
        return False
    if node.attr == "state":
        return ast.unparse(node.value).endswith("core")
    of_state = isinstance(node.value, ast.Attribute) and node.value.attr == "state"
    return of_state and node.attr in FIELDS
