"""Fairlead's command line of a version that writes what this one does not know:
`python -m tests.service.newer WORDS`."""

from __future__ import annotations

import sys

from fairlead.cli.main import main
from fairlead.service.recovery import configuration, recover

SCHEMA = configuration.SCHEMA + 1

for module in (configuration, recover):
    vars(module)["SCHEMA"] = SCHEMA
vars(configuration)["__version__"] = "9.9"

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
