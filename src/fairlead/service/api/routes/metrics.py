"""Metrics, for Prometheus."""

from __future__ import annotations

from starlette.responses import Response

from fairlead.service.api.entering import Enter
from fairlead.service.api.refusal import RefusalError
from fairlead.service.metrics import CONTENT_TYPE
from fairlead.wire.errors import ErrorKind


async def metrics(context: Enter) -> Response:
    """All metrics of the service."""
    tell = context.api.tell_metrics
    if tell is None:
        raise RefusalError(ErrorKind.NOT_FOUND, "this service keeps no metrics")
    return Response(await tell(), 200, {"Cache-Control": "no-store"}, CONTENT_TYPE)
