"""All properties by their names in `fairlead.audit/1`."""

from __future__ import annotations

from fairlead.audit.properties import (
    bottleneck,
    envy,
    pareto,
    population,
    resources,
    sharing_incentive,
    single_machine,
    single_resource,
    strategy,
)
from fairlead.audit.properties import useless_machines as useless
from fairlead.audit.properties.base import Property

PROPERTIES: dict[str, Property] = {
    found.name: found
    for found in (
        sharing_incentive.PROPERTY,
        envy.PROPERTY,
        pareto.PROPERTY,
        strategy.PROPERTY,
        single_machine.PROPERTY,
        single_resource.PROPERTY,
        population.PROPERTY,
        useless.DUMMY_MACHINES,
        useless.FORBIDDEN_MACHINES,
        resources.PROPERTY,
        bottleneck.PROPERTY,
    )
}
"""In the order in which they are shown."""
