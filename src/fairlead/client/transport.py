"""Requests to the service and their answers: repeated where that is safe, refused in sentences."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime
from threading import Timer
from typing import Any, TypeVar
from urllib.parse import quote

import httpx2

from fairlead.client.answers import Output
from fairlead.client.errors import AnswerError, BusyError, NotLeadingError, UnreachableError
from fairlead.client.failures import error_of, is_in_vain, unreachable
from fairlead.client.leader import find_leader
from fairlead.client.loopback import loopback
from fairlead.client.places import Place, read_again, trust
from fairlead.client.speech import listen
from fairlead.model.errors import InputError, brief
from fairlead.version import __version__
from fairlead.wire.jobs import OFFSET_HEADER, OVER_HEADER, SIZE_HEADER
from fairlead.wire.status import AGE_HEADER
from fairlead.wire.trace import HEADER, TRACEPARENT, parent_of

T = TypeVar("T")

Query = Mapping[str, str | int | bool | None]

TAKEOVER = 20.0
"""Seconds of patience at least with several addresses: when the leader is gone, another one takes
over within ten."""

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds between repeats: each pause is twice the one before it."""

NEAR = 5.0
"""Seconds by which two clocks may differ and count as the same."""

SILENT = 1.0
"""Seconds after which it is told that a request is being repeated."""

DEAF = 10.0
"""Seconds after which it is told that who never answered before has not answered yet."""


