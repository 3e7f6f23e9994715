# What the scripts share; sourced, with the project's root as the working directory afterwards.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { echo "$(basename "$0"): $*" >&2; }
die() { say "$*"; exit 1; }

# The major version of a g++, 0 when it is not there.
gxx_major() { "$1" -dumpversion 2>/dev/null | cut -d. -f1 || echo 0; }

# The compiler: CXX when set, else g++, else (Ubuntu 22.04, whose g++ is 11) g++-12.
choose_compiler() {
  if [ -z "${CXX:-}" ] && [ "$(gxx_major g++)" -lt 12 ] && command -v g++-12 >/dev/null; then export CXX=g++-12; fi
}

# Compilations at once: one a processor, and 1.5 GiB of memory for each.
jobs() {
  local memory
  memory=$(awk '/MemAvailable/ {print int($2 / 1572864)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  [ "$memory" -le "$(nproc)" ] && echo "$memory" || nproc
}

# The programs of a folder, one a line: names_of examples.
names_of() { find "$1" -maxdepth 1 -name '*.cpp' -printf '%f\n' | sed 's/\.cpp$//' | sort; }

# Runs a command that is silent unless it fails.
quietly() {
  local output
  output=$("$@" 2>&1) || { local status=$?; echo "$output" >&2; die "failed ($status): $*"; }
}

# Configures build/PRESET and builds the targets given (all without); everything said goes to stderr.
build() {
  local preset=$1
  shift
  choose_compiler
  quietly cmake --preset "$preset"
  cmake --build --preset "$preset" --parallel "$(jobs)" ${1:+--target "$@"} >&2
}
