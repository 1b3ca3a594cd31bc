"""A folder full of traps: a module by the name of each one that anything of ours imports."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

SCRIPT = """\
import sys
from fairlead.__main__ import main
if __name__ == "__main__":
    sys.exit(main())
"""
"""As pip installs it."""

SEVERAL = """\
import sys
from fairlead.__main__ import main
if __name__ == "__main__":
    for line in sys.argv[1:]:
        sys.argv[1:] = line.split()
        if code := main():
            sys.exit(code)
"""
"""The same for several commands, a line each, one after another: most of each is its start."""

POOLED = """\
from fairlead import children
if __name__ == "__main__":
    with children.pool(1) as pool:
        print(pool.submit(abs, -3).result())
"""
"""A pool of the kind that commands have, without what a command has to import."""

TRAP = """\
import sys
with open({caught!r}, "a") as caught:
    print(__name__, sys.orig_argv, file=caught)
raise ImportError("a trap")
"""

SETTINGS = "{disable_jit: 1}"
"""What Numba would read: nothing is compiled."""


def set_traps(base: Path) -> Path:
    """The folder; beside it `bin` with the scripts, and a cluster's file."""
    folder = base / "trapped"
    folder.mkdir()
    trap = TRAP.format(caught=str(base / "caught"))
    for name in {*sys.stdlib_module_names, *packages_distributions()} - {"fairlead"}:
        (folder / f"{name}.py").write_text(trap)
    (folder / ".numba_config.yaml").write_text(SETTINGS)
    (base / "bin").mkdir()
    (base / "bin" / "fairlead").write_text(SCRIPT)
    (base / "bin" / "several").write_text(SEVERAL)
    (base / "bin" / "pooled").write_text(POOLED)
    (base / "cluster.yaml").write_text("machines: [{name: m, capacity: {cpu: 4}}]\n")
    return folder


def caught(folder: Path) -> str:
    """Which modules of the folder were run, by which processes."""
    found = folder.parent / "caught"
    return found.read_text() if found.exists() else ""
