"""The issuer's keys as they were fetched last, and when they are fetched again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from fairlead.service.signin.fetching import IssuerError, IssuerKey, Keys, fetch_keys
from fairlead.service.signin.settings import SignInSettings

FIRST_PAUSE = 1.0
"""Seconds until an issuer that did not answer is asked again; twice as many each time, up to
`unknown_seconds` while there are no keys, and `refresh_seconds` where there are."""


class KeyCache:
    """Fetches in threads, one fetch at a time. Used in the event loop alone. `say` hears why the
    issuer cannot be asked, when that begins, and None with the seconds when it is over."""

    def __init__(
        self,
        settings: SignInSettings,
        clock: Callable[[], float],
        say: Callable[[str | None, float], None],
        fetch: Callable[[SignInSettings], Keys] = fetch_keys,
    ) -> None:
        self._settings, self._clock, self._say, self._fetch = settings, clock, say, fetch
        self._keys: Keys = ()
        self._fetched: float | None = None
        self._tried: float | None = None
        self._down: float | None = None
        self._why = "they were not fetched yet"
        self._fetching: asyncio.Task[None] | None = None
        self._renewing: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Fetches now, and from now on again and again."""
        self._renewing = asyncio.create_task(self._renew())

    def stop(self) -> None:
        """Fetches no more."""
        for task in (self._renewing, self._fetching):
            if task is not None:
                task.cancel()

    @property
    def trouble(self) -> str:
        """Why no key is believed now; empty if some are."""
        if self._fetched is None:
            return self._why
        if self._clock() - self._fetched > self._settings.stale_seconds:
            return f"they are older than {self._settings.stale_seconds:g} s, and {self._why}"
        return ""

    def has(self, key: IssuerKey) -> bool:
        """Whether this key is still believed."""
        return not self.trouble and any(key == each for each in self._keys)

    def keys(self, name: str | None, algorithm: str) -> Keys:
        """Those of that name that are for the algorithm. A JWT that names none may be of the only
        one that is for it."""
        fitting = tuple(each for each in self._keys if each.fits(algorithm))
        if name is None:
            return fitting if len(fitting) == 1 else ()
        return tuple(each for each in fitting if each.id == name)

    async def refresh(self) -> None:
        """Fetches anew, unless that was tried a moment ago; who comes while it is being done waits
        for that, no longer than one fetch may take."""
        recent = self._tried is not None and (
            self._clock() - self._tried < self._settings.unknown_seconds
        )
        if self._fetching is None and recent:
            return
        await asyncio.wait([self._begin()], timeout=self._settings.timeout_seconds)

    async def _renew(self) -> None:
        pause = FIRST_PAUSE
        while True:
            await asyncio.wait([self._begin()])
            if self._down is None:
                pause = FIRST_PAUSE
                await asyncio.sleep(self._settings.refresh_seconds)
            else:
                await asyncio.sleep(pause)
                most = self._settings.unknown_seconds
                if self._fetched is not None:
                    most = self._settings.refresh_seconds
                pause = min(2 * pause, most)

    def _begin(self) -> asyncio.Task[None]:
        if self._fetching is None:
            self._tried = self._clock()
            self._fetching = asyncio.create_task(self._once())
        return self._fetching

    async def _once(self) -> None:
        try:
            keys = await self._fetch_aside()
        except IssuerError as error:
            self._why = str(error)
            if self._down is None:
                self._down = self._clock()
                self._say(self._why, 0.0)
        else:
            self._keys, self._fetched = keys, self._clock()
            if self._down is not None:
                self._say(None, self._clock() - self._down)
                self._down = None
        finally:
            self._fetching = None

    async def _fetch_aside(self) -> Keys:
        """Fetches in a thread that nobody waits for when the service stops."""
        loop = asyncio.get_running_loop()
        fetched: asyncio.Future[Keys] = loop.create_future()

        def tell(keys: Keys, error: Exception | None) -> None:
            if fetched.cancelled():
                return
            if error is None:
                fetched.set_result(keys)
            else:
                fetched.set_exception(error)

        def run() -> None:
            keys: Keys = ()
            error: Exception | None = None
            try:
                keys = self._fetch(self._settings)
            except Exception as raised:  # noqa: BLE001 - raised where it is waited for
                error = raised
            with suppress(RuntimeError):  # the event loop is closed: the service has stopped
                loop.call_soon_threadsafe(tell, keys, error)

        threading.Thread(target=run, name="issuer", daemon=True).start()
        return await fetched
