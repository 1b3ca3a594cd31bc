"""The configuration file of `fairlead serve`: every key with its type, mistakes with places."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from fairlead.cli.common.inputs import complain
from fairlead.cli.serving.signin import read_sign_in
from fairlead.files import STANDARD_INPUT, text_of
from fairlead.model.errors import About, InputError, Mistakes
from fairlead.model.nodes import Source, documents, is_null
from fairlead.model.quantity import exact
from fairlead.model.times import read_duration
from fairlead.model.values import FrozenMap
from fairlead.scheduling.options import CHOSEN, MICROSECONDS, Options
from fairlead.service.api.settings import ApiSettings
from fairlead.service.settings import Limits, Retention, Settings
from fairlead.service.signin.settings import SignInSettings

Node = Any
"""Of YAML: only the model knows its type."""

PATHS = ("cluster", "state", "tls_cert", "tls_key")
"""Options that name files: from where the configuration is."""

OPTIONS = (
    *("engine", "mode", "partition", "listen", "advertise", "journal", "address", "log", *PATHS),
    *("behind_proxy", "no_auth", "standby", "telemetry"),
)
"""Options that the command line has, too, which goes before the file."""

SIGN_IN = "oidc"
"""The section on people who sign in."""

_SWITCHES = ("behind_proxy", "no_auth", "standby", "telemetry", "whole", "threads")
_LISTS = ("resources", "devices")
_UNITS = "units"
_TEXTS = ("policy", "placement", *(name for name in OPTIONS if name not in _SWITCHES))
_TIMES = (
    *(
        "reserve_after",
        "reserve_for",
        "preempt_after",
        "time",
        "keys",
        "node_interval",
        "read_every",
        "lost_after",
    ),
    *("quarantine", "quarantine_most", "given_up_for", "journal_keep", "advise_every"),
)
"""Of the service: kept in microseconds, written with their unit."""

_OFF = ("reserve_after", "preempt_after", "journal_keep")
"""Times that may be `off`."""

_ADDRESS = re.compile(r"https?://[!-~]{1,1000}")
_WHOLE = re.compile(r"[0-9]{1,15}")
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(frozen=True)
class Configured:
    """Content of a file: options of the command, settings of the service and of its API."""

    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    api: ApiSettings = field(default_factory=ApiSettings)
    sign_in: SignInSettings | None = None


def refuse_standard_input(file: str, what: str) -> None:
    """Raises InputError where that is what is named: a service in the background, and one that is
    started again, reads its files once more."""
    if file == STANDARD_INPUT:
        raise InputError(
            f"the {what} of a service cannot come from the standard input", "name a file"
        )


def read_config(path: Path) -> Configured:
    """Reads the file. Raises InputError with every mistake in it."""
    refuse_standard_input(str(path), "settings")
    text = text_of(str(path), complain)
    mistakes = Mistakes()
    source = Source(str(path), mistakes)
    said: dict[str, Any] = {}
    for document in documents(str(path), text, mistakes):
        if not is_null(document):
            said |= _document(source, document)
    mistakes.report()
    options = {key: said[key] for key in OPTIONS if key in said}
    for key in PATHS:
        if key in options:
            options[key] = str(path.parent / options[key])
    settings = Settings(
        options=replace(Options(), **said.pop("options", {})),
        limits=replace(Limits(), **said.pop("limits", {})),
        retention=replace(Retention(), **said.pop("retention", {})),
        **{name: said[name] for name in _of_service() if name in said},
    )
    sign_in = said.pop(SIGN_IN, None)
    if sign_in is not None and sign_in.ca is not None:
        sign_in = replace(sign_in, ca=str(path.parent / sign_in.ca))
    return Configured(options, settings, replace(ApiSettings(), **said.pop("api", {})), sign_in)


def _of_service() -> list[str]:
    """The settings of the service that stand alone."""
    nested = ("options", "limits", "retention", "tenants")
    return [each.name for each in fields(Settings) if each.name not in nested]


def _document(source: Source, node: Node) -> dict[str, Any]:
    parts: dict[str, type[Any]] = {"limits": Limits, "retention": Retention, "api": ApiSettings}
    allowed = [*OPTIONS, *_of_service(), *CHOSEN, *parts, SIGN_IN]
    said: dict[str, Any] = {}
    for key, child in (source.mapping(node, (), allowed) or {}).items():
        if key in parts:
            names = [each.name for each in fields(parts[key])]
            inner = source.mapping(child, (key,), names) or {}
            values = {name: _value(source, value, (key, "", name)) for name, value in inner.items()}
            said[key] = {name: value for name, value in values.items() if value is not None}
        elif key == SIGN_IN:
            said[key] = read_sign_in(source, child)
        else:
            value = _value(source, child, ("setting", key))
            if value is None and not (key in _OFF and not len(source.mistakes)):
                continue
            if key in CHOSEN:
                said.setdefault("options", {})[key] = value
            else:
                said[key] = value
    return said


def _value(source: Source, node: Node, about: About) -> Any:
    """Reads the value of a setting; None with a mistake."""
    name = str(about[-1])
    if name in _LISTS:
        items = source.sequence(node, about) or []
        texts = [source.text(item, about) for item in items]
        return tuple(text for text in texts if text is not None)
    if name == _UNITS:
        amounts = source.mapping(node, about) or {}
        sizes = {
            each: _read(source, child, (*about, each), _size) for each, child in amounts.items()
        }
        return None if None in sizes.values() else FrozenMap(sizes)
    if about[0] == "api" and name == "addresses":
        items = source.sequence(node, about) or []
        read_items = [_read(source, item, about, _address) for item in items]
        return None if None in read_items else tuple(read_items)
    if name in _TEXTS:
        return source.text(node, about)
    return _read(source, node, about, _reader(name, about[0] == "api"))


def _read(source: Source, node: Node, about: About, read: Callable[[str], Any]) -> Any:
    """Reads a text; None with a mistake."""
    text = source.text(node, about)
    if text is None:
        return None
    try:
        return read(text)
    except InputError as error:
        for mistake in error.mistakes:
            source.wrong(node, about, mistake.what, mistake.right)
        return None


def _reader(name: str, api: bool) -> Callable[[str], Any]:
    if name in _SWITCHES:
        return _switch
    if name in _OFF:
        return lambda text: None if text in ("off", "false") else _microseconds(text)
    if name in _TIMES:
        return _microseconds
    if api and name == "graphs":
        return _address
    if api and name.endswith("_seconds"):
        return lambda text: float(read_duration(text))
    if api and name.endswith(("_rate", "_burst")):
        return _decimal
    return _whole


def _address(text: str) -> str:
    if _ADDRESS.fullmatch(text):
        return text
    raise InputError(
        f'"{text[:60]}" is no address of a page', "write one, as https://grafana.example/d/nodes"
    )


def _size(text: str) -> Fraction:
    size = exact(text)
    if size > 0:
        return size
    raise InputError(f'"{text[:60]}" is no size of a unit', "write more than 0, as in 0.00001")


def _switch(text: str) -> bool:
    if text in ("true", "false"):
        return text == "true"
    raise InputError(f'"{text[:60]}" is neither true nor false', "write one of the two")


def _microseconds(text: str) -> int:
    return max(1, round(read_duration(text) * MICROSECONDS))


def _whole(text: str) -> int:
    if _WHOLE.fullmatch(text):
        return int(text)
    raise InputError(f'"{text[:60]}" is not a whole number', "write one, 0 or more")


def _decimal(text: str) -> float:
    if _DECIMAL.fullmatch(text):
        return float(text)
    raise InputError(f'"{text[:60]}" is not a number', "write one, as in 0.5")
