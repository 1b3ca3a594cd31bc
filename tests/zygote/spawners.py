"""A small zygote, `python -I -S -X utf8 spawners.py SOCKET DESCRIPTOR`: it has imported what a
spawner of the local engine runs, and of all else only what it needs to fork one, so that what is
forked has little memory.

Hundreds of tests begin a spawner, and a new interpreter takes several times as long as a fork. What
differs is its parent, with which it ends, too. Services and what is killed begin real ones.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main(path: Path, listening: int) -> None:
    """Runs the zygote, and in each spawner's process the spawner."""
    sys.path += [str(ROOT), str(ROOT / "src")]
    from fairlead.engines.local import spawner
    from tests.zygote.forking import Forker

    gc.freeze()
    request = Forker(path, listening).run()
    if request is None:
        return
    request.enter()
    sys.argv[1:] = request.words
    spawner.main()
    os._exit(0)  # what is shared with the zygote is not taken apart


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
