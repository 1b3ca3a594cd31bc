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

# A Python that is new enough. Prints its command; FAIRLEAD_PYTHON names one.
find_python() {
  local candidate
  for candidate in ${FAIRLEAD_PYTHON:+"$FAIRLEAD_PYTHON"} python3 python3.13 python3.12 python3.11 python; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      printf '%s\n' "$candidate"
      return
    fi
    # Who names a Python means that one.
    [ -z "${FAIRLEAD_PYTHON:-}" ] || break
  done
  if [ -n "${FAIRLEAD_PYTHON:-}" ]; then
    fail "FAIRLEAD_PYTHON is '$FAIRLEAD_PYTHON', which is not a Python of 3.11 or newer; name one that is, or unset it."
  fi
  candidate=$(python3 --version 2>/dev/null) || candidate="there is no python3"
  fail "Fairlead needs Python 3.11 or newer, and none was found ($candidate); install one, or set FAIRLEAD_PYTHON to its path."
}

works() { .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# What the environment was made from: the lock, what the project says of itself, the Python, the place.
fingerprint() { # NAME
  { cat "requirements/$1.txt" pyproject.toml src/fairlead/version.py scripts/environment.sh scripts/install.py && readlink .venv/bin/python && pwd; } | cksum
}

need_environment() { # NAME [alone]
  local name=$1 python stamp
  if ! works; then
    python=$(find_python) || exit 1
    say "Making .venv with $("$python" --version 2>&1)."
    "$python" -m venv --clear .venv >/dev/null ||
      fail "'$python -m venv .venv' failed; on Debian and Ubuntu the package python3-venv is missing."
  fi
  stamp=.venv/fairlead-$name
  if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint "$name")" ]; then
    return
  fi
  say "Installing what requirements/$name.txt locks into .venv, once."
  .venv/bin/python scripts/install.py "$@" || exit 1
  fingerprint "$name" >"$stamp"
}
