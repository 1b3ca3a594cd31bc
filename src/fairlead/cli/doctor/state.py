"""Checks of what the service keeps and is started with: state folder, journal, files, engine."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.doctor.finding import Finding, Subject, fails, warn, well
from fairlead.cli.doctor.service import tenants_of
from fairlead.client.login import login_file
from fairlead.client.places import ADMIN_TOKEN, config_file
from fairlead.engines.registry import ENGINES, PLACE, look_at
from fairlead.model.errors import InputError
from fairlead.model.words import amounts, counted, tally
from fairlead.service.journal.entry import JournalError
from fairlead.service.journal.places import FILE, POSTGRES

if TYPE_CHECKING:
    from fairlead.model.tenant import Tenant
    from fairlead.service.journal.reading import SqlReader
    from fairlead.wire.tenants import TenantRow

READ_ONLY = "a file system that can only be read"


def state_folder(subject: Subject) -> Finding:
    """Whether the service can keep its state, and nobody else sees it."""
    folder, root = subject.folder, subject.user == 0
    if not folder.exists():
        above = subject.nearest(folder)
        if not os.access(above, os.W_OK | os.X_OK):
            return fails(f"{folder} cannot be made in {above}", "name another one with --state")
        return well(f"{folder} is not there yet; the first start makes it")
    about = folder.stat()
    if _is_read_only(folder):
        return fails(f"{folder} is on {READ_ONLY}", "name another one with --state")
    if not stat.S_ISDIR(about.st_mode) or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return fails(
            f"{folder} is no folder that you can write into",
            f"run this as {_name(about.st_uid)}, or name another one with --state",
        )
    if about.st_mode & 0o077:
        return warn(f"others can look into {folder}", f"chmod 700 {folder}")
    closed = [each for each in folder.parents if not each.stat().st_mode & 0o001]
    if root and closed:
        return warn(f"tasks as other users cannot pass {closed[0]}", f"chmod o+x {closed[0]}")
    return well(f"{folder} is closed to others")


def _is_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def reader_of(subject: Subject) -> SqlReader | None:
    """The journal, to be read; None where there was none yet. Raises JournalError and InputError,
    also where there is none any more."""
    from fairlead.cli.serving.anew import NewJournal
    from fairlead.service.journal.entry import NoJournalError
    from fairlead.service.journal.places import HEAD, open_reader

    place = subject.plan.journal or subject.folder
    try:
        return open_reader(_file(subject) or place, subject.folder / HEAD)
    except NoJournalError:
        NewJournal(subject.folder, asked=False)()
        return None


def journal(subject: Subject) -> Finding:
    """Whether the journal is there, and can be written."""
    file = _file(subject)
    kind = "in PostgreSQL" if file is None else f"a file, {file}"
    try:
        reader = reader_of(subject)
    except InputError as error:
        mistake = error.mistakes[0]
        return fails(mistake.what, mistake.right)
    except JournalError as error:
        return fails(str(error), "docs/reference/journal.md says what each refusal means")
    if reader is None:
        return well(f"{kind}; not there yet, the first start makes it")
    if file is not None and _is_read_only(file):
        return fails(f"{file} is on {READ_ONLY}", "mount it so that it can be written")
    if file is not None:
        for each in (file, file.parent):
            if not os.access(each, os.W_OK):
                return fails(f"{each} cannot be written", "see to its owner and its permissions")
        if file.stat().st_mode & 0o077:
            return fails(f"others than its owner may use {file}", f"chmod 600 {file}")
    return well(f"{kind}; {tally(reader.last(), 'entry')}")


def _file(subject: Subject) -> Path | None:
    """The journal's file; None where it is in a database."""
    place = subject.plan.journal
    if place is not None and place.startswith(POSTGRES):
        return None
    path = subject.folder if place is None else Path(place)
    return path / FILE if path.is_dir() or place is None else path


def tokens(subject: Subject) -> Finding:
    """Whether secrets in files are their owner's alone."""
    secrets = [subject.folder / ADMIN_TOKEN, config_file(os.environ), login_file(os.environ)]
    if subject.plan.tls_key is not None:
        secrets.append(Path(subject.plan.tls_key))
    there = [each for each in secrets if each.is_file()]
    for each in there:
        if each.stat().st_mode & 0o077:
            return fails(
                f"others than its owner may read {each}",
                f"chmod 600 {each}, and make what it holds anew: somebody may have read it",
            )
    return well(f"{counted(len(there), 'file')} with secrets, for their owners alone")


def compiler_cache(subject: Subject) -> Finding:
    """Whether what is compiled is kept."""
    from fairlead.compiled import KERNEL, distrusted, folder

    place = folder()
    why = distrusted(place, place.stat()) if place.is_dir() else ""
    if why:
        return warn(
            f"{why}: what lies there is not run, and every start compiles the scheduler again",
            "name another folder in FAIRLEAD_CACHE",
        )
    if any(place.glob(f"*{KERNEL}")):
        return _beside(f"compiled functions are kept in {place}", place)
    above = subject.nearest(place)
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        return warn(
            f"{above} cannot be written, so every start compiles the scheduler again",
            "name another folder in FAIRLEAD_CACHE",
        )
    return warn(
        f"nothing is compiled in {place} yet: its first start takes a minute or two",
        "start it once before somebody waits, and keep that folder",
    )


