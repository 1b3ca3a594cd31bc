"""What each setting of a service may be: how it is read, and its bounds. Who has the file says
where a mistake is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from fairlead.client.places import check_url
from fairlead.engines.registry import ENGINES
from fairlead.model.errors import InputError, brief
from fairlead.model.quantity import exact
from fairlead.model.times import TooLongError, read_duration
from fairlead.scheduling.options import MICROSECONDS
from fairlead.service.journal.places import POSTGRES

Read = Callable[[str], Any]
"""Reads a value. Raises InputError where it cannot be."""

API, SIGN_IN = "api", "oidc"
"""Sections of the file, besides those of the service's own settings."""

LISTEN = "127.0.0.1:7370"
"""Address at which the service listens if nothing is said."""

SWITCHES = ("behind_proxy", "no_auth", "standby", "telemetry", "whole", "threads")

OFF = ("reserve_after", "preempt_after", "journal_keep")
"""Times that may be `off`."""

LONG = "36500d"

TIMES = {
    **dict.fromkeys(("time", "keys", "lost_after", "given_up_for", "quarantine"), ("1us", LONG)),
    **dict.fromkeys(("quarantine_most", "reserve_for", *OFF), ("1us", LONG)),
    **dict.fromkeys(("node_interval", "read_every", "advise_every"), ("1ms", LONG)),
}
"""Of the service, kept in microseconds: the least and the most. What is looked at again and again
leaves time for something else."""

SECONDS = {
    **dict.fromkeys(("refusal_seconds", "tokens_seconds", "leeway_seconds"), ("1us", "1d")),
    "stale_seconds": ("1us", LONG),
    **dict.fromkeys(("longest_seconds", "refresh_seconds"), ("1s", LONG)),
}
"""Of the API and of who signs in, kept in seconds; of those that are not here it is `A_MOMENT`."""

A_MOMENT = ("1ms", "1d")

RATE = (Fraction(1, 1000), Fraction(10**9))
"""Of a rate, and of a burst that is a time: less is a wait without end."""

BURST = (Fraction(1), Fraction(10**9))
"""Of a burst of requests: of less than one, none ever passes."""

OF_TIME = ("connecting_burst", "reading_burst", "changing_burst")
"""Bursts that are seconds of the loop's time."""

MOST = 10**15 - 1

COUNTS = {
    "requests_per_step": (1, MOST),  # else none is ever taken in
    "connections": (4, MOST),  # half of them for those who are known, half for who comes
    **dict.fromkeys(("fetching", "heavy"), (1, 1000)),  # threads, and processes
}
"""Whole numbers with bounds of their own. Of the others, those of the API are 1 or more, bytes
there enough for the head of a request; of the service, what is limited to 0 is refused, or
forgotten at once."""

ENOUGH = 1024

_ADDRESS = re.compile(r"https?://[!-~]{1,1000}")
_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,10}(\.[0-9]{1,9})?")


def reader_of(section: str, name: str) -> Read:
    """How the setting of this name is read, in the section (empty: in none)."""
    if name in _CHOSEN and not section:
        return _CHOSEN[name]
    if name in SWITCHES:
        return switch
    if name in TIMES and section not in (API, SIGN_IN):
        return lambda text: _microseconds(name, text)
    if name.endswith("_seconds"):
        return lambda text: float(_time(text, *SECONDS.get(name, A_MOMENT)))
    if section == API and name in ("graphs", "addresses"):
        return page
    if section == API and name.endswith(("_rate", "_burst")):
        bounds = BURST if name.endswith("_burst") and name not in OF_TIME else RATE
        return lambda text: _decimal(text, *bounds)
    least = (ENOUGH if name.endswith("_bytes") else 1) if section == API else 0
    bounds_of_count = COUNTS.get(name, (least, MOST))
    return lambda text: _whole(text, *bounds_of_count)


def words(text: str) -> str:
    """A name of something that is there."""
    if text.strip():
        return text
    raise InputError("nothing is named", "write a name, or leave the key out")


