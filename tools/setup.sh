# Shared by the scripts beside it, which source it: packages, and a build folder that fits this checkout.
# shellcheck shell=bash

set -euo pipefail
unset CDPATH
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

build_packages=(g++ cmake ninja-build libcli11-dev libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libsimdjson-dev libeigen3-dev
  libboost-dev libboost-iostreams-dev coinor-libclp-dev)
test_packages=(libgtest-dev librapidcheck-dev libbenchmark-dev python3)
ci_packages=(clang-14 libclang-rt-14-dev clang-format-14 chromium chromium-driver python3-selenium)

say() { printf '== %s\n' "$*" >&2; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# missing PACKAGE...: those of them that are not installed.
missing() {
  local package
  for package in "$@"; do
    case "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null || true)" in
      ii*) ;;
      *) printf '%s\n' "$package" ;;
    esac
  done
}

# as_root COMMAND...: as it is for root, else with sudo, which may ask for a password only where somebody can answer.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    if [ -t 0 ]; then sudo "$@"; else sudo -n "$@"; fi
  else
    return 1
  fi
}

# install_packages PACKAGE...: installs what is not there; touches no network where everything is.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian: take care of the counterparts of $* yourself"
    return
  fi
  local -a lacking
  mapfile -t lacking < <(missing "$@")
  [ "${#lacking[@]}" -eq 0 ] && return
  say "installing ${lacking[*]}"
  local -a install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${lacking[@]}")
  if ! as_root "${install[@]}" >&2; then
    # The list of packages may be old, or not there at all.
    { as_root apt-get update && as_root "${install[@]}"; } >&2 || true
  fi
  mapfile -t lacking < <(missing "$@")
  [ "${#lacking[@]}" -eq 0 ] || die "missing packages: ${lacking[*]} (apt-get install ${lacking[*]})"
}

# configure PRESET [OPTION...]: into build/PRESET. A folder that another checkout's configuration lies in is emptied.
configure() {
  local preset=$1
  shift
  local cache="build/$preset/CMakeCache.txt"
  if [ -f "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
    say "build/$preset belongs to another folder: starting afresh"
    rm -rf "build/$preset"
  fi
  cmake --preset "$preset" "$@" >&2
}

# build PRESET [TARGET]
build() {
  cmake --build "build/$1" ${2:+--target "$2"} --parallel "$(nproc)" >&2
}
