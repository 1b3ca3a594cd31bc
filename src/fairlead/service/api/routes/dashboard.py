"""The dashboard's page and its files."""

from __future__ import annotations

import re

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
}

BUILD = re.compile("[0-9a-f]{32}")
"""How a build is written. The page of another one comes from another service behind the same
address, or from before an upgrade."""


async def dashboard(context: Enter) -> Response:
    """The page."""
    return _tell(context, PAGE)


async def dashboard_file(context: Enter, file: str) -> Response:
    """A file that the page is made of."""
    return _tell(context, file)


async def dashboard_room(context: Enter, room: str, module: str) -> Response:
    """The same, of a folder of them, or of a build."""
    if BUILD.fullmatch(room):
        return _tell(context, module, room)
    return _tell(context, f"{room}/{module}")


async def dashboard_build(context: Enter, build: str, room: str, module: str) -> Response:
    """The same, of a folder of a build."""
    name = f"{room}/{module}" if BUILD.fullmatch(build) else ""
    return _tell(context, name, build)


def _tell(context: Enter, name: str, build: str = "") -> Response:
    served = context.api.dashboard
    found = served.files.get(name)
    if found is None:
        raise RefusalError(ErrorKind.NOT_FOUND, "the dashboard has no such file")
    kept = "public, max-age=31536000, immutable" if build == served.build else "no-cache"
    headers = {**HEADERS, "Cache-Control": kept, "ETag": found.tag}
    if matches(context.request.headers.get("if-none-match", ""), found.tag):
        return Response(None, 304, headers)
    return Response(found.content, context.route.status, headers, found.media)
