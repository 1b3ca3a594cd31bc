"""What the launcher adds up of the outputs of tenants' attempts."""

from __future__ import annotations

from fairlead.engines.ray.launcher.book import Book, KnownAttempt


def known(book: Book, task: int, tenant: str) -> KnownAttempt:
    attempt = KnownAttempt((1, task, 1), {"tenant": tenant}, "command", None, {})
    return book.remember(attempt)


def cut(*attempts: KnownAttempt) -> list[bool]:
    return [each.cut for each in attempts]


def test_attempts_of_a_tenant_are_cut_where_they_wrote_more_than_it_has_room_for() -> None:
    book = Book()
    first, second, other = known(book, 0, "t"), known(book, 1, "t"), known(book, 2, "u")
    for attempt, kept in ((first, 50), (second, 30), (first, 60), (other, 10)):
        book.note_written(attempt, kept)
    book.limit_outputs({"t": 90, "u": 10, "who": 0})
    assert cut(first, second, other) == [False] * 3
    book.put_away(first.key)
    book.limit_outputs({"t": 30})
    assert cut(second) == [False]
    third = known(book, 3, "t")
    book.limit_outputs({"t": 29})
    assert cut(second, third, other) == [True, True, False]
    for each in (second, third, other):
        book.put_away(each.key)
    assert not book._written  # noqa: SLF001
