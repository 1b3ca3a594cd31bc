"""The names of the mechanisms for whole tasks, and the modules in which they are."""

from __future__ import annotations

# Read only when somebody asks for them: they bring compiled code and solvers.
WHOLE = {
    "cdrf-lottery": ("approximations", "cdrf_lottery"),
    "gim-cdrf": ("approximations", "gim_cdrf"),
    "shapley-folkman": ("approximations", "shapley_folkman"),
    "moving-knife": ("comparison", "moving_knife"),
    "serial-dictatorship": ("comparison", "serial_dictatorship"),
}


def whole_names() -> tuple[str, ...]:
    """The mechanisms for whole tasks, in the order of the reference."""
    return tuple(WHOLE)


def is_whole(text: str) -> bool:
    """Whether that is a mechanism for whole tasks, with or without parameters."""
    return text.partition("(")[0].strip() in WHOLE
