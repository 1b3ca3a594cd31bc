"""Users of the system, as whom tenants' tasks run."""

from __future__ import annotations

import pwd
from collections.abc import Iterable, Iterator

from fairlead.model.tenant import Tenant


def unknown_users(tenants: Iterable[Tenant]) -> Iterator[str]:
    """Sentences on tenants whose tasks all would be refused on this machine."""
    for each in tenants:
        try:
            if each.user is not None:
                pwd.getpwnam(each.user)
        except KeyError:
            yield (
                f"there is no user {each.user!r} on this machine, as whom tenant {each.name!r} is"
                " to run: none of its tasks starts until there is"
            )
