"""The leader's beat: a thread that renews the lease while the loop does what takes long, and while
the journal does not answer."""

from __future__ import annotations

import threading

from fairlead.service.journal.leases import BEAT, Lease

WAIT = 1.0
"""Seconds for which the loop waits for a beat that it asks for: it has others to answer."""


class Pulse:
    """Renews a lease every BEAT seconds until it is stopped. What comes of it, the loop asks the
    lease for."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._turn = threading.Condition()
        self._stopped = self._wanted = False
        self._begun = self._over = 0  # beats, whatever came of them
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        """Begins, with the first beat."""
        self._thread.start()
        self._lease.ask = self.ask

    def ask(self) -> None:
        """Has a beat made now, and returns when it is over, or when the journal takes long."""
        with self._turn:
            self._wanted = True
            self._turn.notify_all()
            mine = self._begun + 1
            self._turn.wait_for(lambda: self._over >= mine or self._stopped, WAIT)

    def stop(self) -> None:
        """Beats no more. A beat that the journal does not answer is not waited for."""
        with self._turn:
            self._stopped = True
            self._turn.notify_all()

    def _run(self) -> None:
        while not self._stopped:
            with self._turn:
                self._wanted = False
                self._begun += 1
            self._lease.renew()
            with self._turn:
                self._over += 1
                self._turn.notify_all()
                self._turn.wait_for(lambda: self._wanted or self._stopped, BEAT)
