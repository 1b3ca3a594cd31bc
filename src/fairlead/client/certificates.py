"""The certificates that a client believes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.client.places import Place
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    import ssl


def trust(place: Place) -> ssl.SSLContext | bool:
    """The certificates that are believed. Without TLS nothing is loaded: that takes long."""
    if all(url.startswith("http:") for url in (place.url, *place.others)):
        return False
    import ssl

    try:
        return ssl.create_default_context(cafile=place.ca)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"{place.ca} cannot be used to check certificates: {error}",
            "name a file of certificates in PEM",
        ) from error
