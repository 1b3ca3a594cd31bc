"""Commands that other schedulers have, and what is written here instead."""

from __future__ import annotations

_JOBS = "`fairlead jobs` lists the jobs"
_MACHINES = "`fairlead machines` lists the machines"
_SUBMIT = "write `fairlead submit -- COMMAND`"
_CANCEL = "write `fairlead cancel JOB`"
_TENANTS = "`fairlead tenants` lists those who share"

COMMANDS_ELSEWHERE = {
    **dict.fromkeys(
        ("status", "info", "health"),
        "`fairlead top` shows how things stand, and `fairlead doctor` whether the service is well",
    ),
    **dict.fromkeys(("squeue", "queue", "ps", "ls", "list", "sacct", "workloads"), _JOBS),
    **dict.fromkeys(("sinfo", "nodes", "node", "hosts", "machine"), _MACHINES),
    **dict.fromkeys(("sbatch", "srun", "run", "exec", "create", "apply"), _SUBMIT),
    **dict.fromkeys(("scancel", "kill", "delete", "rm"), _CANCEL),
    **dict.fromkeys(("users", "teams", "accounts", "tenant", "quota"), _TENANTS),
    **dict.fromkeys(("sshare", "share", "usage"), "`fairlead shares` shows each tenant's share"),
    "resume": "write `fairlead undrain MACHINE`",
    "cordon": "write `fairlead drain MACHINE`",
    "uncordon": "write `fairlead undrain MACHINE`",
    "ui": "write `fairlead dashboard`",
    "web": "write `fairlead dashboard`",
    "events": "`fairlead logs JOB` shows what tasks wrote, the page of `fairlead dashboard` what"
    " happened",
}
"""By the word that was typed."""
