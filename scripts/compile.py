"""Compiles what a service needs while the other packages arrive; scripts/install.py starts it.

Prints `DONE TOTAL` after each function. Needs numba, numpy, python-flint and PyYAML alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The checkout's own: Fairlead may not be installed yet.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fairlead.compiled import SERVICE, first_time, note
from fairlead.scheduling.warming import warm

if first_time(SERVICE):
    warm(lambda done, total: print(done, total, flush=True))
    note(SERVICE)
