"""`fairlead` by a clock that is off as long as a file is there:
`python -m tests.cli.live.clocked NANOSECONDS FILE WORDS...`."""

from __future__ import annotations

import os
import sys
import time

from fairlead.cli.main import main


def set_clock(off: int, when: str) -> None:
    """From here on, the time of day is this far off while the file is there."""
    clock = time.time_ns
    time.time_ns = lambda: clock() + (off if os.path.exists(when) else 0)  # noqa: PTH110 - asked often


if __name__ == "__main__":
    set_clock(int(sys.argv[1]), sys.argv[2])
    sys.exit(main(sys.argv[3:]))
