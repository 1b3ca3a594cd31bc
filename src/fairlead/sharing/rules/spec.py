"""The grammar of what a user writes for a policy: `name(key=value, ...)`, read and written."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fairlead.model.errors import InputError, Mistake
from fairlead.model.quantity import exact

Value = int | float | bool | str

_FILE = re.compile(r"\s*(?P<file>.+?\.py):(?P<rest>.*)", re.DOTALL)
_NAME = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?P<rest>.*?)\s*", re.DOTALL)
_TEXT = r"\"[^\"]*\"|[^\s,()=\"][^,()=\"]*"
_ARGUMENT = re.compile(rf"\s*(?:(?P<key>{_TEXT})=)?\s*(?P<value>{_TEXT})\s*(?:,|$)")


@dataclass(frozen=True)
class Spec:
    """A rule as it was written: a name, perhaps in a file, and arguments with a key or without
    ("")."""

    name: str
    arguments: tuple[tuple[str, str], ...] = ()
    file: str = ""

    @property
    def called(self) -> str:
        """The name as the user finds it."""
        return f"{self.file}:{self.name}" if self.file else self.name


def read(text: str) -> Spec:
    """A written rule in its parts. `name:value` is short for `name(value)`."""
    file, rest = "", text
    if match := _FILE.fullmatch(text):
        file, rest = match["file"], match["rest"]
    match = _NAME.fullmatch(rest)
    if not match:
        raise InputError(_unreadable(text))
    name, rest = match["name"], match["rest"]
    if not rest:
        return Spec(name, (), file)
    if rest.startswith(":"):
        inside = rest[1:]
    elif rest.startswith("(") and rest.endswith(")"):
        inside = rest[1:-1]
    else:
        raise InputError(_unreadable(text))
    found, position = [], 0
    while position < len(inside) and inside[position:].strip():
        argument = _ARGUMENT.match(inside, position)
        if not argument:
            raise InputError(_unreadable(text))
        found.append((_bare(argument["key"] or ""), _bare(argument["value"])))
        position = argument.end()
    return Spec(name, tuple(found), file)


def split(text: str) -> tuple[str, ...]:
    """The parts of a list such as `tsf, kdf(k=3, gpu=2), drf`: commas in brackets do not part."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return tuple(part.strip() for part in parts)


def _bare(text: str) -> str:
    text = text.strip()
    return text[1:-1] if text.startswith('"') else text


def _unreadable(text: str) -> Mistake:
    return Mistake(
        f"`{text}` is not how a policy is written" if text.strip() else "a policy has no name",
        "write a name such as tsf, or a name with parameters such as kdf(k=3, gpu=2)",
    )


def arguments(spec: Spec, parameters: Sequence[inspect.Parameter]) -> dict[str, Value]:
    """The arguments by the names of the parameters, as values of the parameters' types."""
    named = {p.name: p for p in parameters if p.kind is not p.VAR_KEYWORD}
    any_name = next((p for p in parameters if p.kind is p.VAR_KEYWORD), None)
    free = [p.name for p in named.values() if p.kind is not p.KEYWORD_ONLY]
    values: dict[str, Value] = {}
    for key, text in spec.arguments:
        if not key:
            if not free:
                raise InputError(_no_place(spec, text, parameters))
            key = free[0]
        if key in values:
            raise InputError(f"`{spec.called}` is given `{key}` twice", "write it once")
        parameter = named.get(key.replace("-", "_"), any_name)
        if parameter is None:
            raise InputError(_no_place(spec, key, parameters))
        if parameter.kind is not parameter.VAR_KEYWORD:
            key = parameter.name
        values[key] = _value(spec, key, text, parameter)
        free = [name for name in free if name != key]
    missing = [p.name for p in named.values() if p.default is p.empty and p.name not in values]
    if missing:
        raise InputError(f"`{spec.called}` needs `{missing[0]}`", f"write {form(spec, parameters)}")
    return values


def write(spec: Spec, parameters: Sequence[inspect.Parameter], values: dict[str, Value]) -> str:
    """The one way to write it that all equal ways have in common: reading it gives the same."""
    parts = []
    named = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    for parameter in named:
        value = values.get(parameter.name, parameter.default)
        if _bare_is_clear(parameter):
            parts.append(_write_value(value))
        elif value != parameter.default:
            parts.append(f"{parameter.name}={_write_value(value)}")
    others = sorted(set(values) - {p.name for p in named})
    parts += [f"{_write_value(key)}={_write_value(values[key])}" for key in others]
    return f"{spec.called}({', '.join(parts)})" if parts else spec.called


def _bare_is_clear(parameter: inspect.Parameter) -> bool:
    """Whether it is written without its name, as in `cmmf(memory)`: a number needs its name."""
    required = parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
    return required and _kind(parameter) == "str"


def _kind(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return "str"
    return annotation if isinstance(annotation, str) else str(annotation.__name__)


def form(spec: Spec, parameters: Sequence[inspect.Parameter]) -> str:
    """The form in which it is written, for an error: `kdf(k=K, pooled=false, NAME=WEIGHT)`."""
    parts = []
    for p in parameters:
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"NAME={p.name.upper()}")
        elif _bare_is_clear(p):
            parts.append(p.name.upper())
        elif p.default is p.empty:
            parts.append(f"{p.name}={p.name.upper()}")
        else:
            parts.append(f"{p.name}={_write_value(p.default)}")
    return f"{spec.called}({', '.join(parts)})" if parts else spec.called


def _no_place(spec: Spec, what: str, parameters: Sequence[inspect.Parameter]) -> Mistake:
    return Mistake(
        f"`{spec.called}` has no parameter for `{what}`", f"write {form(spec, parameters)}"
    )


def _value(spec: Spec, key: str, text: str, parameter: inspect.Parameter) -> Value:
    kind = _kind(parameter)
    if kind == "str":
        return text
    if kind == "bool" and text in ("true", "false"):
        return text == "true"
    if kind == "int" and re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if kind == "float":
        try:
            return float(exact(text))
        except InputError:
            pass  # the sentence below says which parameter it is
    words = {"bool": "true or false", "int": "a whole number", "float": "a number"}
    raise InputError(
        f"`{spec.called}` is given `{key}={text}`", f"`{key}` must be {words.get(kind, kind)}"
    )


def _write_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    text = str(value)
    return text if re.fullmatch(_TEXT, text) and text == text.strip() else f'"{text}"'
