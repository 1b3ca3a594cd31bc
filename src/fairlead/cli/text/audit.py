"""The findings of an audit as a table with sentences, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.audit.finding import Finding, Input, Verdict
from fairlead.audit.run import Refused
from fairlead.audit.witness.file import witness_tree
from fairlead.cli.common.screen import Screen, table, wrap
from fairlead.model.report import rounded
from fairlead.model.words import counted, escaped, listing, plural, sentence

SCHEMA = "fairlead.audit/1"
BROKEN = ("below", "envious", "could gain", "differ", "violations")
"""Words for the count of violations, by what is counted."""


def tree(
    found: Sequence[Finding],
    refused: Sequence[Refused],
    notes: Sequence[str],
    sentences: Sequence[str | None],
) -> dict[str, object]:
    """The findings as `fairlead.audit/1`; `sentences` are those on the violations of the input."""
    return {
        "schema": SCHEMA,
        "results": [
            finding_tree(finding) | {"sentence": text}
            for finding, text in zip(found, sentences, strict=True)
        ],
        "refused": [{"policy": one.policy, "reasons": list(one.reasons)} for one in refused],
        "notes": list(notes),
    }


def sentence_of(finding: Finding) -> str | None:
    """The sentence on the worst violation; None where there is none."""
    return None if finding.witness is None else finding.witness.sentence


def finding_tree(finding: Finding) -> dict[str, object]:
    return {
        "policy": finding.policy,
        "tasks": finding.tasks.value,
        "lottery": None if finding.lottery is None else finding.lottery.value,
        "property": finding.property,
        "verdict": finding.verdict.value,
        "trials": finding.trials,
        "seed": finding.seed,
        "best": rounded(finding.best),
        "witness": None if finding.witness is None else witness_tree(finding.witness),
        "others": list(finding.others),
        "note": finding.note,
        "counts": dict(finding.counts),
        "apart": [witness_tree(one) for one in finding.apart],
    }


def page_tree(
    found: Sequence[Finding], refused: Sequence[Refused], given: Input, notes: Sequence[str]
) -> dict[str, object]:
    """The picture of an audit's page: of each property under each policy the verdict in a word,
    and of a violation its sentence with the two numbers."""
    return {
        "jobs": len(given.jobs),
        "machines": len(given.cluster.machines),
        "tasks": found[0].tasks.value,
        "findings": [
            {
                "policy": _column(one),
                "property": one.property,
                "verdict": one.verdict.value,
                "cell": _cell(one),
                "sentence": sentence_of(one),
                "before": None if one.witness is None else one.witness.before,
                "after": None if one.witness is None else one.witness.after,
                "unit": None if one.witness is None else one.witness.unit,
                "others": list(one.others),
                "note": one.note,
            }
            for one in found
        ],
        "refused": [{"policy": one.policy, "reasons": list(one.reasons)} for one in refused],
        "notes": list(notes),
    }


def lines(
    found: Sequence[Finding],
    refused: Sequence[Refused],
    given: Input,
    notes: Sequence[str],
    screen: Screen,
) -> Iterator[str]:
    """A row for each property, a column for each policy; then a sentence for each violation."""
    jobs, machines = (
        counted(len(given.jobs), "job"),
        counted(len(given.cluster.machines), "machine"),
    )
    yield f"audit of {jobs} on {machines}, {found[0].tasks.value} tasks"
    for text in notes:
        yield from wrap(escaped(sentence(text)), screen)
    yield ""
    policies = list(dict.fromkeys(_column(one) for one in found))
    cells = {(one.property, _column(one)): _cell(one) for one in found}
    properties = list(dict.fromkeys(one.property for one in found))
    rows = [[name, *(cells.get((name, policy), "") for policy in policies)] for name in properties]
    yield from table(["property", *policies], rows, "<" * (1 + len(policies)), screen)
    broken = [one for one in found if one.verdict is Verdict.VIOLATED]
    if broken:
        yield ""
    for one in broken:
        assert one.witness is not None  # what a violation has
        # Only the worst have a sentence; all are counted.
        more = max([len(one.others)] + [n - 1 for name, n in one.counts if name in BROKEN])
        text = f"{one.policy}, {one.property}: {one.witness.sentence}"
        yield from wrap(escaped(text + (f" And {more} more." if more else "")), screen)
    # What is to be said of several properties or policies alike is said once.
    said: dict[tuple[str, bool], dict[str, list[str]]] = {}
    for one in found:
        if one.note:
            key = (one.note, one.verdict is Verdict.NOT_APPLICABLE)
            said.setdefault(key, {}).setdefault(one.property, []).append(_column(one))
    weighted = {tenant.name for tenant in given.cluster.tenants if tenant.weight not in (None, 1)}
    unweighted = any(
        one.witness is not None and one.witness.unit == "share" and weighted & set(one.witness.who)
        for one in broken
    )
    if said or refused or unweighted:
        yield ""
    if unweighted:
        text = "a share in a sentence is the sum over the tenant's jobs, not divided by its weight."
        yield from wrap(text, screen)
    for (note, silent), about in said.items():
        who = list(dict.fromkeys(policy for names in about.values() for policy in names))
        lead = "" if len(who) == len(policies) else f"{', '.join(who)}: "
        says = f" {plural('says', len(about))} nothing here" if silent else ""
        text = f"{lead}{listing(about)}{says}: {note}"
        yield from wrap(escaped(sentence(text)), screen)
    for other in refused:
        reasons = sentence("; ".join(other.reasons))
        yield from wrap(escaped(f"{other.policy} cannot be applied: {reasons}"), screen)


def _column(finding: Finding) -> str:
    """Whom a finding is about; a lottery is judged before the draw and after it."""
    if finding.lottery is None:
        return finding.policy
    return f"{finding.policy} {finding.lottery.value.replace('-', ' ')}"


def _cell(finding: Finding) -> str:
    """A verdict in a word or two."""
    match finding.verdict:
        case Verdict.NOT_FOUND:
            return f"none in {finding.trials}"
        case Verdict.NOT_APPLICABLE:
            return "-"
        case Verdict.VIOLATED if finding.trials is None and len(finding.counts) >= 2:
            (_, looked), (_, broken), *_ = finding.counts
            return f"violated: {broken} of {looked}"
        case other:
            return str(other.value)
