"""A user's own file, in which rules of some kind are registered by name."""

from __future__ import annotations

from typing import Generic, TypeVar

from fairlead.model.errors import InputError

T = TypeVar("T")
_MODULE = "fairlead_own_file"


class OwnFiles(Generic[T]):
    """Rules of a kind that users' own files register. Each is found under its file alone, so two
    files may use the same name. What a file imports is not its own: it has another module name."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._running: list[dict[str, T]] = []

    def takes(self, name: str, function: object, rule: T) -> bool:
        """Registers a rule if its function is of the file that is being read."""
        own = bool(self._running) and getattr(function, "__module__", "") == _MODULE
        if own:
            self._running[-1][name] = rule
        return own

    def find(self, file: str, name: str, hint: str = "") -> T:
        """The rule of this name that a file registers. Raises InputError where there is none."""
        import runpy

        found: dict[str, T] = {}
        self._running.append(found)
        try:
            runpy.run_path(file, run_name=_MODULE)
        except InputError:
            raise
        except OSError as error:
            missing = isinstance(error, FileNotFoundError) and error.filename == file
            reason = f"{file} cannot be read: {error.strerror or error}"
            raise InputError(
                f"no such file: {file}" if missing else reason, "check the path"
            ) from error
        except Exception as error:
            raise InputError(f"{file} cannot be loaded: {type(error).__name__}: {error}") from error
        finally:
            self._running.pop()
        if name not in found:
            names = ", ".join(f"`{each}`" for each in sorted(found)) or "nothing"
            raise InputError(
                f"{file} registers no {self._kind} `{name}`", f"it registers {names}{hint}"
            )
        return found[name]
