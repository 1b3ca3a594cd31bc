"""Whom the name of a job means, which shares nothing with the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairlead.service.requests import Caller

if TYPE_CHECKING:
    from tests.vopr.ledger import Ledger
    from tests.vopr.lines import JobLine


def bare(name: str) -> str:
    """A name without its tenant."""
    return name.rpartition("/")[2]


def full(line: JobLine) -> str:
    """The name with the tenant."""
    return f"{line.tree.get('tenant') or ''}/{line.called}"


def meant(ledger: Ledger, caller: Caller, name: Any) -> list[JobLine]:
    """The jobs that the caller may mean; he is to be refused where they are several."""
    lines = list(ledger.jobs.values())
    own = [line for line in lines if line.tree.get("tenant") == (caller.tenant or "nobody")]
    named = [line for line in own if line.called == name]
    named = named or [line for line in lines if full(line) == name]
    if named:
        return named
    some = [line for line in lines if line.called == name]
    above = caller.tenant
    if above is not None:
        below = [line for line in some if ledger.below(line.tree.get("tenant"), above)]
        return below or some
    return some


def told(ledger: Ledger, caller: Caller, line: JobLine) -> str:
    """What the caller is to be told that the job is called."""
    alone = sum(each.called == line.called for each in ledger.jobs.values()) == 1
    own = caller.tenant is not None and line.tree.get("tenant") == caller.tenant
    return line.called if own or alone else full(line)
