"""A property asked of a lottery: before the draw, of what it gives in expectation, and after it, of
each allocation that may come out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from fairlead.audit.finding import Finding, Moment, Verdict, Witness
from fairlead.audit.outcome import Options, Outcome, Shown
from fairlead.audit.properties.base import Property
from fairlead.model.wholes import Chance

BEFORE = "Before the draw: "
AFTER = "If that is drawn which has the probability {}: "


def ask(known: Property, outcome: Outcome, options: Options) -> Iterator[Finding]:
    """The findings on one property: of a lottery the one before the draw, and the one after it
    where the property is about an allocation; of anything else one."""
    if outcome.moment is None:
        yield known.check(outcome, options)
        return
    yield _before(known.check(outcome, options))
    if known.after_draw:
        yield _after(known, outcome, options)


def measure_at(
    known: Property,
    outcome: Outcome,
    changed: Outcome | None,
    who: tuple[str, ...],
    moment: Moment | None,
) -> Shown | None:
    """As the property's `measure`, at that moment. After the draw that is the worst that may come
    out. None also where nothing is drawn that should be, or the other way round."""
    if (outcome.moment is None) is not (moment is None):
        return None
    if moment is Moment.EX_POST:
        every = [(one, known.measure(one, None, who)) for one in after_draw(outcome)]
        shown = [
            replace(it, sentence=_lead(one) + it.sentence) for one, it in every if it is not None
        ]
        return max(shown, key=lambda one: one.slack, default=None)
    found = known.measure(outcome, changed, who)
    if found is None or moment is None:
        return found
    return replace(found, sentence=BEFORE + found.sentence)


def after_draw(outcome: Outcome) -> list[Outcome]:
    """The allocations of the lottery, each as an outcome of its own."""
    whole = outcome.allocation.whole
    assert whole is not None  # a lottery is of whole tasks
    return [_of(outcome, chance) for chance in whole.lottery]


def _of(outcome: Outcome, chance: Chance) -> Outcome:
    whole = outcome.allocation.whole
    assert whole is not None  # the caller has one
    tasks = dict(chance.jobs)
    allocation = replace(
        outcome.allocation,
        whole=replace(whole, packings=chance.packings, lottery=()),
        jobs=tuple(
            replace(job, tasks=tasks[job.name], placements=None) for job in outcome.allocation.jobs
        ),
        unrounded=replace(
            outcome.allocation.unrounded,
            tasks={name: Fraction(number) for name, number in chance.jobs},
        ),
    )
    return replace(outcome, allocation=allocation, drawn=chance.probability)


def _lead(outcome: Outcome) -> str:
    return "" if outcome.drawn == Fraction(1) else AFTER.format(outcome.drawn)


def _before(finding: Finding) -> Finding:
    return replace(
        finding,
        lottery=Moment.EX_ANTE,
        witness=None if finding.witness is None else _with_lead(finding.witness, BEFORE),
        others=tuple(BEFORE + text for text in finding.others),
        apart=tuple(_with_lead(one, BEFORE) for one in finding.apart),
    )


def _with_lead(witness: Witness, lead: str, moment: Moment = Moment.EX_ANTE) -> Witness:
    return replace(witness, sentence=lead + witness.sentence, lottery=moment)


def _after(known: Property, outcome: Outcome, options: Options) -> Finding:
    """The worst of what may come out. The counts are of all allocations together."""
    drawn = after_draw(outcome)
    found = [known.check(one, options) for one in drawn]
    broken = [
        (one, finding)
        for one, finding in zip(drawn, found, strict=True)
        if finding.verdict is Verdict.VIOLATED
    ]
    if not broken:
        unsure = [one for one in found if one.verdict is Verdict.NOT_FOUND]
        return replace((unsure or found)[0], lottery=Moment.EX_POST, counts=_added(found))
    one, worst = max(broken, key=lambda each: each[1].witness.slack if each[1].witness else 0.0)
    assert worst.witness is not None  # what a violation has
    # The lottery's own outcome is what a witness is shown again from.
    chance = sum((each.drawn or Fraction(0) for each, _ in broken), start=Fraction(0))
    note = f"violated after the draw with probability {chance}"
    return replace(
        worst,
        lottery=Moment.EX_POST,
        witness=_with_lead(worst.witness, _lead(one), Moment.EX_POST),
        others=tuple(_lead(one) + text for text in worst.others),
        note="; ".join(text for text in (worst.note, note) if text),
        counts=_added(found),
    )


def _added(found: list[Finding]) -> tuple[tuple[str, int], ...]:
    total: dict[str, int] = {}
    for one in found:
        for name, number in one.counts:
            total[name] = total.get(name, 0) + number
    return tuple(total.items())
