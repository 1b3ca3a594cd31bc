"""The claims that the contract suites test of every registered policy and mechanism."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claims:
    """`spec`: how the suites write it (over the resources r0 and r1, as `build` names them).

    `degree` of the scale in a task's demand; `falls`: the scale never rises with a demand (with
    weights, a demand that grows can push a heavier resource out of the k largest);
    `constraints_matter` to the scale; `places`: has placements; `pareto`: nobody can get more
    without another getting less; `alike`: jobs alike get the same, in any order.
    """

    spec: str
    degree: int = -1
    falls: bool = True
    constraints_matter: bool = False
    places: bool = True
    pareto: bool = True
    alike: bool = True


POLICIES = {
    "tsf": (Claims("tsf"),),
    "cdrf": (Claims("cdrf", constraints_matter=True),),
    "drfh": (Claims("drfh"),),
    "drf": (Claims("drf", places=False),),
    "per-machine-drf": (Claims("per-machine-drf", pareto=False),),
    "cmmf": (Claims("cmmf(r0)"),),
    "asset": (Claims("asset"), Claims("asset(pooled=true)", places=False)),
    "kdf": (
        Claims("kdf(k=1)"),
        Claims("kdf(k=2, r0=3)", degree=-2, falls=False),
        Claims("kdf(k=3)", degree=-3),
        Claims("kdf(k=3, pooled=true)", degree=-3, places=False),
    ),
    "2df": (Claims("2df", degree=-2), Claims("2df(pooled=true)", degree=-2, places=False)),
}

MECHANISMS = {
    "independent": (Claims("independent", pareto=False),),
    "market": (Claims("market"),),
    "most-tasks": (Claims("most-tasks", alike=False),),
    "ps-dsf": (Claims("ps-dsf", pareto=False),),
    "slots": (Claims("slots(r0=1, r1=1, r2=1)", pareto=False),),
}
