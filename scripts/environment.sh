# The environment of a checkout (.venv), made and kept up to date; sourced by ./start and ./check.
#
# need_environment NAME   makes .venv hold what requirements/NAME.txt locks, and Fairlead itself, and
#                         compiles the scheduler beside it; not with a second word, `alone`: the
#                         first service does that then.
#
# A stamp in .venv says what was installed from which files; while it is true, nothing is done.

say() { printf '%s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# How good a Python is: 2 for one that distributions build or that was built with optimisations, and
# that can make .venv; 1 for any other that is new enough. `./configure; make` alone, which is what
# pyenv does, gives one in which Python takes a third longer (docs/decisions/0349-which-python.md).
HOW_GOOD='
import sys, sysconfig
if sys.version_info < (3, 11):
    sys.exit(1)
fast = sys.base_prefix == "/usr" or "--enable-optimizations" in (sysconfig.get_config_var("CONFIG_ARGS") or "")
try:
    import ensurepip
except ImportError:
    fast = False
print(1 + fast)'

# The Python that .venv is made with: of all that PATH has the first that is fast, or else the first
# that is new enough. Prints its path; FAIRLEAD_PYTHON names one.
find_python() {
  local candidate good found=
  if [ -n "${FAIRLEAD_PYTHON:-}" ]; then
    "$FAIRLEAD_PYTHON" -c "$HOW_GOOD" >/dev/null 2>&1 ||
      fail "FAIRLEAD_PYTHON is '$FAIRLEAD_PYTHON', which is not a Python of 3.11 or newer; name one that is, or unset it."
    printf '%s\n' "$FAIRLEAD_PYTHON"
    return
  fi
  while read -r candidate; do
    good=$("$candidate" -c "$HOW_GOOD" 2>/dev/null </dev/null) || continue
    if [ "$good" = 2 ] || [ -z "$found" ]; then
      found=$candidate
    fi
    [ "$good" != 2 ] || break
  done < <(type -aP python3 python3.13 python3.12 python3.11 python)
  if [ -z "$found" ]; then
    candidate=$(python3 --version 2>/dev/null) || candidate="there is no python3"
    fail "Fairlead needs Python 3.11 or newer, and none was found ($candidate); install one, or set FAIRLEAD_PYTHON to its path."
  fi
  printf '%s\n' "$found"
}

works() { .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# What the environment was made from: the lock, what the project says of itself, the Python, the place.
fingerprint() { # NAME
  { cat "requirements/$1.txt" pyproject.toml src/fairlead/version.py scripts/environment.sh scripts/install.py && readlink .venv/bin/python && pwd; } | cksum
}

# Whether .venv is as it is to be for NAME.
is_there() { # NAME
  works && [ -f ".venv/fairlead-$1" ] && [ "$(cat ".venv/fairlead-$1")" = "$(fingerprint "$1")" ]
}

# One at a time: the lock is this folder's, open as 9 here, and ends with whoever has it. By Python,
# as macOS has no `flock`; where a folder cannot be locked, as on some network disks, it goes on.
LOCK='
import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Another process makes .venv ready; this one goes on when that is done.", file=sys.stderr)
    try:
        fcntl.flock(9, fcntl.LOCK_EX)
    except KeyboardInterrupt:
        sys.exit(130)
except OSError:
    pass'

need_environment() { # NAME [alone]
  local python
  if is_there "$1"; then
    return
  fi
  python=.venv/bin/python
  works || python=$(find_python) || exit 1
  exec 9<.
  "$python" -c "$LOCK" || exit
  is_there "$1" || make_environment "$@"
  exec 9<&-
}

make_environment() { # NAME [alone]
  local python
  if ! works; then
    python=$(find_python) || exit 1
    say "Making .venv with $("$python" --version 2>&1) ($python)."
    "$python" -m venv --clear .venv >/dev/null ||
      fail "'$python -m venv .venv' failed; on Debian and Ubuntu the package python3-venv is missing."
  fi
  say "Installing what requirements/$1.txt locks into .venv, once."
  .venv/bin/python scripts/install.py "$@" || exit 1
  fingerprint "$1" >".venv/fairlead-$1"
}