def _beside(text: str, place: Path) -> Finding:
    """What other versions left beside what is kept, and the command that removes it."""
    from fairlead.compiled import of_other_versions

    others, size, used = of_other_versions()
    if not others:
        return well(text)
    days = max(0, int((time.time() - used) / 86400))
    since = f"{counted(days, 'day')} ago" if days else "today"
    base = shlex.quote(str(place.parent))
    return well(
        f"{text}; beside it {counted(len(others), 'folder')} of other versions"
        f" ({amounts([size], 3)[0]}, last used {since}), which"
        f" `find {base} -maxdepth 1 -name 'compiled-*' ! -name {place.name} -exec rm -r {{}} +`"
        " removes where they are used no more"
    )


def users(subject: Subject) -> Finding:
    """Whether tasks can run as their tenants' users."""
    tenants = tenants_of(subject)
    if tenants is None:
        return warn(
            "the service does not tell its tenants, so as whom tasks run is not known",
            "see that it answers, or name its --cluster",
        )
    named = {each.user: each.name for each in tenants if each.user is not None}
    own = _name(subject.user)
    for user, tenant in named.items():
        try:
            number = pwd.getpwnam(user).pw_uid
        except KeyError:
            return fails(
                f"there is no user {user!r} on this machine, as whom tenant {tenant!r} is to run",
                f"useradd {user}, or name another one in the cluster file",
            )
        if number != subject.user and subject.user != 0:
            return fails(
                f"the service runs as {own}, who cannot become {user!r}",
                "run it as root, or leave `user:` out",
            )
    kind = ENGINES[subject.plan.engine]
    if subject.plan.mode == PLACE:
        return well(f"tasks are jobs of {kind.machines_from}, as their tenants' users or as {own}")
    if kind.modes:
        return well(f"no task runs here: {kind.machines_from} runs the jobs of its cluster")
    if kind.name != "local":
        return well("tasks run as Ray runs them")
    by_name = {each.name: each for each in tenants}
    without = [each.name for each in tenants if not _has_user(each, by_name)]
    if without:
        return warn(
            f"tasks of {counted(len(without), 'tenant')} (first {without[0]!r}) run as {own}, as"
            " the service does, and can read its journal and all outputs",
            "give each tenant a `user:`, or trust those who submit",
        )
    if not named and subject.user == 0:
        return warn("all tasks run as root", "give tenants a `user:`, or run as another user")
    return well("each tenant has a user" if named else f"all tasks run as {own}")


def engine(subject: Subject) -> Finding:
    """Whether the engine can be had."""
    from fairlead.engines.local import hardware
    from fairlead.extras import need

    kind = ENGINES[subject.plan.engine]
    if kind.package:
        try:
            need(kind.package)
        except InputError as error:
            mistake = error.mistakes[0]
            return fails(mistake.what, mistake.right)
        return well(f"{kind.name}: the package {kind.package} is there")
    if kind.looker:
        try:
            said, warnings = look_at(kind, subject.plan.mode, subject.plan.partition)
        except InputError as error:
            mistake = error.mistakes[0]
            return fails(mistake.what, mistake.right)
        if warnings:
            return warn(warnings[0], "docs/howto/place-on-slurm.md and order-slurm.md have more")
        return well(said)
    found = hardware.find()
    if subject.cluster is not None and subject.cluster.machines:
        more = hardware.compare(subject.cluster, found)
        if more:
            return warn(more[0], "declare in the cluster file what this machine has")
    return well(f"local: {counted(found.cores, 'core')}; {'; '.join(found.notes)}")


def takeover(subject: Subject) -> Finding:
    """Whether a service on another machine could go on when this one is gone."""
    plan, kind = subject.plan, ENGINES[subject.plan.engine]
    if not plan.shared:
        return well("the journal is a file: a second service can wait for it here (--standby)")
    if not kind.shared:
        return warn(
            "a service on another machine finds the journal, and neither the tasks nor the outputs"
            f" of the {kind.name} engine of this one: they would count as lost, perhaps started",
            f"use --engine {next(each.name for each in ENGINES.values() if each.shared)}",
        )
    if not plan.address:
        return warn(
            "a service on another machine finds the journal, and not the cluster, which is started"
            " on this one",
            "name one that both reach with --address",
        )
    return well("the journal, the tasks and their outputs are where another machine reaches them")


def _has_user(tenant: Tenant | TenantRow, by_name: Mapping[str, Tenant | TenantRow]) -> bool:
    """Whether it, or a tenant above it, names a user."""
    at: Tenant | TenantRow | None = tenant
    while at is not None and at.user is None:
        at = by_name.get(at.parent or "")
    return at is not None


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
