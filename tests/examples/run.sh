#!/bin/sh
# Runs an example as its users and their scripts do: run.sh PROGRAM JSON_KEYS [FLAG...]. The flags are those of its full run.
# SPDX-License-Identifier: MIT
set -u
program=$1 json_keys=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
expect() {  # expect STATUS WHAT COMMAND...: stdout and stderr are in the scratch directory afterwards
  wanted=$1 what=$2
  shift 2
  "$@" > "$scratch/out" 2> "$scratch/err"
  got=$?
  [ "$got" -eq "$wanted" ] || { echo "$what: exit status $got, not $wanted"; cat "$scratch/out" "$scratch/err"; failures=$((failures + 1)); }
}
must() { "$@" || { echo "failed: $*"; failures=$((failures + 1)); }; }

expect 0 "--help" "$program" --help
cp "$scratch/out" "$scratch/help"
must grep -q "^Exit status:" "$scratch/help"

expect 2 "an unknown flag" "$program" --jsn
must grep -q "did you mean --json?" "$scratch/err"
must [ ! -s "$scratch/out" ]
expect 2 "what is no flag" "$program" now
must [ ! -s "$scratch/out" ]

expect 0 "--json" "$program" --json "$@"
must "$json_keys" "$scratch/out" "$scratch/help"
exit "$failures"