class Transport:
    """One connection's worth of requests to one service. Not for several threads at once.

    `patience`: for how many seconds a request that is safe to repeat is repeated while the
    service does not answer or is busy. Where the very first connection is refused, waiting helps
    nobody: that is an error at once, unless the address is that of a service on this machine which
    nobody stopped. Of several addresses the one that leads is asked; while none
    does, one that follows. `age`: how old the last answer of such a one is, in seconds; None: it
    was the leader's. `ahead`: by how many seconds its clock is ahead of this one's, where they are
    apart. `on_wait`: told once a request, in a sentence, that it is being repeated for
    longer than a moment, and for how long yet; and, by another thread, that who has answered
    nothing so far takes long.
    """

    def __init__(
        self,
        place: Place,
        timeout: float = 30.0,
        patience: float = 0.0,
        on_wait: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.place = place
        self.timeout = timeout
        self.patience = max(patience, TAKEOVER) if place.others and patience else patience
        self.age: float | None = None
        self.ahead = 0.0
        self._on_wait = on_wait
        self._addresses = (place.url, *place.others)
        self._settled = not place.others
        self._met = place.kept is not None
        self._answered = False
        self.closed = False
        self._verify = trust(place)
        self._http = self._client(place.url)

    @property
    def _listening(self) -> dict[str, Any]:
        """What the library has to tell of a request: how who is asked begins to answer."""
        return {"trace": listen(self.place)}

    def _client(self, url: str) -> httpx2.Client:
        headers = {"User-Agent": f"fairlead/{__version__}", "Accept": "application/json"}
        if self.place.token:
            headers["Authorization"] = f"Bearer {self.place.token}"
        parent = os.environ.get(TRACEPARENT)
        if parent_of(parent) is not None:
            headers[HEADER] = str(parent)
        login = self.place.login
        return httpx2.Client(
            base_url=url,
            headers=headers,
            auth=None if login is None else login.authorize,
            timeout=httpx2.Timeout(self.timeout, connect=min(self.timeout, 5.0)),
            verify=self._verify,
            # A token is for the addresses that the user named, and for no other.
            follow_redirects=False,
            # A proxy has no business between two programs of one machine.
            trust_env=not loopback(url),
        )

    def _settle(self) -> None:
        """Turns to the service that leads, or to one that answers."""
        if self._settled:
            return
        found, leads = find_leader(self._addresses, self._client)
        if found is not None:
            self._settled = leads
            self._met = True
            self._turn_to(found)

    def _turn_to(self, url: str) -> None:
        if url != self.place.url:
            self._http.close()
            self.place = replace(self.place, url=url)
            self._http = self._client(url)

    def _note(self, answer: httpx2.Response) -> None:
        """Sees what the answer is worth."""
        self._answered = True
        age = answer.headers.get(AGE_HEADER)
        self.age = float(age) if age and _AGE.fullmatch(age) else None
        self.ahead = _ahead(answer)
        if self.age is not None:
            self._settled = len(self._addresses) == 1

    def close(self) -> None:
        """Ends the connection, for whoever uses it."""
        self.closed = True
        self._http.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: object = None,
        key: str | None = None,
        again: bool = False,
        good: tuple[int, ...] = (),
    ) -> Any:
        """The tree that the service answers; one of the statuses `good` is no error. Raises
        ServiceError.

        A request that may have been taken in is repeated only where that changes nothing: all but
        POST, and POST with an idempotency key or where `again` says so.
        """
        again = again or method != "POST" or key is not None
        headers = {"Idempotency-Key": key} if key else {}
        content = None
        if body is not None:
            content = json.dumps(body, separators=(",", ":")).encode()
            headers["Content-Type"] = "application/json"

        tries = 0

        def once() -> Any:
            nonlocal tries
            tries += 1
            answer = self._http.request(
                method,
                path,
                params=_params(query),
                content=content,
                headers=headers,
                extensions=self._listening,
            )
            self._note(answer)
            if method == "DELETE" and tries > 1 and answer.status_code == 404:
                return None  # the one before was taken in, and its answer was lost
            return _tree(answer, self.place, good)

        return self._repeat(once, again)

    def read(self, path: str, query: Query) -> Output:
        """The bytes of an output, and where in it they are. Raises ServiceError."""

        def once() -> Output:
            answer = self._http.get(path, params=_params(query), extensions=self._listening)
            self._note(answer)
            if answer.status_code != 200:
                _tree(answer, self.place)
            return _output(answer, self.place)

        return self._repeat(once, again=True)

    def _repeat(self, once: Callable[[], T], again: bool) -> T:
        """Calls `once` and returns its value, again while patience lasts: always where the request
        was not taken in, and where it may have been, if it may be done again."""
        begun = time.monotonic()
        until = begun + self.patience
        pause, gave_up, told = FIRST_PAUSE, False, False
        while True:
            self._settle()
            try:
                with self._sentences(), self._told_if_deaf():
                    found = once()
                self._met = True
                return found
            except UnreachableError as error:
                if error.sent and self.patience and not (self._settled or gave_up):
                    # It may have frozen, and it took `timeout` to give it up.
                    gave_up = True
                    until = max(until, time.monotonic() + TAKEOVER)
                self._met = self._met or error.sent
                left = until - time.monotonic()
                alone = len(self._addresses) == 1
                if not self._met or (error.sent and not again) or left < FIRST_PAUSE:
                    raise
                if error.in_vain and alone:
                    raise
                there = ", ".join(self._addresses)
                trouble = f"nobody answers at {there} (from {self.place.said_by})"
                if error.sent and alone and not self._answered:
                    trouble = str(error)
            except BusyError as error:
                alone = len(self._addresses) == 1
                self._settled = alone
                left = until - time.monotonic()
                if left < FIRST_PAUSE or (isinstance(error, NotLeadingError) and alone):
                    raise
                trouble = str(error)
            if not told and time.monotonic() + pause > begun + SILENT:
                told = True
                self._on_wait(f"{trouble}; asking again for {left:.0f} s")
            time.sleep(min(pause, left))
            if self.place.kept is not None:
                self._turn_to(read_again(self.place))
            pause = min(LONGEST_PAUSE, 2 * pause)

    @contextmanager
    def _told_if_deaf(self) -> Iterator[None]:
        """Tells of a request that takes long at an address where nobody has answered so far:
        perhaps nobody does."""
        if self._answered or self.timeout < 2 * DEAF:
            yield
            return
        said = f"{self.place.url} (from {self.place.said_by}) took the request {DEAF:g} s ago and"
        said += f" has not answered yet; it is waited for {self.timeout - DEAF:g} s more"
        late = Timer(DEAF, self._on_wait, (said,))
        late.daemon = True
        late.start()
        try:
            yield
        finally:
            late.cancel()

    @contextmanager
    def lines(
        self, path: str, query: Query | None = None, headers: Mapping[str, str] | None = None
    ) -> Iterator[Iterator[str]]:
        """The lines of an answer that does not end by itself. Raises ServiceError, also while
        lines come; a service that sends nothing for three times `timeout` is gone, and where
        another one may lead, after the first."""
        self._settle()
        silent = self.timeout if len(self._addresses) > 1 else 3 * self.timeout
        timeout = httpx2.Timeout(self.timeout, connect=5.0, read=silent)
        with (
            self._sentences(),
            self._http.stream(
                "GET",
                path,
                params=_params(query),
                headers=dict(headers or {}),
                timeout=timeout,
                extensions=self._listening,
            ) as answer,
        ):
            self._note(answer)
            if answer.status_code != 200:
                answer.read()
                _tree(answer, self.place)
            yield _lines(answer.iter_bytes())
        self._settled = len(self._addresses) == 1  # it ended: this one may lead no more

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        """Turns what the library raises into ServiceError."""
        try:
            yield
        except httpx2.TransportError as error:
            sentence = unreachable(error, self.place, self.timeout)
            sent = not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout))
            self._settled = len(self._addresses) == 1
            raise UnreachableError(sentence, sent=sent, in_vain=is_in_vain(error)) from error
        except RuntimeError as error:  # the library's, of a client that another thread closed
            if not self.closed:
                raise
            raise UnreachableError("the connection was closed", sent=False) from error
        except (httpx2.DecodingError, httpx2.InvalidURL) as error:
            raise AnswerError(f"{self.place.url} answers with noise: {error}") from error


