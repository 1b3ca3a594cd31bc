"""Names of classes of machines in a few letters: of a hundred ranges nobody reads the names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fairlead.model.machine import Machine
from fairlead.model.shares import MachineClass
from fairlead.model.words import amount, counted, listing
from fairlead.sharing.analysis.stop_names import Ranges

SHORT = 30
"""Letters of names of machines that stand as they are."""

VALUE = 16
"""Letters of a label's value that stands as it is."""

LEAST = 8
"""Letters that are left of a longer one, where these tell it from the others."""

FEW = 3
"""Kinds that are named together, the largest first."""


class Kinds:
    """The machines of classes in words: the ranges of their names where these are short, else what
    the classes differ in (values of labels, then what a machine has) with how many they are."""

    def __init__(
        self, classes: Sequence[MachineClass], machines: Mapping[int, Sequence[Machine]]
    ) -> None:
        self._ranges = Ranges(classes)
        self._machines = machines
        self._order = [group.index for group in classes]
        self._label = self._labels()
        self._known = self._named()

    def __call__(self, classes: Iterable[int]) -> str:
        """These classes together."""
        chosen = sorted(classes)
        text = self._ranges(chosen)
        if len(text) <= SHORT or not chosen:
            return text
        size = Counter[str]()
        for index in chosen:
            size[self._label[index] or self._known[index]] += len(self._machines[index])
        whole = counted(size.total(), "machine")
        if len(chosen) == len(self._order):
            return f"all {whole}"
        if len(chosen) == 1:
            return f"{whole} ({self._known[chosen[0]]})"
        if len(size) == 1:
            return f"{whole} ({next(iter(size))})"
        return (
            f"{whole} ({listing((f'{count} {name}' for name, count in size.most_common()), FEW)})"
        )

    def name(self, index: int) -> str:
        """One class, without how many machines it has."""
        text = self._ranges([index])
        return text if len(text) <= SHORT else self._known[index]

    def _labels(self) -> dict[int, str]:
        """The values of the labels in which the classes differ."""
        labels = {index: _alike(self._machines[index]) for index in self._order}
        keys = dict.fromkeys(key for each in labels.values() for key in each)
        values = {key: {each.get(key) for each in labels.values()} for key in keys}
        telling = {
            key: _letters(one for one in each if one)
            for key, each in values.items()
            if len(each) > 1
        }
        return {
            index: ", ".join(_cut(each[key], most) for key, most in telling.items() if key in each)
            for index, each in labels.items()
        }

    def _named(self) -> dict[int, str]:
        """The labels, and where classes have the same ones what else they differ in."""
        firsts = {index: self._machines[index][0] for index in self._order}
        found = dict(self._label)
        times = Counter(found.values())
        resources = dict.fromkeys(name for one in firsts.values() for name in one.capacity)
        for index, text in self._label.items():
            if text and times[text] == 1:
                continue
            has = firsts[index].capacity
            others = [each.capacity for other, each in firsts.items() if self._label[other] == text]
            size = [
                amount(float(has[name]), name, 3)
                for name in resources
                if name in has and len({other.get(name) for other in others}) > 1
            ]
            parts = [part for part in (text, *size) if part]
            found[index] = ", ".join(parts) or f"like {_cut(firsts[index].name)}"
        return found


def _alike(machines: Sequence[Machine]) -> dict[str, str]:
    """The labels that all of these machines have."""
    first, *others = machines
    return {
        key: str(value)
        for key, value in first.labels.items()
        if all(other.labels.get(key) == value for other in others)
    }


def _letters(values: Iterable[str]) -> int:
    """So many letters of long values tell them apart, or all that there is room for."""
    found = set(values)
    few = (
        most
        for most in range(LEAST, VALUE)
        if len({_cut(each, most) for each in found}) == len(found)
    )
    return next(few, VALUE - 1)


def _cut(text: str, most: int = VALUE - 1) -> str:
    return text if len(text) <= VALUE else f"{text[:most]}…"
