"""The auditor's word on a small input, for studies."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.audit.finding import Input, Verdict
from fairlead.audit.outcome import Options
from fairlead.audit.run import Refused, audit
from fairlead.model.errors import InternalError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.sharing.rules.registry import parse


def violated(
    property_: str,
    where: Sequence[Machine],
    jobs: Sequence[Job],
    policy: str,
    *,
    trials: int = 20,
    seed: int = 1,
) -> str:
    """The sentence on a violation of the property by the policy on this input; nothing where none
    was found, by `trials` changes where changes are tried."""
    given = Input(Cluster(where), tuple(jobs))
    options = Options(trials=trials, seed=seed)
    for one in audit(given, [parse(policy)], (property_,), options):
        if isinstance(one, Refused):
            raise InternalError(f"{policy} refuses the input: {'; '.join(map(str, one.reasons))}")
        if one.verdict is Verdict.VIOLATED:
            return one.witness.sentence if one.witness is not None else one.note
    return ""
