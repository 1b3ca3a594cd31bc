"""The part of the launcher that drivers ask, by Ray or over a line, and what it tells them."""

from __future__ import annotations

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from fairlead.engines.ray.launcher.book import Book, KnownAttempt
from fairlead.engines.ray.launcher.exchange import Exchange
from fairlead.engines.ray.launcher.node_names import NodeNames
from fairlead.engines.ray.launcher.pinning import Pins
from fairlead.engines.ray.launcher.threads import DRIVE, HEAR, in_group
from fairlead.engines.ray.launcher.verdict import Key, Tree, build_lost
from fairlead.engines.ray.line import DRIVER, LauncherEnd
from fairlead.engines.ray.node.files import remove

AT_ONCE = 50
"""Tasks that are handed to Ray before anybody else is heard."""

ASKED = ("nodes", "turn", "reconcile")
"""Methods that are called over a line as by Ray."""

LISTEN, NEWS, ANSWER, FAILED = "listen", "news", "answer", "failed"
"""Messages beside these: to listen for news. And from here: news, the answer to a
question, and why what was only said was not done."""

TAKEN_OVER = "another driver has taken over"


class DriverApi:
    """One driver at a time: each new one gets a number, and what those before it ask is refused.
    The launcher's lock is held while anything is done."""

    _lock: threading.RLock
    _work: threading.Condition
    _news: threading.Condition
    _book: Book
    _queue: deque[KnownAttempt]
    _pins: Pins
    _node_names: NodeNames
    _exchange: Exchange
    _incarnation: str
    _service: str | None = None
    _owner = 0  # of the journal: the newest that was here
    _epoch = 0
    _round = 0
    _last_call = 0.0
    _news_line: LauncherEnd | None = None  # the line of who wants to be told the news
    _news_round = 0
    _news_seen = 0  # the last report that it was told
    _about: Callable[[], Tree]
    _submit_some: Callable[[], None]
    _stop: Callable[[KnownAttempt, str], None]

    @in_group(DRIVE)
    def hello(self, service: str, owner: int) -> Tree:
        """A new driver of that service. Refused while another service's driver is there, and where
        a newer owner of the journal was. `owner` 0: it does not know yet who it is."""
        with self._lock:
            if 0 < owner < self._owner:
                return {"overtaken": self._owner}
            quiet = time.monotonic() - self._last_call
            if self._service not in (None, service):
                return {"taken": self._service, "quiet": quiet}
            self._service = service
            self._epoch += 1
            self._last_call = time.monotonic()
            if self._news_line is not None:
                self._exchange.post(self._news_line, (FAILED, TAKEN_OVER))
                self._news_line = None
            self._news.notify_all()
            answer = {"incarnation": self._incarnation, "epoch": self._epoch}
            return {**answer, "line": self._exchange.place(DRIVER)}

    @in_group(HEAR)
    def nodes(self, epoch: int) -> list[Tree]:
        with self._lock:
            self._check(epoch)
            return self._node_names.rows()

    @in_group(DRIVE)
    def turn(self, epoch: int, requests: list[tuple[str, Any]]) -> list[int]:
        """Does what it is told, in that order: ("launch", (batch, calls)), ("acknowledge", reports
        by key and kind), ("cancel", keys), ("forget", keys), ("limit_outputs", bytes by tenant).
        The jobs whose calls are not known: their batch was not launched then."""
        missing: list[int] = []
        with self._lock:
            self._check(epoch)
            for what, about in requests:
                match what:
                    case "launch":
                        missing += self._launch(*about)
                    case "acknowledge":
                        self._acknowledge(about)
                    case "cancel":
                        self._cancel(about)
                    case "forget":
                        self._forget(about)
                    case "limit_outputs":
                        self._book.limit_outputs(about)
            self._tell()
        return missing

    @in_group(HEAR)
    def news(self, epoch: int, turn: int, seen: int, patience: float) -> tuple[int, list[Tree]]:
        """The reports after number `seen`, as soon as there are any, and the number of the last.
        Waits so long at most, and no longer than until the next reconciliation."""
        with self._news:
            self._check(epoch)

            def worth() -> bool:
                return self._book.last_number > seen or (epoch, turn) != (self._epoch, self._round)

            self._news.wait_for(worth, patience)
            self._check(epoch)
            return self._book.last_number, self._book.since(seen)

    def _launch(self, batch: list[Tree], calls: dict[int, str]) -> list[int]:
        """Starts attempts that are not known."""
        missing = self._book.learn(batch, calls)
        if missing:
            return missing
        for tree in batch:
            key: Key = tree["key"]
            known = self._book.attempts.get(key) or self._book.over.get(key)
            if known is not None and known.unwanted and known.end is None:
                known.behind = known.behind or partial(self._begin, tree)
            elif known is None or known.unwanted:
                self._begin(tree)
        if len(self._queue) <= AT_ONCE:
            self._submit_some()
        if self._queue:
            self._work.notify()
        return []

    def _begin(self, tree: Tree) -> None:
        self._drop(tree["key"], self._node_names.id_of(tree["spec"]["machine"]))
        self._queue.append(self._book.begin(tree, self._about()))
        self._work.notify()

    def _drop(self, key: Key, node: str | None = None) -> None:
        """Nobody asks for the outputs of who had this name in a journal that is gone, or in what
        came after the backup of one. On that `node` the next one writes over them."""
        other = self._book.drop_outputs(key)
        if other is not None and other.node != node and other.node in self._node_names.alive:
            self._pins.on(other.node, remove).remote(self._service, [key])

    def _give_up(self, key: Key) -> None:
        """It never was launched here, and never will be."""
        self._drop(key)
        attempt = self._book.remember(KnownAttempt(key, {}, "nothing", None, {}))
        self._book.end(attempt, build_lost("it was cancelled before it started", False, False))

    def _acknowledge(self, reports: list[tuple[Key, str]]) -> None:
        for key, kind in reports:
            if self._book.reports.pop((key, kind), None) and kind != "started":
                self._book.put_away(key)

    def _cancel(self, keys: list[Key]) -> None:
        """Stops attempts; one that is not known is lost before it began."""
        for key in keys:
            attempt = self._book.attempts.get(key) or self._book.over.get(key)
            if attempt is None or (attempt.unwanted and attempt.end is not None):
                self._give_up(key)
            elif attempt.unwanted:
                attempt.behind = partial(self._give_up, key)
            else:
                self._stop(attempt, "stopped")

    def _forget(self, keys: list[Key]) -> None:
        """Nobody asks for the outputs of these any more."""
        places: dict[str, list[Key]] = {}
        for key in keys:
            attempt = self._book.drop_outputs(key)
            if attempt is not None and attempt.node in self._node_names.alive:
                places.setdefault(str(attempt.node), []).append(key)
        for job in sorted({key[0] for key in keys}):
            self._book.free(job)
        for node, there in sorted(places.items()):
            self._pins.on(node, remove).remote(self._service, there)

    @in_group(DRIVE)
    def reconcile(self, epoch: int, batch: list[Tree], sure: bool, owner: int) -> Tree:
        """Only these should be there. `sure`: what is not known was never launched; otherwise an
        earlier launcher may have started it, and it is lost. `owner`: nobody with a lower number
        drives this from now on."""
        with self._lock:
            self._check(epoch)
            if owner < self._owner:
                return {"overtaken": self._owner}
            self._owner = owner
            expected = {tree["key"] for tree in batch}
            never: list[Key] = []
            for attempt in self._book.over.values():
                attempt.unwanted = True  # its end was acknowledged: what is launched is another one
            for key, attempt in list(self._book.attempts.items()):
                attempt.behind = None
                if key not in expected:
                    self._abandon(attempt)
            for tree in batch:
                known = self._book.attempts.get(tree["key"])
                if known is not None and not known.unwanted:
                    self._book.expect(known)
                elif sure or known is not None:  # else it is what nobody expected before
                    never.append(tree["key"])
                else:
                    missed = self._book.remember(KnownAttempt(tree["key"], {}, "nothing", None, {}))
                    self._book.end(missed, build_lost("its launcher in Ray is gone", True, False))
            self._round += 1
            self._tell()
            last = self._book.last_number
            reports = self._book.since(0)
            return {"never": never, "round": self._round, "seen": last, "reports": reports}

    def _check(self, epoch: int) -> None:
        if epoch != self._epoch:
            raise PermissionError(TAKEN_OVER)
        self._last_call = time.monotonic()

    def _abandon(self, attempt: KnownAttempt) -> None:
        """Nobody expects it: it is stopped and not reported."""
        attempt.unwanted = True
        for kind in ("started", "end"):
            self._book.reports.pop((attempt.key, kind), None)
        if attempt.end is not None:
            self._book.put_away(attempt.key)
        else:
            self._stop(attempt, "stopped")

    # Over a line.

    def _answer(self, line: LauncherEnd, message: tuple[int | None, str, tuple[Any, ...]]) -> None:
        """Does what is asked. Where there is no number nobody waits for the answer, and only what
        went wrong is told."""
        number, what, args = message
        try:
            value = None
            if what == LISTEN:
                self._send_news_to(line, *args)
            elif what in ASKED:
                value = getattr(self, what)(*args)
            else:
                raise ValueError(f"nobody can ask for {what!r}")
        except Exception as error:  # noqa: BLE001 - it is the answer, as it is by Ray
            if not isinstance(error, PermissionError):
                traceback.print_exc()
            why = str(error) or repr(error)
            answer = (FAILED, why) if number is None else (ANSWER, number, None, why)
            self._exchange.post(line, answer)
        else:
            if number is not None:
                self._exchange.post(line, (ANSWER, number, value, ""))
            elif value:
                self._exchange.post(line, (FAILED, value))

    def _send_news_to(self, line: LauncherEnd, epoch: int, turn: int, seen: int) -> None:
        """The driver is told the news after that number over this line."""
        self._check(epoch)
        self._news_line, self._news_round, self._news_seen = line, turn, seen

    def _forget_line(self, line: LauncherEnd) -> None:
        if self._news_line is line:
            self._news_line = None

    def _tell(self) -> None:
        """Tells the driver what it does not know, and wakes whoever waits."""
        if self._news_line is not None and self._book.last_number > self._news_seen:
            news, self._news_seen = self._book.since(self._news_seen), self._book.last_number
            if news:
                self._exchange.post(self._news_line, (NEWS, self._news_round, news))
        self._news.notify_all()
