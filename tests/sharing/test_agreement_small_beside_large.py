"""Jobs that take next to nothing beside jobs that take all: the small shares are exact too."""

from __future__ import annotations

import pytest

from fairlead.model.reading import read
from tests.reference.filling import exact_shares
from tests.reference.policies import POLICIES
from tests.sharing.exactly import exactly
from tests.sharing.test_agreement import compare

# Found by random search. In both a job is held at a level by a price of 1e-9 of all prices: the
# last bit of the others' shares would let it rise by 1e-7 of its own.
HELD = {
    "one resource": (
        "tsf",
        """
machines:
  - {name: m0, capacity: {cpu: 0.0010924}}
  - {name: m1, capacity: {cpu: 0.0078}}
  - {name: m2, capacity: {cpu: 0.000012545}}
  - {name: m3, capacity: {cpu: 0.001838}}
  - {name: m4, capacity: {cpu: 0.0014455}}
tenants:
  - {name: t1, pool: ["m[1,4]"], limit: {cpu: 0.015035}}
  - {name: t2, pool: [m2]}
jobs:
  - {name: j0, tenant: t1, demand: {cpu: 71/15000000}}
  - {name: j1, tenant: t2, demand: {cpu: 0.00000001313}, machines: ["m[0-1]"], spread: true}
  - {name: j2, tenant: t2, demand: {cpu: 0.00000004153}}
  - {name: j3, tenant: t2, demand: {cpu: 179/1875000000}, machines: [m4]}
  - {name: j4, tenant: t2, demand: {cpu: 0.0009501}, exclude: ["m[0,3]"]}
""",
    ),
    "four resources": (
        "2df",
        """
machines:
  - name: m0
    capacity: {cpu: 16919/30000, gpu: 14.944, memory: 502476813893.632, x: 41.776}
    labels: {z: a}
  - name: m1
    capacity: {cpu: 0.8092, gpu: 5.704, memory: 1709190825377.792, x: 0.07352}
    labels: {z: b}
  - name: m2
    capacity: {cpu: 2075, gpu: 0.3944, memory: 266576594154.2912, x: 0.0506}
    labels: {z: a}
jobs:
  - name: j0
    tenant: t2
    demand: {cpu: 0.42878, gpu: 0.02062, memory: 3850352281518.08, x: 51.1}
    tasks: 1
    machines: ["m[0,2]"]
    spread: true
  - name: j3
    tenant: t2
    demand: {cpu: 0.0020119, gpu: 0.2814, memory: 104591043592.192, x: 0.0728}
  - name: j4
    tenant: t2
    demand: {cpu: 0.011132, gpu: 0, memory: 25701084299.264, x: 1.6137}
    machines: ["m[0-2]"]
  - name: j5
    tenant: t2
    demand: {cpu: 299/3750, gpu: 0, memory: 112631222.370304, x: 0}
    where: "z = a"
""",
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_a_job_held_by_a_tiny_price_does_not_rise_on_the_others_rounding(name: str) -> None:
    policy, text = HELD[name]
    cluster, jobs = read([(name, text)])
    known = POLICIES[policy]
    compare(
        exactly(cluster, jobs, policy),
        exact_shares(cluster, jobs, known.scale, known.looks),
        known,
        name,
    )
