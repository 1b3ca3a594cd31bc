"""A Slurm cluster of twelve nodes of several kinds on this machine: its own folder, ports, key and
configuration, with accounting where it is asked for; nothing of the machine's own Slurm is
touched."""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from fairlead.whole_file import write_whole
from tests.engines.slurm import accounting
from tests.ports import kept_port

PATIENCE = 240.0
"""Seconds until Slurm answers that was started, on a machine that is busy with other things."""

PROGRAMS = ("munged", "slurmctld", "slurmd", "scontrol", "squeue", "sbatch", "scancel", "sinfo")
"""The programs that a cluster needs (Debian: slurmctld, slurmd, slurm-client, munge)."""

KINDS: tuple[tuple[str, int, str], ...] = (
    ("c", 5, "CPUs=4 RealMemory=8000 Feature=old,intel"),
    ("d", 3, "CPUs=8 RealMemory=16000 Feature=new,amd"),
    ("v", 2, "CPUs=8 RealMemory=16000 Feature=old,intel,v100 Gres=gpu:v100:2"),
    ("a", 2, "CPUs=16 RealMemory=32000 Feature=new,amd,a100 Gres=gpu:a100:4"),
)
"""The nodes: the letter of their names, how many there are, and what they have."""

CONF = """\
ClusterName=tests
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld
SlurmdLogFile={folder}/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=60
KillWait=2
DefMemPerCPU=100
GresTypes=gpu
JobSubmitPlugins=lua
PriorityType=priority/multifactor
"""

LUA = """\
local placed = {fair = true}    -- the partitions whose jobs Fairlead places
local placers = {[0] = true}    -- the numbers of users who may release: its own

local function is_placed(names)
  local one, several = false, false
  for name in string.gmatch(names or "", "[^,]+") do
    if placed[name] then one = true else several = true end
  end
  return one, several
end

function slurm_job_submit(job, partition, uid)
  local one, several = is_placed(job.partition)
  if one and several then
    slurm.log_user("name this partition alone")
    return slurm.ERROR
  end
  if one and not placers[uid] then
    if job.priority == 0 then
      slurm.log_user("--hold means nothing in this partition: a job starts when it is its turn")
    end
    job.priority = 0
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partition, uid)
  if placers[uid] or not (is_placed(record.partition) or is_placed(job.partition)) then
    return slurm.SUCCESS
  end
  slurm.log_user("jobs of this partition are not changed: cancel it, and submit it anew")
  return slurm.ERROR
end
"""
"""A hold of all that is submitted to the partition "fair", which only root lifts. That the priority
is 0 at submission is not enough: Slurm takes it for the owner's own hold, who may release it."""


def missing_programs(*more: str) -> list[str]:
    """The programs of a cluster that this machine lacks."""
    return [name for name in (*PROGRAMS, *more) if shutil.which(name, path=path()) is None]


