"""The dashboard's page and its files."""

from __future__ import annotations

from starlette.responses import Response

from fairlead.dashboard.assets import PAGE
from fairlead.service.api.entering import Enter
from fairlead.service.api.queries import matches
from fairlead.service.api.refusal import RefusalError
from fairlead.wire.errors import ErrorKind

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""The page's rights: run and show our own files, and ask this service alone."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


async def dashboard(context: Enter) -> Response:
    """The page."""
    return _tell(context, PAGE)


async def dashboard_file(context: Enter, file: str) -> Response:
    """A file that the page is made of."""
    return _tell(context, file)


async def dashboard_room(context: Enter, room: str, module: str) -> Response:
    """The same, of a folder of them."""
    return _tell(context, f"{room}/{module}")


def _tell(context: Enter, name: str) -> Response:
    found = context.api.dashboard.get(name)
    if found is None:
        raise RefusalError(ErrorKind.NOT_FOUND, "the dashboard has no such file")
    headers = {**HEADERS, "ETag": found.tag}
    if matches(context.request.headers.get("if-none-match", ""), found.tag):
        return Response(None, 304, headers)
    return Response(found.content, context.route.status, headers, found.media)
