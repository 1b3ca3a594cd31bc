"""The seeds of every gate: few, and such that all is met and every planted bug is caught.

The gate draws nothing anew, so that more seeds would be the same worlds again and again; new ones
are for `./check search`. What a seed means changes with the simulation: where a test says that
something is never met, `python -m tests.vopr --seeds 0-1999 --table` meets it, and `--choose` says
which seeds to take.
"""

from __future__ import annotations

LIVES = (
    0, 12, 16, 25, 37, 38, 40, 43, 45, 47, 49, 50, 54, 72, 75, 86, 88, 89, 90, 96, 97, 107,
    112, 113, 115, 121, 122, 127, 128, 139, 147, 150, 155, 156, 157, 169, 171, 172, 180,
    184, 187, 188, 200, 203, 205, 207, 210, 218, 232, 238, 241, 242, 245, 247, 249, 251,
    253, 257, 261, 272, 328, 409, 544, 576, 692, 759, 834, 947, 1135, 1149, 1618,
)  # fmt: skip
"""Of 294 seeds (0 to 279, and 14 that meet what is rare) those that meet each kind of what all of
them meet twice, or as often as all of them do (`choosing`)."""

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
