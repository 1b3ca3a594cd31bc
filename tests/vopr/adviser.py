"""An adviser that answers late, never, or what was asked before; what it says is drawn, for the
service may not depend on its being right."""

from __future__ import annotations

from fairlead.model.values import FrozenMap
from fairlead.scheduling.events import Advice
from fairlead.service.fairness.interface import Answer, Answered, Question
from tests.vopr.faults import SECOND, Chance, Fault, Trace


class SimAdviser:
    """One life of the process that computes. Its time is the trace's."""

    def __init__(self, chance: Chance, trace: Trace) -> None:
        self.chance = chance
        self.trace = trace
        self.asked: Question | None = None
        self.before: Question | None = None
        self.due = 0
        self.last = 0

    def ask(self, question: Question) -> None:
        """Adviser.ask."""
        if question.number <= self.last:
            raise AssertionError("questions are numbered upwards")
        self.last = question.number
        self.before, self.asked = self.asked, question
        self.due = self.trace.now + SECOND // 20
        if self.chance.hit(Fault.ADVICE_LATE):
            self.due += self.chance.stream("advice").randrange(30 * SECOND)
        if self.chance.hit(Fault.ADVICE_NEVER):
            self.asked = None

    def answer(self) -> Answered | None:
        """Adviser.answer."""
        if self.asked is None or self.trace.now < self.due:
            return None
        question, self.asked = self.asked, None
        if self.before is not None and self.chance.hit(Fault.ADVICE_OLD):
            question, self.asked = self.before, question
        return Answered(question, self._answer(question))

    def _answer(self, question: Question) -> Answer:
        draws = self.chance.stream("guarantees")
        if draws.random() < 0.1:
            return Answer(question.number, question.time, problem="the simulated solver failed")
        guarantees = {job: draws.randrange(4) for job in question.jobs}
        advice = [
            Advice(job, question.machines, draws.randrange(3), draws.randrange(5) * 1_000_000)
            for job in question.jobs
            if question.machines
        ]
        return Answer(
            question.number,
            question.time,
            guarantees=FrozenMap(guarantees) if question.guarantees else None,
            advice=tuple(advice) if question.advice else None,
        )

    def close(self) -> None:
        """Adviser.close."""
