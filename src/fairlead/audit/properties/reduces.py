"""Properties that say: in this special case the allocation is that of a simpler policy."""

from __future__ import annotations

from collections.abc import Callable

from fairlead.audit.finding import Finding
from fairlead.audit.holdings.slack import difference
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property, holds, not_applicable, violated
from fairlead.audit.properties.tenant_shares import amounts, standing
from fairlead.model.errors import InputError

Simpler = Callable[[Outcome], tuple[str | None, str]]
"""The policy that the allocation should be that of, and why it is; None, and why the property says
nothing."""

MANY = "with whole tasks there is no one fair allocation to compare with"


def reduction(name: str, promise: str, simpler: Simpler) -> Property:
    """The property that under a condition the allocation is that of a simpler policy: every
    tenant gets as much as under that policy, which is computed for the comparison."""

    def check(outcome: Outcome, options: Options) -> Finding:  # noqa: ARG001  exact
        if outcome.whole:
            return not_applicable(name, outcome, MANY)
        policy, why = simpler(outcome)
        if policy is None:
            return not_applicable(name, outcome, why)
        try:
            reference = outcome.under(policy)
        except InputError as error:
            return not_applicable(name, outcome, f"{policy} cannot be applied: {error}")
        tenants = list(standing(outcome).tasks)
        shown = {tenant: _show(outcome, reference, tenant, why) for tenant in tenants}
        found = [((t,), None, s) for t, s in shown.items() if s.slack > 0]
        counts = (("tenants", len(tenants)), ("differ", len(found)))
        if found:
            return violated(name, outcome, found, note=why, counts=counts)
        return holds(name, outcome, note=why, counts=counts)

    def measure(outcome: Outcome, _changed: Outcome | None, who: tuple[str, ...]) -> Shown | None:
        policy, why = simpler(outcome)
        if outcome.whole or policy is None or who[0] not in standing(outcome).tasks:
            return None
        return _show(outcome, outcome.under(policy), who[0], why)

    return Property(name, promise, check, measure)


def _show(outcome: Outcome, reference: Outcome, tenant: str, why: str) -> Shown:
    first, second = standing(reference), standing(outcome)
    should, has, unit = first.of(tenant, second)
    gets, gives = amounts(has, should, unit)
    return Shown(
        before=float(should),
        after=float(has),
        slack=difference(should, has, max(first.within, second.within)),
        sentence=(f"{tenant} gets {gets}; {reference.rule.spec} gives {gives} ({why})."),
        unit=unit,
    )
