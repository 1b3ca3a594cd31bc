"""Weighs what the locks install: the table of docs/reference/dependencies.md.

    python scripts/weigh.py NAME=SITE-PACKAGES... > table

Each NAME is `base` or an extra, each folder one into which that was installed with `--no-compile`
(`pip install --no-compile --target FOLDER ...`). A package is counted where it is met first.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

MEGABYTE = 10**6
SMALL = 2.0
"""Megabytes below which the packages of a part are one row."""


def weight(package: Distribution) -> float:
    """The megabytes of a package's files."""
    files = (Path(str(package.locate_file(each))) for each in package.files or ())
    return sum(each.stat().st_size for each in files if each.is_file()) / MEGABYTE


def weights(folder: str) -> dict[str, float]:
    """What each package of a folder weighs, in megabytes."""
    found = distributions(path=[folder])
    return {re.sub(r"[-_.]+", "-", each.name).lower(): weight(each) for each in found}


def rows(part: str, found: dict[str, float]) -> list[str]:
    """The rows of a part, the heaviest first, and its sum."""
    large = sorted((-mb, name) for name, mb in found.items() if mb >= SMALL)
    small = [mb for mb in found.values() if mb < SMALL]
    lines = [f"| {part} | {name} | {-mb:.0f} |" for mb, name in large]
    if small:
        lines.append(f"| {part} | {len(small)} others | {sum(small):.0f} |")
    return [*lines, f"| **{part}** | **all** | **{sum(found.values()):.0f}** |"]


def main() -> None:
    """Prints the table."""
    print("| part | package | MB |\n|---|---|---|")
    met: set[str] = set()
    for word in sys.argv[1:]:
        part, _, folder = word.partition("=")
        found = {name: mb for name, mb in weights(folder).items() if name not in met}
        met |= set(found)
        print(*rows(part, found), sep="\n")


if __name__ == "__main__":
    main()