_AGE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def _ahead(answer: httpx2.Response) -> float:
    """By how many seconds the clock of who answered is ahead; 0 where that may be the way's."""
    try:
        said = parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    apart = said + 0.5 - time.time()  # it is cut to seconds
    return apart if abs(apart) > NEAR else 0.0


def _params(query: Query | None) -> dict[str, str]:
    """The query as text; a value of None is left out."""
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (query or {}).items()
        if value is not None
    }


def address(*names: str) -> str:
    """The path of what these names lead to. Names may hold anything, slashes too. Raises InputError
    for what cannot be a name."""
    parts = []
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"{brief(repr(name))} is no name", "write the name as text")
        try:
            part = quote(name, safe="")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{name!r} is no text in UTF-8", "write the name as the service shows it"
            ) from error
        if not part:
            raise InputError("a name is empty", "write one")
        # On the way, steps of one or two dots would be taken for a way up.
        parts.append(part.replace(".", "%2E") if part in (".", "..") else part)
    return "/v1/" + "/".join(parts)


def _lines(pieces: Iterator[bytes]) -> Iterator[str]:
    """The lines of a stream, parted by line feeds and nothing else: data may hold other signs that
    some take for line breaks."""
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r").decode("utf-8", "replace")


def _output(answer: httpx2.Response, place: Place) -> Output:
    try:
        return Output(
            answer.content,
            int(answer.headers[OFFSET_HEADER]),
            int(answer.headers[SIZE_HEADER]),
            answer.headers.get(OVER_HEADER) == "true",
        )
    except (KeyError, ValueError) as error:
        raise AnswerError(f"{place.url} does not say where in an output it begins") from error


def _tree(answer: httpx2.Response, place: Place, good: tuple[int, ...] = ()) -> Any:
    """Reads the tree of an answer. Raises the error that it means."""
    status = answer.status_code
    if status == 204:
        return None
    try:
        tree = json.loads(answer.content)
    except ValueError:
        tree = None
        if status < 400:
            raise AnswerError(
                f"{place.url} (from {place.said_by}) does not answer as a Fairlead service does"
                f" (status {status}); is the address right?",
                status,
            ) from None
    if status < 300 or status in good:
        return tree
    raise error_of(status, tree, place)
