"""Compiles what a service needs while the other packages arrive; scripts/install.py starts it.

    python scripts/compile.py            all of it; prints `DONE TOTAL` after each function
    python scripts/compile.py events     a part, for the other one to find

Needs numba, numpy, python-flint and PyYAML alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The checkout's own: Fairlead may not be installed yet.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from fairlead.compiled import SERVICE, first_time, note
from fairlead.scheduling.warming import warm, warm_events

if first_time(SERVICE) and "events" in sys.argv[1:]:
    warm_events()
elif first_time(SERVICE):
    warm(lambda done, total: print(done, total, flush=True))
    note(SERVICE)
