#!/bin/sh
# What activation_checkpoint promises about --plot: activation_checkpoint.sh PROGRAM.
# SPDX-License-Identifier: MIT
set -u
program=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
must() { "$@" || { echo "failed: $*"; failures=$((failures + 1)); }; }

"$program" --help > "$scratch/help"
must grep -q -- "--plot" "$scratch/help"

echo old > "$scratch/plot.svg"
"$program" --large-batch 16 --runs 1 --plot "$scratch/plot.svg" > "$scratch/out" || { cat "$scratch/out"; failures=$((failures + 1)); }
must [ "$(head -c 5 "$scratch/plot.svg")" = "<svg " ]
must [ "$(tail -n 1 "$scratch/plot.svg")" = "</svg>" ]
must [ "$(grep -c "<polyline" "$scratch/plot.svg")" -eq 6 ]
must [ "$(ls "$scratch" | wc -l)" -eq 3 ] # nothing temporary stays
if command -v python3 > /dev/null; then must python3 -c "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])" "$scratch/plot.svg"; fi

for wrong in "$scratch/no/plot.svg" "$scratch" ""; do
  "$program" --large-batch 16 --runs 1 --plot "$wrong" > "$scratch/out" 2> "$scratch/err"
  must [ $? -eq 2 ]
  must grep -q "a file name in a directory that exists" "$scratch/err"
done
exit "$failures"
