"""Where the properties are found, by the names of `fairlead.audit/1`."""

from __future__ import annotations

from fairlead.audit import envy, pareto, sharing_incentive
from fairlead.audit.property import Property

PROPERTIES: dict[str, Property] = {
    found.name: found
    for found in (
        sharing_incentive.PROPERTY,
        envy.PROPERTY,
        pareto.PROPERTY,
    )
}
"""In the order in which they are shown."""
