"""`python -m fairlead` and the `fairlead` script."""

from __future__ import annotations

import sys

from fairlead.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
