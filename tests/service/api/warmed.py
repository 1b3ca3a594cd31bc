"""Prints what is compiled after `warm` when every route is asked, of a new service and, where it
changes something, of one that found its journal: a process of its own, in which nothing else was
compiled."""

from __future__ import annotations

import gc
import socket
import sys
from collections import Counter

from numba.core.dispatcher import Dispatcher

from fairlead.scheduling.warming import warm
from fairlead.service.api.kernels.warming import warm_door
from fairlead.service.api.neighbours.listener import Listener
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.memory import MemoryStore
from fairlead.service.loop.loop import Service
from fairlead.service.settings import Settings
from fairlead.wire.routes import ROUTES
from tests.engines.fake import FakeEngine
from tests.service.api.stage import Stage
from tests.service.api.test_access import ask, prepare
from tests.service.fairness.at_once import AtOnce


def signatures() -> Counter[str]:
    """How many versions of each function there are. One that comes out of the cache counts: where
    the cache is cold, it would be compiled."""
    functions = [each for each in gc.get_objects() if issubclass(type(each), Dispatcher)]
    return Counter(
        {each.py_func.__qualname__: len(each.overloads) for each in functions if each.overloads}
    )


def recover(stage: Stage, settings: Settings) -> None:
    """The journal goes on in another service."""
    service = Service(MemoryStore(stage.place), FakeEngine(stage.world), settings, AtOnce())
    for _ in range(3):
        stage.now += 1_000_000
        service.step(stage.now)
    service.close()


def come_to_the_door() -> None:
    """Somebody whom it learns of."""
    with Listener(socket.AF_INET, ApiSettings()) as listener:
        listener.guess = lambda _, __: "tenant vision"
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        with socket.create_connection(listener.getsockname()) as far:
            far.sendall(b"GET / HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n")
            listener.look()
            listener.accept()[0].close()


def main() -> None:
    """Asks everything."""
    for part in (warm, warm_door):
        part(lambda _done, _total: None)
    before = signatures()
    asked = 0
    for route in ROUTES:
        with Stage() as stage:
            prepare(stage, route)
            assert ask(stage, route, "root").status == route.status, route.name
            stage.step()
            asked += 1
            if route.method == "GET":
                continue  # it left nothing in the journal
            settings = stage.service.settings
            stage.service.close()
            recover(stage, settings)
            recover(stage, Settings(policy="drf", tenants=settings.tenants))
    come_to_the_door()
    sys.stdout.write(f"routes {asked}\n")
    for name, count in sorted((signatures() - before).items()):
        sys.stdout.write(f"{name} {count}\n")


if __name__ == "__main__":
    main()
