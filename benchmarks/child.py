"""Runs one measurement in this fresh process: `python -m benchmarks.child REQUEST RESULT`.

The request is JSON (`prepare`, `arguments`, `limit`); the result is a file of JSON (`seconds`,
`numbers` and `figures`, or `error`). A run that passes the limit ends the process by SIGALRM; the
end of its standard input, which is that of the runner, ends it with all that it started.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

SHORT = 0.5  # seconds: what takes less is run again until it took this long, or so many times:
MOST_RUNS = 7


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """The median time of a few runs, and the numbers or figures that the first gave."""
    module, function = request["prepare"].split(":")
    measured = getattr(import_module(module), function)(**request["arguments"])
    times: list[float] = []
    numbers = None
    figures: dict[str, float] = {}
    while not times or (sum(times) < SHORT and len(times) < MOST_RUNS):
        gc.collect()
        signal.setitimer(signal.ITIMER_REAL, request["limit"])
        start = time.perf_counter()
        found = measured()
        times.append(time.perf_counter() - start)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if len(times) > 1 or found is None:
            continue
        if isinstance(found, Mapping):
            figures = {str(name): float(value) for name, value in found.items()}
        else:
            numbers = [float(number) for number in found]
    return {"seconds": statistics.median(times), "numbers": numbers, "figures": figures}


def _end_with_runner() -> None:
    """Waits for the end of the runner, and ends this process group, which is the child's own."""
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Measure what the command line says and write the result; the runner shows a failure."""
    request, path = sys.argv[1:]
    threading.Thread(target=_end_with_runner, daemon=True).start()
    try:
        result = measure(json.loads(request))
    except Exception as error:  # noqa: BLE001 (whatever went wrong is the row's result)
        result = {"error": f"{type(error).__name__}: {error}"}
    Path(path).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
