# PostgreSQL's programs for the tests of the journal; sourced by ./check.
#
# need_postgres   installs Debian's package where its programs are missing and it may (as root).
#
# Only the programs are wanted: the tests start a server of their own. Where they cannot be had the
# tests say that they were left out, and CI fails.

has_postgres() {
  local initdb
  for initdb in "$(command -v initdb || true)" /usr/lib/postgresql/*/bin/initdb; do
    [ -x "$initdb" ] && return 0
  done
  return 1
}

need_postgres() {
  local log conf=/etc/postgresql-common/createcluster.conf
  has_postgres && return
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "PostgreSQL is not installed (Debian and Ubuntu: apt-get install postgresql); its tests are left out."
    return
  fi
  say "Installing PostgreSQL, which the journal's tests start (once; a minute)."
  log=$(mktemp)
  # No server is set up beside the tests' own.
  if [ ! -e "$conf" ]; then
    mkdir -p "${conf%/*}"
    printf 'create_main_cluster = false\n' >"$conf"
  fi
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    --option Dpkg::Options::=--force-confold postgresql; } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    say "PostgreSQL could not be installed; its tests are left out (the whole output is in $log)."
    return
  fi
  rm -f "$log"
}
