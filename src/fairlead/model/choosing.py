"""The machines that selectors choose among many: found by label, not by asking each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from fairlead.model.constraint import Label, Operator, Requirement, Selector

_SAME = (Operator.EQUAL, Operator.IN)
_OTHER = (Operator.NOT_EQUAL, Operator.NOT_IN)

Written = tuple[bool, str]
"""Whether a label is text, and how it is written: the number 5.10 equals 5.1, but is another."""


class Choosing:
    """Some machines' labels, sorted by what they say.

    A selector that names values costs what it chooses, however many machines there are: asking
    each machine, for thousands of selectors, takes minutes.
    """

    def __init__(self, labels: Iterable[Mapping[str, Label]]) -> None:
        self._labels = tuple(labels)
        self._values: dict[str, dict[Written, tuple[Label, list[int]]]] = {}
        self._known: dict[Requirement, Sequence[int]] = {}

    def chosen(self, selector: Selector) -> Sequence[int]:
        """The numbers of those that it matches, in their order: as `selector.matches` says."""
        if not selector:
            return range(len(self._labels))
        least, *others = sorted(map(self._satisfying, selector.requirements), key=len)
        for other in others:
            some = set(other)
            least = [number for number in least if number in some]
        return least

    def _satisfying(self, requirement: Requirement) -> Sequence[int]:
        if requirement not in self._known:
            self._known[requirement] = self._find(requirement)
        return self._known[requirement]

    def _find(self, requirement: Requirement) -> Sequence[int]:
        if requirement.operator in _SAME:
            return self._named(requirement)
        if requirement.operator in _OTHER:
            return self._without(self._named(requirement))
        found, values = [], self._by(requirement.key)
        for label, members in values.values():
            if requirement.matches({requirement.key: label}):
                found.append(members)
        if requirement.matches({}):
            found.append(self._without(chain.from_iterable(each for _, each in values.values())))
        return sorted(chain.from_iterable(found))

    def _named(self, requirement: Requirement) -> list[int]:
        """Those whose label is one of the requirement's values."""
        values = self._by(requirement.key)
        written = [(is_text, text) for text in set(requirement.values) for is_text in (True, False)]
        return sorted(chain.from_iterable(values[each][1] for each in written if each in values))

    def _without(self, some: Iterable[int]) -> list[int]:
        out = set(some)
        return [number for number in range(len(self._labels)) if number not in out]

    def _by(self, key: str) -> dict[Written, tuple[Label, list[int]]]:
        """Each value of a label, and who has it."""
        if key not in self._values:
            found = self._values[key] = {}
            for number, labels in enumerate(self._labels):
                label = labels.get(key)
                if label is not None:
                    written = isinstance(label, str), str(label)
                    found.setdefault(written, (label, []))[1].append(number)
        return self._values[key]
