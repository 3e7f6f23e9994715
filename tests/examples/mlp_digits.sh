#!/usr/bin/env bash
# What mlp_digits promises about files of digits: mlp_digits.sh PROGRAM.
# SPDX-License-Identifier: MIT
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failures=0
# expect STATUS TEXT FILE FLAG...: how a run on the file ends, and what it says.
expect() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$program" --data "$@" >out.txt 2>&1 || status=$?
  if [ "$status" = "$wanted" ] && grep -qF -- "$text" out.txt; then echo "ok: $*: $text"; else
    echo "FAILED: $* ended with $status, not $wanted and '$text':"
    cat out.txt
    failures=$((failures + 1))
  fi
}

# Ten patterns, one brighter pixel each picture: 500 lines of 64 grey values and a label.
awk 'BEGIN {
  for (i = 0; i < 500; ++i) {
    for (p = 0; p < 64; ++p) printf "%d,", (p % 10 == i % 10) * 12 + (p == i % 64) * 4
    print i % 10
  }
}' >good.csv
expect 0 "good.csv" good.csv
expect 0 "pictures to train on" good.csv --epochs 20
expect 3 "checks failed" good.csv --epochs 1 --lr 0
head -c -1 good.csv >unended.csv
expect 0 "unended.csv" unended.csv
sed '7s/,/;/' good.csv >semicolon.csv
expect 1 "semicolon.csv, line 7: column 1 of 65 must be a number from 0 to 16 before a comma" semicolon.csv
sed '2s/^[0-9]*/17/' good.csv >bright.csv
expect 1 "bright.csv, line 2: column 1 of 65" bright.csv
sed '3s/,[0-9]$/,10/' good.csv >ten.csv
expect 1 "ten.csv, line 3: column 65 of 65 must be a number from 0 to 9 at the end of the line" ten.csv
head -c 5000 good.csv >torn.csv
expect 1 "torn.csv, line" torn.csv
head -50 good.csv >few.csv
expect 1 "few.csv: 50 pictures are fewer than 100" few.csv
: >empty.csv
expect 1 "empty.csv: 0 pictures" empty.csv
expect 1 "missing.csv: No such file" missing.csv
exit "$failures"
