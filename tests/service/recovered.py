"""What a journal says, read from its newest snapshot to its end."""

from __future__ import annotations

from fairlead.scheduling.core import Core
from fairlead.service.journal.entry import Store
from fairlead.service.records.book import Records
from fairlead.service.recovery.recover import follow, newest


def recover(store: Store) -> tuple[Core | None, Records]:
    """The core and the records, as a service that starts has them."""
    core, records = newest(store)
    return follow(store, core, records), records
