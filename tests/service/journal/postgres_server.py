"""A PostgreSQL server of the tests' own: its files in a new folder, nothing listening but a socket
in there."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 180.0
"""Seconds until a server answers that was started."""

USER = "postgres"
"""As whom the server runs where the tests run as root, as whom it does not."""


@dataclass
class Server:
    """A running server; `url` is its first database's."""

    folder: Path
    process: subprocess.Popen[bytes]

    def url(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def make(self, database: str) -> str:
        """The URL of a new, empty database."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"'.encode())
        return self.url(database)

    def empty(self, url: str) -> None:
        """Takes all out of a database, and away from whoever is still connected to it."""
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CREATE SCHEMA public")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(timeout=PATIENCE)
        shutil.rmtree(self.folder)


def programs() -> Path | None:
    """The folder of PostgreSQL's programs, of the newest version there is."""
    debian = Path("/usr/lib/postgresql")
    if debian.is_dir():
        for folder in sorted(debian.iterdir(), key=lambda each: each.name.zfill(4), reverse=True):
            if (folder / "bin" / "initdb").exists():
                return folder / "bin"
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def begin(programs: Path, there: Path) -> None:
    """Makes there, in `data`, the files of a server that never ran: more work than to run it."""
    with tempfile.TemporaryDirectory(prefix="fairlead-pg-") as made:
        _give(Path(made))
        data = Path(made) / "data"
        done = subprocess.run(
            [programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8",
             "--locale=C", "--no-sync", "--data-checksums"],
            user=_user(), cwd=made, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        shutil.copytree(data, there / "data")


def _user() -> str | None:
    """As whom the server runs, if not as the tests."""
    return USER if os.geteuid() == 0 else None


def _give(*paths: Path) -> None:
    """To whom the server runs as."""
    user = _user()
    if user is None:
        return
    account = pwd.getpwnam(user)
    for path in paths:
        os.chown(path, account.pw_uid, account.pw_gid)


def start(programs: Path, begun: Path | None = None) -> Server:
    """A new server that answers. `begun`: where its first files were made (`begin`), if anywhere
    yet; they stay as they are."""
    folder = Path(tempfile.mkdtemp(prefix="fairlead-pg-"))
    if begun is None:
        begin(programs, folder)
    else:
        shutil.copytree(begun / "data", folder / "data")
    _give(folder, *folder.rglob("*"))
    user, data = _user(), folder / "data"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=",
             "-c", "fsync=off"],  # no test takes the machine's power away
            user=user, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    server = Server(folder, process)
    _wait(server)
    return server


def _wait(server: Server) -> None:
    import psycopg

    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            psycopg.connect(server.url("postgres")).close()
        except psycopg.OperationalError:
            assert server.process.poll() is None, (server.folder / "log").read_text()
            time.sleep(0.1)
        else:
            return
    server.stop()
    raise AssertionError("the server does not answer")
