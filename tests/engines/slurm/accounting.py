"""Accounting of the tests' cluster: slurmdbd over a MariaDB of its own, in the cluster's folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PATIENCE = 240.0
"""Seconds until the database listens, on a machine that is busy with other things."""

MEMORY = Path("/dev/shm")
"""Where the database's files are: on a disk that is busy they take ten seconds more."""

PROGRAMS = ("slurmdbd", "mariadbd", "my_print_defaults", "sacctmgr", "sshare")
"""What it needs beside a cluster (Debian: slurmdbd, mariadb-server-core, mariadb-client-core)."""

CONF = """\
DbdHost=localhost
DbdPort={port}
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
LogFile={folder}/log/slurmdbd
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=of-the-tests
"""

OF_CLUSTER = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge/socket
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits
"""

BILLING = 'TRESBillingWeights="CPU=1.0,Mem=0.5G,GRES/gpu=8.0"'
"""Of the partition of all nodes: with `MAX_TRES` a job is billed by what it takes most of."""

FIRST = """\
CREATE USER IF NOT EXISTS slurm@'127.0.0.1' IDENTIFIED BY 'of-the-tests';
GRANT ALL ON *.* TO slurm@'127.0.0.1';
"""


QUICK = ("--innodb-flush-method=nosync", "--innodb-log-file-size=8M", "--sync-frm=0")
"""It need not survive a crash of the machine."""


def write(folder: Path, user: str, port: int, database: int) -> str:
    """Writes what slurmdbd and its database read. Returns the lines of slurm.conf."""
    memory = MEMORY if os.access(MEMORY, os.W_OK) else None
    (folder / "database").symlink_to(tempfile.mkdtemp(prefix="fairlead-slurm-", dir=memory))
    conf = folder / "slurmdbd.conf"
    text = CONF.format(folder=folder, user=user, port=port, database=database)
    conf.write_text(text, encoding="utf-8")
    conf.chmod(0o600)  # it holds a password: slurmdbd reads no other
    (folder / "first.sql").write_text(FIRST, encoding="utf-8")
    (folder / "database.port").write_text(str(database), encoding="ascii")
    return OF_CLUSTER.format(port=port, folder=folder)


def create_database(folder: Path) -> None:
    """An empty database."""
    done = subprocess.run(
        [
            *(
                "mariadb-install-db",
                "--no-defaults",
                f"--datadir={_files(folder)}",
            ),
            *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
            *_user(),
            *QUICK,
        ],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def database(folder: Path) -> list[str]:
    """The command of its server."""
    port = (folder / "database.port").read_text(encoding="ascii")
    return [
        *("mariadbd", "--no-defaults", f"--datadir={_files(folder)}", *_user()),
        *("--bind-address=127.0.0.1", f"--port={port}", f"--socket={folder / 'database.socket'}"),
        *(f"--pid-file={folder / 'database.pid'}", f"--init-file={folder / 'first.sql'}"),
        *("--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0", *QUICK),
        *("--innodb-buffer-pool-size=64M", f"--log-error={folder / 'log' / 'mariadbd'}"),
    ]


def remove(folder: Path) -> None:
    """Removes the database's files."""
    shutil.rmtree(_files(folder))


def wait_for_database(folder: Path) -> None:
    """Waits until it listens: a slurmdbd that finds none sleeps for five seconds."""
    port = int((folder / "database.port").read_text(encoding="ascii"))
    end = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert time.monotonic() < end, (folder / "log" / "mariadbd").read_text("utf-8")
            time.sleep(0.02)
        else:
            return


def _files(folder: Path) -> Path:
    return (folder / "database").resolve()


def _user() -> tuple[str, ...]:
    return ("--user=root",) if os.getuid() == 0 else ()
