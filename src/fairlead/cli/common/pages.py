"""Files that commands write beside what they print, and pages for a browser among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.model.errors import InputError
from fairlead.model.words import listing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence


def add_html(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--html", metavar="FILE", help=f"write a page that {what}, for a browser")


def check_target(option: str, file: str | None, inputs: Sequence[str]) -> None:
    """Raises InputError where what the option writes would replace the input."""
    from pathlib import Path

    if file is None:
        return
    target = Path(file)
    for name in inputs:
        if name == file or (target.exists() and Path(name).exists() and target.samefile(name)):
            raise InputError(f"--{option} {file} would write over the input", "name another file")


def write_page(
    file: str, what: str, inputs: Sequence[str], module: str, data: Mapping[str, object]
) -> None:
    """Writes the page that `module` draws of the data, whole or not at all. Its title is `what`,
    and of which files."""
    from pathlib import Path

    from fairlead.dashboard.page import page
    from fairlead.whole_file import write_whole

    title = f"{what} of {listing([Path(each).name for each in inputs])}"
    write_whole(Path(file), page(title, module, data))