def path() -> str:
    """Where programs are looked for: daemons are not on everybody's path."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"


def soon(holds: Callable[[], object], why: Callable[[], str]) -> None:
    """Returns when it holds; fails with the reason where it never does. It looks the less often the
    longer that takes: each look is a process."""
    begun = time.monotonic()
    while not holds():
        waited = time.monotonic() - begun
        assert waited < PATIENCE, why()
        time.sleep(min(0.5, max(0.02, waited / 4)))


class Ground:
    """A cluster that runs until `down`, or until this process ends. `conf`: its slurm.conf.
    `settings`: lines of it beside those of `CONF`. `accounts`: with slurmdbd, which
    loads this text of `sacctmgr load` first. `root`: a folder with another Debian, whose Slurm it
    is."""

    def __init__(self, settings: str = "", accounts: str = "", root: Path | None = None) -> None:
        self._root = root
        self.prefix = () if root is None else ("chroot", str(root))
        # Not tmp_path: other users must be able to pass through it.
        self.folder = Path(tempfile.mkdtemp(prefix="fairlead-slurm-"))
        self.folder.chmod(0o755)
        if root is not None:  # one path, there and here
            inside = root / self.folder.relative_to("/")
            inside.mkdir(mode=0o755, parents=True)
            self.folder.rmdir()
            self.folder.symlink_to(inside)
            subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
        self.conf = self.folder / "slurm.conf"
        self.environment = {"PATH": path(), "SLURM_CONF": str(self.conf)}
        self._held = ExitStack()  # the ports
        self.nodes = [f"{kind}{i}" for kind, count, _ in KINDS for i in range(1, count + 1)]
        self._settings, self._accounts = settings, accounts
        self._write()
        self._keeper = subprocess.Popen(
            [sys.executable, "-S", str(Path(__file__).with_name("keeper.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        try:
            self._start_all()
        except BaseException:
            self.down()
            raise

    def run(self, *command: str, user: str | None = None, given: str | None = None) -> str:
        """What a command of Slurm writes, as this user; it must succeed."""
        done = subprocess.run(
            (*self.prefix, *command),
            input=given,
            env=self.environment,
            user=user,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def start(self, name: str) -> int:
        """Starts a node or "slurmctld" again, and waits for its number only."""
        if name in ("slurmctld", "slurmdbd"):
            return self._tell("start", name, [name, "-D"])
        return self._tell("start", name, ["slurmd", "-D", "-N", name])

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Kills a node's daemon or "slurmctld", and nothing that a node runs."""
        self._tell("kill", name, number)

    def reconfigure(self, text: str) -> None:
        """Has the daemons read this slurm.conf. Each does when it hears of it, perhaps only while
        the next one is written, and ends where it finds half of one."""
        write_whole(self.conf, text)
        self.run("scontrol", "reconfigure")

    def wait_until_up(self) -> None:
        """Waits until the controller answers."""
        soon(lambda: self._succeeds("scontrol", "ping"), lambda: self._log("slurmctld"))

    def wait_until_idle(self, *names: str) -> None:
        """Waits until these nodes, or all, are there and have nothing to do."""
        ask = ("sinfo", "-h", "-N", "-n", ",".join(names or self.nodes), "-O", "StateCompact")
        soon(lambda: set(self.run(*ask).split()) == {"idle"}, lambda: self.run("sinfo", "-N", "-l"))

    def wait_until_over(self, number: str) -> str:
        """Waits until a job has come to its end; what Slurm shows of it then. `sbatch --wait` looks
        each two seconds."""
        shown = ""

        def over() -> bool:
            nonlocal shown
            shown = self.run("scontrol", "-do", "show", "job", number)
            return not re.search("JobState=(PENDING|RUNNING|COMPLETING) ", shown)

        soon(over, lambda: shown)
        return shown

    def down(self) -> None:
        """Ends all of it."""
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.close()
        self._keeper.wait()
        self._keeper.stdout.close()
        self._held.close()
        if self._accounts:
            accounting.remove(self.folder)
        shutil.rmtree(self.folder.resolve())
        if self._root is not None:
            self.folder.unlink()
            subprocess.run(["umount", "--lazy", str(self._root / "proc")], check=True)

    def _write(self) -> None:
        for name in ("munge", "state", "spool", "log", "devices"):
            (self.folder / name).mkdir()
        key = self.folder / "munge" / "key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        lines, gres = [], []
        for kind, count, has in KINDS:
            for number in range(1, count + 1):
                name, port = f"{kind}{number}", self._held.enter_context(kept_port())
                lines.append(
                    f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} {has}"
                )
                if "Gres=" not in has:
                    continue
                _, model, devices = has.partition("Gres=")[2].split(":")
                # Without files of that number a node says that it has none of them.
                for device in range(int(devices)):
                    (self.folder / "devices" / f"{name}-{device}").touch()
                file = f"{self.folder}/devices/{name}-[0-{int(devices) - 1}]"
                gres.append(f"NodeName={name} Name=gpu Type={model} Count={devices} File={file}")
        billing = f" {accounting.BILLING}" if self._accounts else ""
        lines += [
            f"PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP{billing}",
            "PartitionName=gpu Nodes=v[1-2],a[1-2] MaxTime=1-00:00:00 State=UP",
            "PartitionName=fair Nodes=ALL MaxTime=INFINITE State=UP",
        ]
        port, user = self._held.enter_context(kept_port()), getpass.getuser()
        head = CONF.format(folder=self.folder, port=port, user=user) + self._settings
        if self._accounts:
            ports = [self._held.enter_context(kept_port()) for _ in range(2)]
            head += accounting.write(self.folder, user, *ports)
        self.conf.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
        (self.folder / "gres.conf").write_text("\n".join(gres) + "\n", encoding="utf-8")
        if self._root is not None:  # 22.05 does not know the word
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n", encoding="utf-8")
        (self.folder / "job_submit.lua").write_text(LUA, encoding="utf-8")

    def _start_all(self) -> None:
        munge = self.folder / "munge"
        files = [
            f"--{option}={munge / name}"
            for option, name in (
                *(("key-file", "key"), ("socket", "socket"), ("log-file", "log")),
                *(("pid-file", "pid"), ("seed-file", "seed")),
            )
        ]
        self._tell("start", "munged", ["munged", "--foreground", "--num-threads=2", *files])
        soon((munge / "socket").exists, lambda: (munge / "log").read_text(encoding="utf-8"))
        if self._accounts:
            self._start_accounting()
        self.start("slurmctld")
        self.wait_until_up()
        for name in self.nodes:
            self.start(name)
        self.wait_until_idle()

    def _start_accounting(self) -> None:
        """The cluster is named before slurmctld starts, as a site does it once."""
        accounting.create_database(self.folder)
        self._tell("start", "mariadbd", accounting.database(self.folder))
        accounting.wait_for_database(self.folder)
        self.start("slurmdbd")
        soon(lambda: self._succeeds("sacctmgr", "show", "cluster"), lambda: self._log("slurmdbd"))
        file = self.folder / "accounts"
        file.write_text(self._accounts, encoding="utf-8")
        self.run("sacctmgr", "--immediate", "load", str(file))  # line by line takes seconds

    def _succeeds(self, *command: str) -> bool:
        done = subprocess.run(
            (*self.prefix, *command), env=self.environment, capture_output=True, check=False
        )
        return done.returncode == 0

    def _tell(self, method: str, name: str, how: Sequence[str] | int) -> int:
        if not isinstance(how, int):
            how = [*self.prefix, *how]
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.write(json.dumps([method, name, how]) + "\n")
        self._keeper.stdin.flush()
        return int(self._keeper.stdout.readline())

    def _log(self, name: str) -> str:
        file = self.folder / "log" / name
        return file.read_text(encoding="utf-8")[-2000:] if file.exists() else "it wrote no log"
