"""Shares that each tenant held over time beside those that it would have held exactly."""

from __future__ import annotations

import numpy as np

from fairlead.model.names import natural
from fairlead.model.report import Tree
from fairlead.simulation.report.charts import short
from fairlead.simulation.report.figures import SECONDS, thinned
from fairlead.simulation.report.reading import Run, floats, texts

MOST = 60
"""Tenants that are drawn: those who lacked most."""


def pasts_of(run: Run, until: float) -> Tree | None:
    """The tenants' shares and fair shares of a run until this moment, who lacked most first; None
    where the distance from the exact allocation was not measured. Microseconds, as the page's
    drawings of time have them."""
    table = run.columns("fair", ("time", "tenant", "share", "fair"))
    if table is None:
        return None
    time = floats(table["time"])
    early = time * SECONDS <= until
    time = time[early]
    columns = {name: floats(table[name])[early] for name in ("share", "fair")}
    names, which = np.unique(
        np.array(texts(table["tenant"]), dtype=object)[early], return_inverse=True
    )
    moments, at = np.unique(time, return_inverse=True)
    if not len(moments):
        return None
    lacked = np.bincount(which, np.maximum(columns["fair"] - columns["share"], 0.0), len(names))
    order = sorted(range(len(names)), key=lambda n: (-lacked[n], natural(str(names[n]))))
    found = []
    for n in order[:MOST]:
        rows = which == n
        held, due = np.zeros(len(moments)), np.zeros(len(moments))
        held[at[rows]], due[at[rows]] = columns["share"][rows], columns["fair"][rows]
        x, shares = thinned(moments, held)
        _, fair = thinned(moments, due)
        points = zip(short(x.tolist()), short(shares.tolist()), short(fair.tolist()), strict=True)
        found.append(
            {
                "name": str(names[n]),
                "points": [{"time": t, "share": share, "fair": due} for t, share, due in points],
            }
        )
    return {
        "policy": run.policy,
        "seed": run.seed,
        "since": float(moments[0]),
        "until": float(moments[-1]),
        "more": max(0, len(names) - MOST),
        "tenants": found,
    }
