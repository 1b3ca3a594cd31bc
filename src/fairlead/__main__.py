"""`python -m fairlead` and the `fairlead` script."""

from __future__ import annotations

import gc
import os
import sys

OBJECTS = 20_000
"""New objects until the garbage collector looks. Imports make many and leave no garbage: by its own
700 it would look at them 400 times, a fifth of the start of a service."""


THREADS = "OPENBLAS_NUM_THREADS"
"""The variable by which NumPy's library knows how many threads to have."""


def leave_folder() -> None:
    """Takes the folder where one is, which `python -m` puts first, off the path of modules: what
    lies in it is none of ours. One that has this package stays."""
    try:
        here = os.getcwd()
    except FileNotFoundError:  # nor is it on the path
        return
    if sys.path[0] == here and not __file__.startswith(os.path.join(here, "fairlead")):
        del sys.path[0]


STREAMS = (
    ("stdin", os.O_WRONLY, "r"),
    ("stdout", os.O_RDONLY, "w"),
    ("stderr", os.O_WRONLY, "w"),
)
"""The streams in the order of their numbers, and what stands in for one that is closed: reading and
printing fail there as they would, and what is only said goes nowhere."""


def stand_in() -> None:
    """Opens what was closed of stdin, stdout and stderr: the next file, such as a journal, would
    get its number, and what is said on stderr would be printed on stdout. Processes that this one
    starts have them too, for the same reason."""
    for number, (name, how, mode) in enumerate(STREAMS):
        if getattr(sys, name) is None and os.open(os.devnull, how) == number:
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


def main() -> int:
    """Runs the command line and returns its exit code, also while it is still being imported."""
    stand_in()
    gc.set_threshold(OBJECTS)
    if THREADS not in os.environ:
        # All products are on one thread (`sharing/numbers/threads.py`); those that wait for more of
        # them turn round for 30 ms each, one less than there are cores. The processes of a command
        # inherit this, and commands of users do not: it is not in `os.environ`.
        os.putenv(THREADS, "1")
    try:
        # Within the try: most of the first moments are imports, and Ctrl-C may come there too.
        from fairlead.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130  # as `Exit.INTERRUPTED`, which may not be there yet
    finally:
        gc.freeze()  # the end frees it all: to search all modules for garbage first takes 0.4 s


if __name__ == "__main__":
    leave_folder()
    sys.exit(main())
