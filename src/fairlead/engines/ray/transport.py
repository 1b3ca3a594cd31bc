"""Takes a driver's requests to the launcher: over a line, or, where there can be none, by Ray."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol

import ray

from fairlead.engines.interface import EngineError
from fairlead.engines.ray.launcher.driver_api import ANSWER, LISTEN, NEWS
from fairlead.engines.ray.launcher.verdict import Tree
from fairlead.engines.ray.line import DRIVER, FarEnd

WAIT = 1.0
"""Seconds for which the launcher keeps a question for news where there are none."""

LOOK = 60.0
"""Seconds for which a line is read at once."""

BROKEN = "the line to the launcher in Ray is broken"


class Listener(Protocol):
    """Receives the reports of one reconciliation."""

    @property
    def closed(self) -> bool:
        """Whether it wants to hear no more."""

    def take(self, reports: list[Tree]) -> None:
        """These are new."""

    def fail(self, why: Any) -> None:
        """A request was perhaps not done: the reason, or the jobs whose calls are not known."""


class Transport(Protocol):
    """The connection with the launcher, which does what it is told and asked in that order."""

    def ask(self, what: str, *args: Any) -> Any:
        """The answer. Raises EngineError."""

    def send(self, requests: list[Any]) -> None:
        """Sends a turn. Nobody waits for its answer: who hears is told where it failed."""

    def subscribe(self, turn: int, seen: int, listener: Listener) -> None:
        """From now on it hears the reports after that number, of that reconciliation."""

    def close(self) -> None:
        """Lets go of it."""


def open_transport(launcher: Any, hello: Tree, patience: float) -> Transport:
    """Connects with this launcher, whose answer says whether it has a line."""
    place = hello.get("line")
    if place is not None:
        try:
            host, port, secret = place
            end = FarEnd(DRIVER, host, port, secret, patience)
            return LineTransport(end, hello["epoch"], patience)
        except OSError as error:
            sys.stderr.write(f"no line to the launcher in Ray: {error}\n")
    return RayTransport(launcher, hello["epoch"], patience)


class LineTransport:
    """Over a line: the launcher tells the news as they come. An engine is used from one thread, but
    for outputs, which come by Ray: nobody else sends here."""

    def __init__(self, end: FarEnd, epoch: int, patience: float) -> None:
        self._end, self._epoch, self._patience = end, epoch, patience
        self._lock = Lock()
        self._numbers = count(1)
        self._waiting: dict[int, SimpleQueue[tuple[Any, str]]] = {}
        self._broken = False
        self._turn = 0
        self._listener: Listener | None = None
        Thread(target=self._listen, name="line to Ray", daemon=True).start()

    def ask(self, what: str, *args: Any) -> Any:
        number, answer = next(self._numbers), SimpleQueue[tuple[Any, str]]()
        with self._lock:
            if self._broken:
                raise EngineError(BROKEN)
            self._waiting[number] = answer
        self._post(number, what, args)
        try:
            value, error = answer.get(timeout=self._patience)
        except Empty:
            value = None
            error = f"the launcher in Ray did not answer within {self._patience:g} seconds"
        with self._lock:
            self._waiting.pop(number, None)
        if error:
            raise EngineError(error)
        return value

    def send(self, requests: list[Any]) -> None:
        self._post(None, "turn", (requests,))

    def subscribe(self, turn: int, seen: int, listener: Listener) -> None:
        with self._lock:
            self._turn, self._listener = turn, listener
            broken = self._broken
        if broken:
            listener.fail(BROKEN)
        else:
            self._post(None, LISTEN, (turn, seen))

    def close(self) -> None:
        self._end.end()

    def _post(self, number: int | None, what: str, args: tuple[Any, ...]) -> None:
        # Where it does not go out, the line is over, and `_listen` says so after what came before.
        self._end.send((number, what, (self._epoch, *args)))

    def _listen(self) -> None:
        try:
            while True:
                for message in self._end.receive(LOOK):
                    self._take(*message)
        except (OSError, ValueError):
            pass  # whatever it is, the line is of no use any more
        self._end.close()
        with self._lock:
            self._broken = True
            waiting, listener = list(self._waiting.values()), self._listener
        for answer in waiting:
            answer.put((None, BROKEN))
        if listener is not None:
            listener.fail(BROKEN)

    def _take(self, what: str, *about: Any) -> None:
        with self._lock:
            listener = self._listener
            answer = self._waiting.get(about[0]) if what == ANSWER else None
        if answer is not None:
            answer.put(about[1:])
        elif what == NEWS and listener is not None and about[0] == self._turn:
            listener.take(about[1])
        elif what not in (ANSWER, NEWS) and listener is not None:
            listener.fail(about[0])


class RayTransport:
    """By messages of Ray's: a turn is one, and so is each question for news."""

    def __init__(self, launcher: Any, epoch: int, patience: float) -> None:
        self._launcher, self._epoch, self._patience = launcher, epoch, patience
        self._listener: Listener | None = None

    def ask(self, what: str, *args: Any) -> Any:
        return get_within(getattr(self._launcher, what).remote(self._epoch, *args), self._patience)

    def send(self, requests: list[Any]) -> None:
        answer = self._launcher.turn.remote(self._epoch, requests)
        listener = self._listener
        if listener is None:
            return

        def over(future: Future[Any]) -> None:
            error = future.exception()
            if error is not None:
                listener.fail(sentence(error))
            elif future.result():
                listener.fail(future.result())

        answer.future().add_done_callback(over)

    def subscribe(self, turn: int, seen: int, listener: Listener) -> None:
        self._listener = listener
        Thread(
            target=self._ask_for_news, args=(turn, seen, listener), name="news of Ray", daemon=True
        ).start()

    def close(self) -> None:
        """See `Transport`."""

    def _ask_for_news(self, turn: int, seen: int, listener: Listener) -> None:
        while not listener.closed:
            question = self._launcher.news.remote(self._epoch, turn, seen, WAIT)
            try:
                seen, trees = get_within(question, WAIT + self._patience)
            except EngineError as error:
                listener.fail(str(error))
                return
            if trees:
                listener.take(trees)


def get_within(reference: Any, patience: float) -> Any:
    """Waits for the value of this reference, so many seconds. Raises EngineError."""
    try:
        return ray.get(reference, timeout=patience)
    except ray.exceptions.GetTimeoutError as error:
        raise EngineError(f"Ray did not answer within {patience:g} seconds") from error
    except (ray.exceptions.RayError, PermissionError) as error:
        raise EngineError(sentence(error)) from error


def sentence(error: BaseException) -> str:
    """Says Ray's error in the launcher's terms."""
    if isinstance(error, ray.exceptions.ActorDiedError):
        return "the launcher in Ray is gone"
    return f"Ray failed: {error}"
