"""The part of the launcher that workers and scripts ask: functions, things kept, results."""

from __future__ import annotations

import uuid
from typing import Any

import ray

from fairlead.engines.ray.launcher.book import Book
from fairlead.engines.ray.launcher.node_names import NodeNames
from fairlead.engines.ray.launcher.verdict import Key, Tree


class WorkerApi:
    """Answers from the book, under the launcher's lock."""

    _lock: Any
    _book: Book
    _node_names: NodeNames

    def locate(self, key: Key, stream: str) -> Tree | None:
        """Finds an output of an attempt: see `Book.locate`."""
        with self._lock:
            return self._book.locate(key, stream, self._node_names.alive)

    def wrote(self, key: Key, kept: int) -> bool:
        """So many bytes are kept of what an attempt wrote; whether that is to be all."""
        with self._lock:
            attempt = self._book.attempts.get(key)
            if attempt is None:
                return False
            self._book.note_written(attempt, kept)
            return attempt.cut

    def function(self, job: int) -> str:
        """The function of a job's call, pickled, as text."""
        with self._lock:
            return str(self._book.calls[job]["function"])

    def keep(self, data: bytes) -> str:
        """Keeps data in the object store until the job that names it is forgotten."""
        name = uuid.uuid4().hex
        # Owned by this actor from here on, not by the script that sent it.
        reference = ray.put(data)
        with self._lock:
            self._book.kept[name] = reference
        return name

    def kept(self, name: str) -> list[Any]:
        with self._lock:
            return [self._book.kept[name]]

    def results(self, keys: list[Key]) -> list[Tree | None]:
        """The results of these attempts, as `locate` has them."""
        return [self.locate(key, "result") for key in keys]
