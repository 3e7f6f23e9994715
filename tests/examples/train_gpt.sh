#!/usr/bin/env bash
# What train_gpt promises about interruptions, pipes and bad input: train_gpt.sh PROGRAM.
# SPDX-License-Identifier: MIT
set -euo pipefail
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export OMP_NUM_THREADS=1

failures=0
check() {  # check WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then echo "ok: $what"; else echo "FAILED: $what"; failures=$((failures + 1)); fi
}
status_of() {
  local status=0
  "$@" >out.txt 2>err.txt || status=$?
  echo "$status"
}
flags=(--text world --layers 1 --dim 16 --heads 2 --context 16 --batch 4 --eval-every 10 --sample 20 --dropout 0.1)
train() { "$program" "${flags[@]}" "$@"; }
# Starts a run without an end, whose process is $pid, and waits until it has saved twice.
start() {
  "$program" "${flags[@]}" --steps 1000000 --out "$1" >/dev/null 2>"$1.err" &
  pid=$!
  until [ "$(find "$1" -maxdepth 1 -name 'checkpoint-*' 2>/dev/null | wc -l)" -ge 2 ]; do kill -0 "$pid" && sleep 0.05; done
}
ended_with() {  # whether $pid ends with this status
  local status=0
  wait "$pid" 2>/dev/null || status=$?
  [ "$status" = "$1" ]
}
same_run() {  # the same parameters, optimizer and metrics, byte for byte
  cmp "$1/model.safetensors" "$2/model.safetensors" && cmp "$1/metrics.csv" "$2/metrics.csv" &&
    cmp "$1/checkpoint-000200/optimizer.safetensors" "$2/checkpoint-000200/optimizer.safetensors"
}

train --steps 200 --out whole >whole.txt 2>whole.err
check "without a terminal no carriage return or escape is written" bash -c '! cat whole.txt whole.err | grep -q $'"'"'[\r\x1b]'"'"''
check "a pipe gets lines" grep -q '^step=200 loss=' whole.txt

train --steps 200 --pause 100 --out paused >/dev/null 2>&1
train --resume --out paused >/dev/null
check "200 steps are 100 and 100 more, byte for byte" same_run whole paused
OMP_NUM_THREADS=2 train --steps 200 --out two >/dev/null
check "one thread or two, the same bytes" same_run whole two

start signalled
kill -TERM "$pid"
check "SIGTERM ends with 143" ended_with 143
check "and says how to continue" grep -q 'saved, continue with --out signalled --resume' signalled.err
check "from a checkpoint that loads" test "$(status_of "$program" --model "$(ls -d signalled/checkpoint-* | tail -1)/model.safetensors" --text world --steps 0)" = 0
start interrupted
kill -INT "$pid"
check "SIGINT ends with 130" ended_with 130
start killed
kill -KILL "$pid"
check "kill -9 ends with 137" ended_with 137
check "after kill -9 the run resumes" test "$(status_of train --resume --out killed --steps 30)" = 0

refused() {  # refused STATUS MESSAGE FLAG...
  local expected=$1 message=$2
  shift 2
  check "$* ends with $expected and '$message'" bash -c 'test "$1" = "$2" && grep -qF -- "$3" err.txt' _ "$(status_of "$program" "$@")" "$expected" "$message"
}
: >empty.txt
echo short >short.txt
head -c 2000 whole/model.safetensors >torn.safetensors
refused 2 "did you mean --steps" --step 3
refused 2 "must divide" --text world --heads 3 --dim 16
refused 1 "No such file" --text missing.txt --out none
refused 1 "is empty" --text empty.txt --out none
refused 1 "too short for a context" --text short.txt --out none
refused 1 "already holds a run" --text world --out whole
refused 1 "there is no such run" --resume --out nowhere
refused 1 "torn.safetensors" --text world --model torn.safetensors --steps 0
refused 1 "the loss is" --text world --layers 1 --dim 16 --heads 2 --context 16 --batch 4 --lr 1e30 --steps 500 --dtype float32 --out diverged --seed 3
check "--json prints one object" bash -c '"$1" --text world --model whole/model.safetensors --steps 0 --json 2>/dev/null | python3 -c "import json, sys; json.load(sys.stdin)"' _ "$program"
exit "$failures"
