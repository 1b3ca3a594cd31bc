"""Rows as people read them (a table, plain or Markdown) and as JSON (`fairlead.benchmark/1`)."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.cases import Call, Case, Row, Side, Target

SCHEMA = "fairlead.benchmark/1"
AGREE = 1e-6  # relative: the shares of ours and of the baseline are the same
LIBRARIES = ("numpy", "scipy", "highspy", "cvxpy", "PyYAML", "numba", "simpy")
HEADINGS = ("case", "size", "ours", "baseline", "ratio", "memory", "target", "remarks")


def document(
    name: str,
    rows: Sequence[Row],
    *,
    seed: int,
    quick: bool,
    limit: float,
    threads: int | None,
    measured_on: Mapping[str, Any],
) -> dict[str, Any]:
    """The whole run as plain values for JSON. `measured_on` is what `machine` said at its start."""
    return {
        "schema": SCHEMA,
        "benchmark": name,
        "seed": seed,
        "quick": quick,
        "limit": limit,
        "threads": threads,
        "machine": dict(measured_on),
        "versions": versions(),
        "rows": [_row(row) for row in rows],
    }


def machine() -> dict[str, Any]:
    """The machine that measures, as far as it matters, without its name; `load` is what else runs
    on it (the system's load of the last minute) when this is called."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cpus": os.cpu_count() or 1,
        "memory": memory,
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> dict[str, str]:
    """The versions of the libraries that take part, those that are installed."""
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


def cells(row: Row) -> tuple[str, ...]:
    """The row's texts, in the order of HEADINGS."""
    theirs = row.baseline
    bound = ">" if theirs and theirs.limit_reached else ""
    memory = _memory(row.ours) + (f" / {_memory(theirs)}" if theirs else "")
    return (
        row.case.name,
        "×".join(str(value) for value in row.case.size.values()),
        _time(row.ours),
        _time(theirs) if theirs else "–",
        f"{bound}{_ratio(row.ratio)}" if row.ratio is not None else "–",
        memory,
        _target(row),
        _remarks(row),
    )


def size_words(cases: Sequence[Case]) -> str:
    """The meaning of the numbers in the size column, said once above the table."""
    keys = dict.fromkeys(tuple(case.size) for case in cases)
    return f"size: {' or '.join(' × '.join(words) for words in keys)}"


def widths(cases: Sequence[Case]) -> list[int]:
    """Widths that fit the cases' names and sizes, so that rows can be shown one by one."""
    blank = [cells(Row(case, Side(""), Side(""), None)) for case in cases]
    least = (4, 4, 9, 9, 7, 15, 12, 7)
    return [
        max(width, len(heading), *(len(texts[column]) for texts in blank))
        for column, (width, heading) in enumerate(zip(least, HEADINGS, strict=True))
    ]


def line(texts: Sequence[str], columns: Sequence[int]) -> str:
    """One line of the plain table."""
    padded = (text.ljust(width) for text, width in zip(texts, columns, strict=True))
    return "  ".join(padded).rstrip()


def markdown(rows: Sequence[Row]) -> str:
    """The table for a page of the docs."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---" * len(HEADINGS) + "|"]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
    return "\n".join(lines)


def rows_of(written: Mapping[str, Any]) -> list[Row]:
    """The rows of a document, as `document` wrote them."""
    if written.get("schema") != SCHEMA:
        raise ValueError(f"this is no {SCHEMA}")
    return [
        Row(
            Case(
                row["name"],
                row["size"],
                Call(row["ours"]["program"], ""),
                Call(row["baseline"]["program"], "") if row["baseline"] else None,
                Target(row["target"]["seconds"], row["target"]["ratio"])
                if row["target"]
                else Target(),
            ),
            _side_of(row["ours"]),
            _side_of(row["baseline"]) if row["baseline"] else None,
            math.inf if row["difference"] == "infinite" else row["difference"],
        )
        for row in written["rows"]
    ]


def _row(row: Row) -> dict[str, Any]:
    target = row.case.target
    lower = row.baseline is not None and row.baseline.limit_reached
    wanted = target.seconds is not None or target.ratio is not None
    infinite = row.difference is not None and math.isinf(row.difference)
    return {
        "name": row.case.name,
        "size": dict(row.case.size),
        "ours": _side(row.ours),
        "baseline": _side(row.baseline) if row.baseline else None,
        "ratio": None if row.ratio is None else {"value": row.ratio, "lower_bound": lower},
        "difference": "infinite" if infinite else row.difference,
        "target": {"seconds": target.seconds, "ratio": target.ratio, "met": row.met}
        if wanted
        else None,
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "program": side.program,
        "seconds": list(side.seconds),
        "median": side.median,
        "limit_reached": side.limit_reached,
        "peak_memory": side.peak_memory,
        "error": side.error,
        "figures": dict(side.figures),
    }


def _side_of(written: Mapping[str, Any]) -> Side:
    return Side(
        written["program"],
        tuple(written["seconds"]),
        written["peak_memory"],
        written["limit_reached"],
        written["error"],
        written.get("figures", {}),
    )


def _time(side: Side) -> str:
    if side.median is None:
        return "failed" if side.error else "–"
    bound = "> " if side.limit_reached else ""
    if side.median >= 100:
        return f"{bound}{side.median:.0f} s"
    if side.median >= 1:
        return f"{bound}{side.median:.2f} s"
    return f"{bound}{side.median * 1e3:.3g} ms"


def _ratio(ratio: float) -> str:
    return f"{ratio:.0f}×" if ratio >= 20 else f"{ratio:.2g}×"


def _memory(side: Side) -> str:
    return f"{side.peak_memory / 1e6:.0f} MB"


def _target(row: Row) -> str:
    target = row.case.target
    if target.seconds is not None:
        text = f"≤ {target.seconds:g} s"
    elif target.ratio is not None:
        text = f"≥ {target.ratio:g}×"
    else:
        return "–"
    return text if row.met is None else f"{text} {'yes' if row.met else 'NO'}"


def _remarks(row: Row) -> str:
    remarks = [
        f"{side.program}: {' '.join(side.error.split())[:200]}"
        for side in (row.ours, row.baseline)
        if side and side.error
    ]
    remarks += [f"{name} {value:.4g}" for name, value in row.ours.figures.items()]
    if row.difference is not None and row.difference > AGREE:
        remarks.append(f"results differ by {row.difference:.1e}")
    return "; ".join(remarks)


def _processor() -> str:
    """The system's name of the processor; the architecture where it does not say."""
    if sys.platform == "linux":
        with open("/proc/cpuinfo", encoding="utf-8") as info:  # noqa: PTH123 (no ordinary file)
            for text in info:
                if text.startswith("model name"):
                    return text.partition(":")[2].strip()
    return platform.processor() or platform.machine()
