"""`python -m fairlead` and the `fairlead` script."""

from __future__ import annotations

import sys


def main() -> int:
    """Runs the command line and returns its exit code, also while it is still being imported."""
    try:
        # Within the try: most of the first moments are imports, and Ctrl-C may come there too.
        from fairlead.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130  # as `Exit.INTERRUPTED`, which may not be there yet


if __name__ == "__main__":
    sys.exit(main())
