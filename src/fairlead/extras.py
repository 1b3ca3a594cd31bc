"""The packages that few need: which extra of Fairlead brings each, and how that is said."""

from __future__ import annotations

from importlib.util import find_spec

from fairlead.model.errors import InputError

EXTRAS = {
    "joserfc": ("oidc", "the sign-in of people"),
    "matplotlib": ("report", "the plots of a report"),
    "opentelemetry.exporter": ("telemetry", "traces by OpenTelemetry"),
    "opentelemetry.sdk": ("telemetry", "traces by OpenTelemetry"),
    "psycopg": ("postgres", "a journal in PostgreSQL"),
    "pyarrow": ("simulation", "simulations, traces and their tables"),
    "ray": ("ray", "what runs on Ray"),
}
"""By the package that is imported: the extra, and what it is for."""


def need(package: str) -> None:
    """Raises InputError where the package is not installed, without importing it."""
    if find_spec(package) is None:
        raise _not_there(package)


def missing(error: ModuleNotFoundError) -> InputError | None:
    """The error that names the extra to install after a failed import; None where none has it."""
    words = (error.name or "").split(".")
    names = (".".join(words[:count]) for count in range(1, len(words) + 1))
    package = next((name for name in names if name in EXTRAS), None)
    return None if package is None else _not_there(package)


def _not_there(package: str) -> InputError:
    extra, purpose = EXTRAS[package]
    return InputError(
        f"the package {package}, which is not installed, is needed for {purpose}",
        f"pip install 'fairlead[{extra}]'",
    )
