"""The shell program that stands over one attempt: it claims it, runs it, and writes down its end.

It uses only what every POSIX shell has built in, so that an attempt costs one process beside its
own. Its arguments are the name of the attempt's record, the folder of the task, and the task's
words; its working folder is the one of the records.
"""

from __future__ import annotations

SHELL = "/bin/sh"

NAME = "fairlead-task"
"""The shim's name in lists of processes and in its own messages."""

NO_FOLDER, CANNOT_RUN, NOT_FOUND = 125, 126, 127
"""The codes of a task that could not be started; the last two are the shell's own."""

UNCLAIMED = 75
"""The shim's exit code where the attempt was claimed before, or could not be."""

# `set -C` makes `>` create files exclusively: of two shims of one attempt one gets the claim. What
# is written is one short line and so one write: a reader finds all of it or nothing.
# Signals that are sent to the whole group must not take the shim along before it wrote the end;
# handlers, unlike ignored signals, are not inherited by the task.
# `missed` is written where exec failed: the EXIT trap runs only then. The record is reached through
# the shim's own working folder, since a user other than the service's cannot reach it by its path.
# `exit $code` tells the end to the process above even where the disk is full.
SHIM = f"""
set -C
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE XCPU
read -r stat </proc/$$/stat || exit {UNCLAIMED}
start() {{ shift 19; start=$1; }}
start ${{stat##*) }}
record=$1
{{ printf '%s %s\\n' $$ "$start" >"$record.claim"; }} 2>/dev/null || exit {UNCLAIMED}
work=$2
shift 2
(
trap 'printf "missed\\n" >"/proc/$$/cwd/$record.missed"' EXIT
{{ printf 500 >|/proc/self/oom_score_adj; }} 2>/dev/null
cd -- "$work" || exit {NO_FOLDER}
unset OLDPWD
exec "$@"
)
code=$?
said=exit
if [ $code -ge {NO_FOLDER} ] && [ -e "$record.missed" ]; then said=missed; fi
printf '%s %s\\n' $said $code >"$record.status"
exit $code
"""
