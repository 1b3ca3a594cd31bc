"""The whole service behind a real socket, as a process of its own, on an engine in memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairlead.cli.common.inputs import complain
from fairlead.model.errors import FairleadError
from fairlead.model.machine import Machine
from fairlead.service.api.settings import ApiSettings
from fairlead.service.journal.places import open_store
from fairlead.service.loop.loop import Service
from fairlead.service.process.clock import wall_clock
from fairlead.service.process.server import Serving, serve
from fairlead.service.settings import Settings
from tests.conftest import ROOT
from tests.engines.fake import Call, FakeEngine, Planted
from tests.engines.world import World, lasting
from tests.service.api.stage import TENANTS
from tests.service.fairness.at_once import AtOnce
from tests.zygote.forked import Forked

MACHINE = Machine("m0", {"cpu": 4, "memory": 8})


class Served:
    """A service that listens."""

    def __init__(self, url: str, folder: Path, process: subprocess.Popen[str]) -> None:
        self.url, self.folder, self.process = url, folder, process

    @property
    def token(self) -> str:
        """The first token."""
        return (self.folder / "admin-token").read_text(encoding="ascii").strip()

    @property
    def headers(self) -> dict[str, str]:
        """What a request of the admin has."""
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])


@contextmanager
def served(
    folder: Path, api: dict[str, Any] | None = None, *, killed: bool = False, **options: Any
) -> Iterator[Served]:
    """A service that listens until the block ends, and then stops cleanly; or that is `killed`
    within the block."""
    process = Forked(
        [__name__, str(folder), json.dumps(options), json.dumps(api or {})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise AssertionError(process.communicate()[1])
        yield Served(url, folder, process)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if killed:
        assert process.returncode == -signal.SIGKILL
    else:
        assert (process.returncode, said) == (0, "")


class Away(Planted):
    """The engine does not say what machines it has while the file `away` is in the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._file = folder / "away"

    def doing(self, call: Call, size: int) -> int | None:
        return 0 if call is Call.NODES and self._file.exists() else super().doing(call, size)


def main(folder: Path, options: dict[str, Any], api: dict[str, Any]) -> int:
    """Serves, and says where, and what it waits for."""
    world = World([MACHINE], wall_clock, lasting(None))
    engine = FakeEngine(world, Away(folder))
    service = Service(open_store(folder), engine, Settings(tenants=TENANTS), AtOnce())
    chosen = options | {key: Path(value) for key, value in options.items() if "tls" in key}
    serving = Serving(service, folder, port=0, api=ApiSettings(**api), waits=complain)
    what = replace(serving, **chosen)
    try:
        return serve(what, lambda url, _: print(url, flush=True))  # noqa: T201 - for the test that waits
    except FairleadError as error:
        print(error, file=sys.stderr)  # noqa: T201 - as above
        return 2


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])))
