"""An adviser without a process of its own: what is asked is answered by the next step."""

from __future__ import annotations

from fairlead.service.fairness.interface import Answered, Question
from fairlead.service.fairness.solve import answer


class AtOnce:
    """Computes where it is asked."""

    def __init__(self) -> None:
        self._found: Answered | None = None

    def ask(self, question: Question) -> None:
        """Computes the answer."""
        self._found = Answered(question, answer(question))

    def answer(self) -> Answered | None:
        """The answer to the last question, once."""
        found, self._found = self._found, None
        return found

    def close(self) -> None:
        """There is nothing to end."""
