"""A small zygote: it has imported what a spawner of the local engine is, as that imports it, and
nothing else, so that what is forked has as little memory. `python -I -S -X utf8 spawners.py SOCKET
DESCRIPTOR`.

Hundreds of tests begin a spawner, and a new interpreter takes ten times as long as a fork. What
differs is its parent, with which it ends, too. Services and what is killed begin real ones.
"""

from __future__ import annotations

import gc
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - as below


def main(path: str, listening: int) -> None:
    """Runs the zygote, and in each spawner's process the spawner."""
    sys.path += [ROOT, f"{ROOT}/src"]
    from fairlead.engines.local import spawner
    from tests.zygote.forking import Forker

    gc.freeze()
    request = Forker(listening).run()
    if request is None:
        os.unlink(path)  # noqa: PTH108
        os.rmdir(os.path.dirname(path))  # noqa: PTH106, PTH120
        return
    request.take_descriptors()
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    sys.argv[1:] = request.words
    spawner.main()
    os._exit(0)  # what is shared with the zygote is not taken apart


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
