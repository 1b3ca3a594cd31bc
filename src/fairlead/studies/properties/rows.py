"""The papers' claims about the properties: TSF's Table I, and what the k-DF paper claims."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.studies.properties.inputs import Family


@dataclass(frozen=True)
class Row:
    """A row of the table: a property, judged on the inputs of a family.

    `apart`: what strategy-proofness tells apart is meant, the gain of a tenant that comes as two;
    `ante`: a lottery is judged before it is drawn, and nothing else; `title` is what people read.
    """

    name: str
    title: str
    property: str
    family: Family
    apart: bool = False
    ante: bool = False


ROWS = (
    Row(
        "sharing-incentive-pools",
        "sharing incentive (dedicated pools)",
        "sharing-incentive",
        Family.POOLS,
    ),
    Row(
        "sharing-incentive-split",
        "sharing incentive (equal split)",
        "sharing-incentive",
        Family.GENERAL,
    ),
    Row("strategy-proofness", "strategy-proofness", "strategy-proofness", Family.GENERAL),
    Row(
        "strategy-proofness-pools",
        "strategy-proofness, weights from pools",
        "strategy-proofness",
        Family.POOLS,
    ),
    Row(
        "strategy-proofness-unusable-pools",
        "strategy-proofness, pools of no use in part",
        "strategy-proofness",
        Family.UNUSABLE_POOLS,
    ),
    Row("envy-freeness", "envy-freeness", "envy-freeness", Family.GENERAL),
    Row(
        "envy-freeness-pools",
        "envy-freeness, weights from pools",
        "envy-freeness",
        Family.POOLS,
    ),
    Row("pareto-optimality", "Pareto optimality", "pareto-optimality", Family.GENERAL),
    Row(
        "single-machine-fairness",
        "single-machine fairness",
        "single-machine-fairness",
        Family.ONE_MACHINE,
    ),
    Row(
        "single-resource-fairness",
        "single-resource fairness",
        "single-resource-fairness",
        Family.ONE_RESOURCE,
    ),
    Row(
        "population-monotonicity",
        "population monotonicity",
        "population-monotonicity",
        Family.GENERAL,
    ),
    Row("dummy-machines", "dummy machines", "dummy-machines", Family.GENERAL),
    Row("forbidden-machines", "forbidden machines", "forbidden-machines", Family.GENERAL),
    Row("resource-monotonicity", "resource monotonicity", "resource-monotonicity", Family.GENERAL),
    Row("bottleneck-fairness", "bottleneck fairness", "bottleneck-fairness", Family.BOTTLENECK),
    Row("splitting", "coming as two never pays", "strategy-proofness", Family.GENERAL, apart=True),
)

COLUMNS = (
    "per-machine-drf",
    "drfh",
    "cdrf",
    "tsf",
    "drf",
    "cmmf(a)",
    "asset",
    "2df",
    "kdf(k=3)",
    "independent",
    "market",
    "most-tasks",
    "ps-dsf",
    "slots(a=1)",
)
"""Every policy and mechanism, those of Table I first. The inputs' resources are a, b and c."""

OF_TABLE_I = (
    "sharing-incentive-pools",
    "strategy-proofness",
    "envy-freeness",
    "pareto-optimality",
    "single-machine-fairness",
    "single-resource-fairness",
)

TABLE_I = {
    "per-machine-drf": ("strategy-proofness", "envy-freeness", "single-machine-fairness"),
    "drfh": (
        "strategy-proofness",
        "envy-freeness",
        "pareto-optimality",
        "single-machine-fairness",
    ),
    "cdrf": ("sharing-incentive-pools", "pareto-optimality", "single-machine-fairness"),
    "tsf": OF_TABLE_I,
}
"""The marks of TSF's Table I ("properties of DRF variants and TSF in the presence of constraints")
for its six rows; there, a blank is a violation."""


REASONS = {
    ("drfh", "single-resource-fairness"): (
        "with one resource DRFH's scale and TSF's are the same, the total over the demand: the"
        " paper's blank cannot have a witness"
    ),
    ("drfh", "sharing-incentive-pools"): (
        "with weights from pools of its own scale everybody's share is its tasks over those of its"
        " pool, as under TSF: the paper's blank has its witness in the equal split"
    ),
}
"""Why a blank of Table I has no witness in the row of its name."""
