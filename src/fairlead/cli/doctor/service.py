"""The check of the service itself: does it answer, and does it take work?"""

from __future__ import annotations

from fairlead.cli.doctor.finding import Finding, Subject, fails, warn, well
from fairlead.client.places import ADDRESS, find_place

PATIENCE = 10.0
"""Seconds that it has to answer."""


def service(subject: Subject) -> Finding:
    """Whether it runs, answers and is ready."""
    from fairlead.client.client import Client
    from fairlead.client.errors import ServiceError

    if subject.process is None:
        return warn(
            f"no service runs here with its state in {subject.folder}", "start it: `fairlead serve`"
        )
    runs = f"process {subject.process}"
    try:
        url = (subject.folder / ADDRESS).read_text(encoding="ascii").strip()
    except OSError:
        return fails(f"{runs} does not serve yet", f"see its log, {subject.folder}/service.log")
    try:
        with Client(place=find_place(url), timeout=PATIENCE) as client:
            ready, version = client.ready(), client.version().version
    except ServiceError as error:
        return fails(f"{runs} does not answer at {url}: {error}", "see its log; restart it")
    if not ready.leads and ready.why is not None:
        return well(f"{runs} answers on {url} (version {version}): {ready.why}")
    if not ready.ready:
        return fails(f"{runs} takes no work now: {ready.why}", "nothing that it accepted is lost")
    return well(f"{runs} serves on {url} (version {version}) and is ready")
