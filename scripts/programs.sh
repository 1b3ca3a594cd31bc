# Programs that the tests start, and no part of Fairlead: sourced by ./check.
#
# need_programs   installs Debian's packages of those that are missing, where it may (as root):
#                 PostgreSQL for the journal, Chromium for the dashboard, Slurm for its engine,
#                 with the database of its accounts.
# need_debootstrap   installs what makes folders with Debian's newer suites, for `./check --all`.
# need_node       installs what tests/dashboard/node locks: the compiler that checks the types of
#                 the dashboard's modules, and the rules of accessibility.
#
# Where they cannot be had the tests say that they were left out, and CI fails.

has_postgres() {
  local initdb
  for initdb in "$(command -v initdb || true)" /usr/lib/postgresql/*/bin/initdb; do
    [ -x "$initdb" ] && return 0
  done
  return 1
}

# Without windows of its own it takes a quarter less of a processor.
has_chromium() { command -v chromium-headless-shell || command -v chromium; } >/dev/null

has_slurm() {
  local program
  for program in munged slurmctld slurmd sbatch slurmdbd mariadbd my_print_defaults; do
    PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null || return 1
  done
}

need_programs() {
  local log conf=/etc/postgresql-common/createcluster.conf
  local names=() packages=()
  has_postgres || { names+=(PostgreSQL) && packages+=(postgresql); }
  has_chromium || { names+=(Chromium) && packages+=(chromium-headless-shell); }
  has_slurm || { names+=(Slurm) && packages+=(slurmctld slurmd slurm-client munge slurmdbd mariadb-server-core mariadb-client-core); }
  [ ${#packages[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    say "Not installed: ${names[*]} (Debian: apt-get install ${packages[*]}); their tests are left out."
    return
  fi
  say "Installing ${names[*]}, which tests start (once; a minute)."
  log=$(mktemp)
  # No server is set up beside the tests' own.
  if [ ! -e "$conf" ]; then
    mkdir -p "${conf%/*}"
    printf 'create_main_cluster = false\n' >"$conf"
  fi
  if ! { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
    --option Dpkg::Options::=--force-confold "${packages[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    say "Could not be installed: ${names[*]}; their tests are left out (the whole output is in $log)."
    return
  fi
  rm -f "$log"
}

need_debootstrap() {
  command -v debootstrap >/dev/null && return
  say "Installing debootstrap, for folders with newer versions of Slurm."
  DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends debootstrap >/dev/null </dev/null
}

need_node() {
  local folder=tests/dashboard/node npm stamp log
  stamp=$folder/node_modules/.locked
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(cksum <"$folder/package-lock.json")" ] && return
  npm=$(command -v npm || true)
  say "Installing what checks the dashboard's modules (once; seconds)."
  log=$(mktemp)
  if [ -z "$npm" ]; then # Node from PyPI, where this machine has none
    .venv/bin/python -m pip install --quiet --require-hashes -r requirements/node.txt >"$log" 2>&1 || true
    PATH="$PWD/.venv/bin:$PATH"
    npm=npm
  fi
  if ! "$npm" --prefix "$folder" ci --ignore-scripts --no-audit --no-fund >>"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    say "It could not be installed; its checks are left out (the whole output is in $log)."
    return
  fi
  cksum <"$folder/package-lock.json" >"$stamp"
  rm -f "$log"
}
