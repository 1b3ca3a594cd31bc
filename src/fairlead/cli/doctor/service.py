"""The checks of the service itself, and of the issuer whose JWTs it takes: do they answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.cli.doctor.finding import Finding, Subject, fails, warn, well
from fairlead.client.places import ADDRESS, ADMIN_TOKEN, find_place
from fairlead.model.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.model.tenant import Tenant
    from fairlead.wire.tenants import TenantRow

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


def tenants_of(subject: Subject) -> Sequence[Tenant | TenantRow] | None:
    """The tenants of the cluster file, if there is one, else of the service that runs. None: it
    does not tell."""
    from fairlead.client.client import Client
    from fairlead.client.errors import ServiceError

    if subject.cluster is not None:
        return subject.cluster.tenants
    if subject.process is None:
        return ()
    try:
        url, token = (
            (subject.folder / name).read_text(encoding="ascii").strip()
            for name in (ADDRESS, ADMIN_TOKEN)
        )
        with Client(place=find_place(url, token), timeout=PATIENCE) as client:
            return client.tenants()
    except (OSError, ServiceError):
        return None


def sign_in(subject: Subject) -> Finding:
    """Whether people could sign in now."""
    settings = subject.plan.configured.sign_in
    if settings is None:
        return well("no issuer is configured: all have tokens")
    from fairlead.service.signin.fetching import IssuerError, fetch_keys

    try:
        keys = fetch_keys(settings)
    except IssuerError as error:
        return fails(str(error), "tokens are good meanwhile; people sign in once it answers")
    return well(f"{settings.issuer} has {counted(len(keys), 'key')} that can be used")
