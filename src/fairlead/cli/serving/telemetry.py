"""Telemetry of `fairlead serve`: whether there is any, as the options and OTEL_* say."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain
from fairlead.cli.serving.plan import Plan
from fairlead.cli.serving.process import WARNING
from fairlead.client.places import check_url
from fairlead.extras import missing
from fairlead.model.errors import InputError
from fairlead.service.process.troubles import Change, Part

if TYPE_CHECKING:
    from fairlead.service.telemetry.telemetry import Telemetry

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")

PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")

SPOKEN = "http/protobuf"


def is_wanted(asked: bool, environ: Mapping[str, str]) -> bool:
    """Whether spans are to be sent: asked for, or a collector is named; and nobody said no."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER") or "otlp"
    return exporter == "otlp" and (asked or any(environ.get(name) for name in ENDPOINTS))


def open_telemetry(plan: Plan, say: Callable[[Change], None]) -> Telemetry | None:
    """Telemetry, where it is wanted. Raises InputError where it was asked for and cannot be; where
    only the environment names a collector, that is a remark."""
    if not is_wanted(plan.telemetry, os.environ):
        return None
    try:
        protocol = next((os.environ[name] for name in PROTOCOLS if os.environ.get(name)), SPOKEN)
        if protocol != SPOKEN:
            raise InputError(
                f"spans are not sent as {protocol[:40]!r}",
                f"set OTEL_EXPORTER_OTLP_PROTOCOL to {SPOKEN}, and the endpoint to its port (4318)",
            )
        for name in ENDPOINTS:
            if named := os.environ.get(name):
                check_url(named, name)
        try:
            from fairlead.service.telemetry.telemetry import Telemetry
        except ModuleNotFoundError as error:
            raise missing(error) or error from error
    except InputError as error:
        if plan.telemetry:
            raise
        complain(f"{WARNING}no spans are sent: {error}")
        return None
    down: list[float] = []

    def tell(why: str | None) -> None:
        if why is not None:
            down.append(time.monotonic())
            say(Change(Part.COLLECTOR, why))
        else:
            say(Change(Part.COLLECTOR, None, int((time.monotonic() - down.pop()) * 1e6)))

    return Telemetry(tell)
