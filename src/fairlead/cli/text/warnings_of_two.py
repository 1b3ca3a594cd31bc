"""The warnings of two answers, as lines that say of which of the two each is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairlead.model.words import escaped


def warnings_of_two(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """A line for each warning: "warning before" or "warning after" where only one answer has it."""
    for text in dict.fromkeys([*before, *after]):
        when = "" if text in before and text in after else " before" if text in before else " after"
        yield f"warning{when}: {escaped(text)}"
