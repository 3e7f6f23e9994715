#!/usr/bin/env bash
# run.sh FILE COMPILER FLAG...: the file compiles; with -DMISTAKE it does not, and the compiler shows each "// message:" of the file.
# SPDX-License-Identifier: MIT
set -uo pipefail
file=$1
shift
compile() { "$@" -std=c++20 -fsyntax-only -fdiagnostics-color=never "$file" 2>&1; }

if ! output=$(compile "$@"); then
  echo "the version without the mistake does not compile:"
  echo "$output"
  exit 1
fi
if output=$(compile "$@" -DMISTAKE); then
  echo "the mistake compiles"
  exit 1
fi
grep -q '^// message: ' "$file" || { echo "$file names no message"; exit 1; }
sed -n 's|^// message: ||p' "$file" | while IFS= read -r message; do
  grep -qF -- "$message" <<<"$output" || { echo "missing: $message"; echo "$output"; exit 1; }
done
