"""The seeds of every gate: such that all is met and every planted bug is caught.

The gate draws nothing anew, so that more seeds would be the same worlds again and again; new ones
are for `./check search`. What a seed means changes with the simulation: where a test says that
something is never met, `python -m tests.vopr --seeds 0-1999 --table` meets it.
"""

from __future__ import annotations

RARE = (328, 341, 377, 409, 469, 544, 552, 576, 692, 759, 834, 947, 1135, 1149, 1618)
"""Of two thousand seeds those that meet what is rare."""

LIVES = (*range(285), *RARE)
"""Three hundred, with which all is met that two thousand meet."""

MENDED = (1052,)
"""Seeds that found something once: a plan of stops on a machine that has lost a device."""

CAUGHT_BY = {
    "acknowledge-before-append": 0,
    "act-before-append": 0,
    "all-is-shown-midway": 0,
    "applied-twice-after-a-failed-append": 9,
    "cancel-lost-at-a-crash": 19,
    "core-is-lent-midway": 0,
    "counted-at-the-end-of-the-step": 0,
    "damage-ignored": 3,
    "drain-forgotten-at-return": 0,
    "event-left-out": 1,
    "events-before-append": 23,
    "events-not-known-to-be-durable": 215,
    "expected-forgotten": 1,
    "gang-in-part": 1,
    "joins-before-it-is-empty": 6,
    "key-forgotten-at-restart": 0,
    "key-ignored": 0,
    "late-result": 28,
    "limits-forgotten-at-restart": 1,
    "lost-is-failed": 0,
    "lost-requeue": 0,
    "name-means-the-oldest": 5,
    "names-forgotten-at-restart": 12,
    "new-attempt-after-reconcile": 1,
    "no-reconcile": 1,
    "others-see-all": 3,
    "quarantine-never-ends": 0,
    "reply-before-append": 9,
    "rerunnable-ignored": 14,
    "retries-never-end": 0,
    "revocation-not-durable": 3,
    "snapshot-between-entry-and-fold": 1,
    "snapshot-forgets-drains": 3,
    "snapshot-forgets-retries": 2,
    "stale-capacity": 16,
    "taken-journal-ignored": 10,
}
"""The first seed that catches each planted bug."""
