"""A table of properties of whole tasks: its rows, its columns, and what the CDRF paper says."""

from __future__ import annotations

from fairlead.studies.properties.inputs import Family
from fairlead.studies.properties.rows import Row

OPEN, CLOSED = Family.WHOLE_OPEN, Family.WHOLE

WHOLE_ROWS = (
    Row(
        "sharing-incentive-before",
        "sharing incentive, before",
        "sharing-incentive",
        OPEN,
        ante=True,
    ),
    Row("sharing-incentive", "sharing incentive", "sharing-incentive", OPEN),
    Row("envy-freeness-before", "envy-freeness, before", "envy-freeness", OPEN, ante=True),
    Row("envy-freeness", "envy-freeness", "envy-freeness", OPEN),
    Row(
        "pareto-optimality-before",
        "Pareto optimality, before",
        "pareto-optimality",
        OPEN,
        ante=True,
    ),
    Row("pareto-optimality", "Pareto optimality", "pareto-optimality", OPEN),
    Row("strategy-proofness", "strategy-proofness", "strategy-proofness", OPEN),
    Row("population-monotonicity", "population monotonicity", "population-monotonicity", OPEN),
    Row("dummy-machines", "dummy machines", "dummy-machines", OPEN),
    Row("resource-monotonicity", "resource monotonicity", "resource-monotonicity", OPEN),
    Row(
        "sharing-incentive-constrained",
        "sharing incentive, closed",
        "sharing-incentive",
        CLOSED,
    ),
    Row("envy-freeness-constrained", "envy-freeness, closed", "envy-freeness", CLOSED),
    Row(
        "pareto-optimality-constrained",
        "Pareto optimality, closed",
        "pareto-optimality",
        CLOSED,
    ),
    Row(
        "strategy-proofness-constrained",
        "strategy-proofness, closed",
        "strategy-proofness",
        CLOSED,
    ),
    Row("forbidden-machines", "forbidden machines, closed", "forbidden-machines", CLOSED),
)
"""`closed`: with constraints. `before`: of a lottery in expectation; the others of what comes out,
and where a change is made of what a lottery gives in expectation."""

LOTTERY, ORDERS = "cdrf-lottery", "serial-dictatorship(lottery=true)"

WHOLE_COLUMNS = (
    LOTTERY,
    ORDERS,
    "serial-dictatorship",
    "moving-knife",
    "gim-cdrf",
    "gim-cdrf(deterministic=true)",
    "shapley-folkman",
    "tsf",
    "cdrf",
    "drfh",
    "drf",
    "per-machine-drf",
    "asset",
    "2df",
    "market",
    "most-tasks",
    "independent",
    "ps-dsf",
)
"""The mechanisms for whole tasks, then policies and mechanisms whose exact shares are rounded."""

CLAIMED = {
    LOTTERY: (
        "sharing-incentive-before",
        "pareto-optimality-before",
        "pareto-optimality",
        "strategy-proofness",
        "population-monotonicity",
        "dummy-machines",
    ),
    "moving-knife": ("sharing-incentive",),
    "serial-dictatorship": ("pareto-optimality", "strategy-proofness"),
    ORDERS: ("sharing-incentive-before", "pareto-optimality", "strategy-proofness"),
}
"""Theorems 2.3, 3.1 and 3.2, and sections 2.4 and 3.2, of the CDRF paper."""

DENIED = {
    (ORDERS, "pareto-optimality-before"),
    ("gim-cdrf(deterministic=true)", "pareto-optimality"),
}
"""Sections 3.2 and 4.2."""

BECAUSE = {
    (LOTTERY, "population-monotonicity"): (
        "Theorem 3.1 is wrong: on machine (5, 5) with demands (4, 3), (3, 1) and (1, 2) the third"
        " falls from 3/2 tasks to 4/3 when the second leaves"
    )
}
"""Why a claim does not hold."""
