"""The configuration file of `fairlead serve`: every key with its type, mistakes with places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fairlead.cli.common.inputs import complain
from fairlead.cli.serving.signin import read_sign_in
from fairlead.cli.serving.values import API, OFF, SIGN_IN, reader_of, size
from fairlead.files import STANDARD_INPUT, text_of
from fairlead.model.errors import About, InputError, Mistake, Mistakes, Place
from fairlead.model.nodes import Source, documents, is_null
from fairlead.model.values import FrozenMap
from fairlead.scheduling.options import CHOSEN, Options
from fairlead.service.api.settings import ApiSettings
from fairlead.service.settings import Limits, Retention, Settings
from fairlead.service.signin.settings import SignInSettings

Node = Any
"""Of YAML: only the model knows its type."""

PATHS = ("cluster", "state", "tls_cert", "tls_key")
"""Options that name files: from where the configuration is."""

SETTING = "setting"
"""Of this, by its name, mistakes are about."""

OPTIONS = (
    *("engine", "mode", "partition", "listen", "advertise", "journal", "address", "log", *PATHS),
    *("behind_proxy", "no_auth", "standby", "telemetry"),
)
"""Options that the command line has, too, which goes before the file."""

_LISTS = ("resources", "devices")
_UNITS = "units"


@dataclass(frozen=True)
class Configured:
    """Content of a file: options of the command, settings of the service and of its API; the
    `places` of those that stand in no section."""

    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Settings = field(default_factory=Settings)
    api: ApiSettings = field(default_factory=ApiSettings)
    sign_in: SignInSettings | None = None
    places: Mapping[str, Place] = field(default_factory=dict)

    @contextmanager
    def placing(self) -> Iterator[None]:
        """Adds to mistakes about a setting the place where the file has it."""
        try:
            yield
        except InputError as error:
            found = [self._placed(each) for each in error.mistakes]
            if tuple(found) == error.mistakes:
                raise
            raise InputError(found) from error

    def _placed(self, mistake: Mistake) -> Mistake:
        kind, *names = mistake.about or ("",)
        if mistake.place is not None or kind != SETTING or not names:
            return mistake
        return replace(mistake, place=self.places.get(str(names[0])))


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
    places: dict[str, Place] = {}
    for document in documents(str(path), text, mistakes):
        if not is_null(document):
            said |= _document(source, document, places)
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
    api = replace(ApiSettings(), **said.pop(API, {}))
    return Configured(options, settings, api, sign_in, places)


def _of_service() -> list[str]:
    """The settings of the service that stand alone."""
    nested = ("options", "limits", "retention", "tenants")
    return [each.name for each in fields(Settings) if each.name not in nested]


def _document(source: Source, node: Node, where: dict[str, Place]) -> dict[str, Any]:
    parts: dict[str, type[Any]] = {"limits": Limits, "retention": Retention, API: ApiSettings}
    allowed = [*OPTIONS, *_of_service(), *CHOSEN, *parts, SIGN_IN]
    said: dict[str, Any] = {}
    places: dict[str, Node] = {}
    for key, child in (source.mapping(node, (), allowed) or {}).items():
        if key in parts:
            names = [each.name for each in fields(parts[key])]
            inner = source.mapping(child, (key,), names) or {}
            values = {name: _value(source, value, (key, "", name)) for name, value in inner.items()}
            said[key] = {name: value for name, value in values.items() if value is not None}
        elif key == SIGN_IN:
            said[key] = read_sign_in(source, child)
        else:
            where[key] = source.place(child)
            value = _value(source, child, (SETTING, key))
            if value is None and not (key in OFF and not len(source.mistakes)):
                continue
            if key in CHOSEN:
                said.setdefault("options", {})[key] = value
            else:
                said[key] = value
                places[key] = child
    _check_units(source, said, places)
    _check_quarantine(source, said, places)
    return said


def _check_units(source: Source, said: Mapping[str, Any], places: Mapping[str, Node]) -> None:
    """Devices are counted in parts of theirs."""
    devices = said.get("devices", Settings().devices)
    for name in said.get(_UNITS, ()):
        if name in devices:
            about = (SETTING, _UNITS, name)
            source.wrong(places[_UNITS], about, "this is a device", "leave its unit out")


def _check_quarantine(source: Source, said: Mapping[str, Any], places: Mapping[str, Node]) -> None:
    """The first one is no longer than the longest."""
    first, most = (said.get(name) for name in ("quarantine", "quarantine_most"))
    if first is not None and most is not None and first > most:
        about = (SETTING, "quarantine")
        what = "the first is longer than quarantine_most"
        source.wrong(places["quarantine"], about, what, "write a shorter one, or a longer most")


def _value(source: Source, node: Node, about: About) -> Any:
    """Reads the value of a setting; None with a mistake."""
    name = str(about[-1])
    if name in _LISTS:
        items = source.sequence(node, about) or []
        texts = [source.text(item, about) for item in items]
        for at, text in enumerate(texts):
            if text in texts[:at]:
                source.wrong(items[at], about, f'"{text}" is there twice', "write it once")
        return tuple(text for text in texts if text is not None)
    if name == _UNITS:
        amounts = source.mapping(node, about) or {}
        sizes = {
            each: _read(source, child, (*about, each), size) for each, child in amounts.items()
        }
        return None if None in sizes.values() else FrozenMap(sizes)
    reader = reader_of("" if about[0] == SETTING else str(about[0]), name)
    if about[0] == API and name == "addresses":
        items = source.sequence(node, about) or []
        read_items = [_read(source, item, about, reader) for item in items]
        return None if None in read_items else tuple(read_items)
    return _read(source, node, about, reader)


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