def size(text: str) -> Fraction:
    """Of a unit."""
    found = exact(text)
    if found > 0:
        return found
    raise InputError(f'"{brief(text)}" is no size of a unit', "write more than 0, as in 0.00001")


def listening(text: str, said_by: str = "--listen") -> tuple[str, int]:
    """The host and the port. Raises InputError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise InputError(
            f"{said_by} {text!r} is not where to listen", f"write HOST:PORT, as in {LISTEN}"
        )
    return host, int(port)


def page(text: str) -> str:
    """The address of a page."""
    if _ADDRESS.fullmatch(text):
        return text
    raise InputError(
        f'"{brief(text)}" is no address of a page', "write one, as https://grafana.example/d/nodes"
    )


def switch(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise InputError(f'"{brief(text)}" is neither true nor false', "write one of the two")


def _policy(text: str) -> str:
    from fairlead.scheduling.state.scales import policy_of
    from fairlead.scheduling.state.slots import canonical, is_named

    if is_named(text):
        canonical(text)
    else:
        policy_of(text)
    return text


def _placement(text: str) -> str:
    from fairlead.scheduling.placement.registry import check_name

    check_name(text)
    return text


def _log(text: str) -> str:
    from fairlead.service.process.logs import Level

    return _one_of(text, "level of the log", (level.value for level in Level))


def _engine(text: str) -> str:
    return _one_of(text, "engine", ENGINES)


def _mode(text: str) -> str:
    return _one_of(text, "mode", dict.fromkeys(m for each in ENGINES.values() for m in each.modes))


def _one_of(text: str, what: str, there: Iterable[str]) -> str:
    known = list(there)
    if text in known:
        return text
    raise InputError(f'there is no {what} "{brief(text)}"', f"write {' or '.join(known)}")


def _listen(text: str) -> str:
    listening(text, "listen")
    return text


def _advertise(text: str) -> str:
    return check_url(text, "advertise")


def journal(text: str) -> str:
    """Where the journal is kept."""
    if "://" not in text or text.startswith(POSTGRES):
        return words(text)
    raise InputError(
        f"no journal is kept at {brief(text.partition(':')[0])}://",
        "write a URL of postgresql://, or leave it out for a file in the state folder",
    )


_CHOSEN: dict[str, Read] = {
    "policy": _policy,
    "placement": _placement,
    "log": _log,
    "engine": _engine,
    "mode": _mode,
    "listen": _listen,
    "advertise": _advertise,
    "journal": journal,
    **dict.fromkeys(("partition", "address", "cluster", "state", "tls_cert", "tls_key"), words),
}
"""What is none of the numbers, times and switches."""


def _microseconds(name: str, text: str) -> int | None:
    if name in OFF and text in ("off", "false"):
        return None
    return max(1, round(_time(text, *TIMES[name]) * MICROSECONDS))


def _time(text: str, least: str, most: str) -> Fraction:
    try:
        found = read_duration(text)
    except TooLongError as error:
        raise _out_of_bounds(text, f"from {least} to {most}") from error
    if read_duration(least) <= found <= read_duration(most):
        return found
    raise _out_of_bounds(text, f"from {least} to {most}")


def _whole(text: str, least: int, most: int) -> int:
    if not _WHOLE.fullmatch(text):
        right = f"write one from {least} to {most}"
        raise InputError(f'"{brief(text)}" is not a whole number', right)
    if least <= int(text) <= most:
        return int(text)
    raise _out_of_bounds(text, f"from {least} to {most}")


def _decimal(text: str, least: Fraction, most: Fraction) -> float:
    if not _DECIMAL.fullmatch(text):
        raise InputError(f'"{brief(text)}" is not a number', "write one, as in 0.5")
    if least <= Fraction(text) <= most:
        return float(text)
    raise _out_of_bounds(text, f"from {float(least):g} to {int(most)}")


def _out_of_bounds(text: str, right: str) -> InputError:
    return InputError(f'"{brief(text)}" cannot be', f"write {right}")
