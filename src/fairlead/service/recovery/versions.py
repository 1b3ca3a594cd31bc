"""Which version of Fairlead wrote a journal: what a newer one wrote is not guessed at."""

from __future__ import annotations

from fairlead.service.journal.entry import VersionJournalError
from fairlead.service.recovery.configuration import SCHEMA
from fairlead.version import __version__


def check_schema(schema: int, version: str, where: str) -> None:
    """Raises VersionJournalError where a newer version wrote what follows, `where` says of what;
    before anything of it is read, for all of it may mean something else."""
    if schema > SCHEMA:
        raise VersionJournalError(
            f"{where} as version {version} of Fairlead wrote it, and this is {__version__}: use the"
            " newer one"
        )
