"""The leader's beat: a thread that renews the lease while the loop does what takes long."""

from __future__ import annotations

import threading

from fairlead.service.journal.leases import BEAT, Lease


class Pulse:
    """Renews a lease every BEAT seconds until it is stopped. What comes of it, the loop asks the
    lease for."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        """Begins, with the first beat."""
        self._thread.start()

    def stop(self) -> None:
        """Beats no more. A beat that the journal does not answer is not waited for."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._lease.renew()
            self._stopped.wait(BEAT)
