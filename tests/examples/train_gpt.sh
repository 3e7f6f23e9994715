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

if command -v script >/dev/null; then  # of util-linux: a terminal
  on_terminal() { env -u CI TERM="$1" script -qec "'$program' ${flags[*]} --steps 200 --out $2" "$2.raw" >/dev/null; }
  # Of each line what is there in the end: what follows the last erasure, without colours.
  seen() { sed -e 's/\r$//' -e $'s/^.*\r\x1b\\[K//' -e $'s/\x1b\\[[0-9;]*m//g' "$1.raw"; }
  steps_of() { grep '^step=' "$1" | sed 's/ tokens_per_second=.*//'; }
  check "a run on a terminal" on_terminal xterm terminal
  seen terminal >terminal.txt
  grep -o $'\r *[0-9]*%[^\r]*\x1b\\[K' terminal.raw | sed -e 's/^\r//' -e $'s/\x1b.*//' >bars.txt
  check "draws a bar again and again" test "$(wc -l <bars.txt)" -ge 10
  check "that fits into 80 columns and says how far, how well, how fast and how long" \
    test "$(grep -cE '^.{1,79}$' bars.txt)/$(grep -cE '% .*[0-9]+/200 \[[0-9:]+<[0-9:]+, loss [0-9.]+, [0-9.]+ bits/char, [0-9.]+k tok/s\]' bars.txt)" = \
    "$(wc -l <bars.txt)/$(wc -l <bars.txt)"
  check "and always takes it away" bash -c '! grep -q "bits/char," terminal.txt'
  check "the lines are those of a pipe" cmp <(steps_of terminal.txt) <(steps_of whole.txt)
  on_terminal dumb dumb
  check "a terminal that cannot erase has no bar" bash -c '! grep -q $'"'"'\x1b\\[K'"'"' dumb.raw'
fi

train --steps 200 --pause 100 --out paused >/dev/null 2>&1
train --resume --out paused >/dev/null
check "200 steps are 100 and 100 more, byte for byte" same_run whole paused
OMP_NUM_THREADS=2 train --steps 200 --out two >/dev/null
check "one thread or two, the same bytes" same_run whole two

number() { tr -d ' \n' <"$1" | grep -o "\"$2\":{\"value\":[0-9]*" | grep -o '[0-9]*$'; }
for mode in none full products; do train --steps 20 --layers 2 --recompute $mode --out "recompute_$mode" --json >"$mode.json" 2>/dev/null; done
check "--recompute full trains to the same bytes" cmp recompute_none/model.safetensors recompute_full/model.safetensors
check "--recompute products trains to the same bytes" cmp recompute_none/model.safetensors recompute_products/model.safetensors
check "saving less than products, which save less than everything" \
  test "$(number full.json saved_bytes)" -lt "$(number products.json saved_bytes)" -a "$(number products.json saved_bytes)" -lt "$(number none.json saved_bytes)"
check "running most again in full, nothing in none" \
  test "$(number full.json operations_again)" -gt "$(number products.json operations_again)" -a "$(number none.json operations_again)" -eq 0

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

# Over ranks. With virtual shards the number and arrangement of ranks changes no bit.
over() { "$program" "${flags[@]}" --heads 4 --batch 8 --virtual-shards 4 "$@"; }
same_files() { cmp "$1/model.safetensors" "$2/model.safetensors" && cmp "$1/metrics.csv" "$2/metrics.csv"; }
over --steps 50 --out alone >/dev/null 2>&1
for mesh in "--ranks 2" "--ranks 4" "--dp 2 --tp 2" "--tp 4"; do
  name=mesh${mesh//[ -]/}
  # shellcheck disable=SC2086
  over --steps 50 $mesh --out "$name" >"$name.txt" 2>&1
  check "$mesh gives the bytes of one rank" same_files alone "$name"
  check "and one rank prints" test "$(grep -c '^step=50 ' "$name.txt")" = 1
done
over --steps 50 --pause 20 --ranks 4 --out moved >/dev/null 2>&1
"$program" --resume --out moved >/dev/null 2>&1
check "a run of four ranks continues on one, byte for byte" same_files alone moved
over --steps 50 --pause 20 --out spread >/dev/null 2>&1
"$program" --resume --dp 2 --tp 2 --recompute full --out spread >/dev/null 2>&1
check "and one of one rank on 2 x 2, recomputing" same_files alone spread
for dtype in float64 bfloat16 float16; do
  over --steps 50 --dtype "$dtype" --sequence-parallel --out "one$dtype" >/dev/null 2>&1
  over --steps 50 --dtype "$dtype" --sequence-parallel --dp 2 --tp 2 --recompute products --out "four$dtype" >/dev/null 2>&1
  check "$dtype, sequence parallel: 2 x 2 ranks give the bytes of one" same_files "one$dtype" "four$dtype"
done
last_validation() { tail -1 "$1/metrics.csv" | cut -d, -f5; }
for dtype in bfloat16 float16; do
  over --steps 50 --dtype "$dtype" --out "plain$dtype" >/dev/null 2>&1
  check "$dtype ends within 0.03 bits of float32" \
    awk -v a="$(last_validation alone)" -v b="$(last_validation "plain$dtype")" 'BEGIN { exit !(a - b < 0.03 && b - a < 0.03) }'
done

long=(--eval-every 200 --virtual-shards 4 --heads 4)
train "${long[@]}" --steps 2000 --out unbroken >/dev/null 2>&1
# Starts four ranks and waits until they have saved twice.
start_ranks() {  # start_ranks OUT FLAG...
  local out=$1
  shift
  "$program" "${flags[@]}" "${long[@]}" --ranks 4 "$@" --out "$out" >/dev/null 2>"$out.err" &
  pid=$!
  until [ "$(find "$out" -maxdepth 1 -name 'checkpoint-*' 2>/dev/null | wc -l)" -ge 2 ]; do kill -0 "$pid" && sleep 0.02; done
}
start_ranks broken --steps 2000
kill -KILL "$(pgrep -P "$pid" | sed -n 3p)"
check "a rank that is killed ends the run with 1" ended_with 1
check "whose message names it" grep -q 'rank 2 was killed by signal 9 .*saved, continue with --out broken --resume' broken.err
"$program" --resume --ranks 2 --out broken >/dev/null 2>&1
check "and it continues on two ranks as if nothing had happened" same_files unbroken broken
start_ranks stopped --steps 1000000
kill -INT "$pid"
check "SIGINT to the parent of ranks ends with 130" ended_with 130
check "and says how to continue" grep -q 'saved, continue with --out stopped --resume --dp 4 --tp 1' stopped.err
start_ranks ranked --steps 1000000
kill -TERM "$(pgrep -P "$pid" | head -1)"
check "SIGTERM to one rank stops all with 143" ended_with 143
start_ranks hasty --steps 1000000
kill -STOP "$(pgrep -P "$pid" | head -1)"  # nobody comes to the next step
kill -INT "$pid"
sleep 0.2
kill -INT "$pid"
check "a second SIGINT ends at once with 130" ended_with 130
check "and leaves no rank behind" bash -c 'for i in $(seq 50); do pgrep -f -- "[-]-out hasty" >/dev/null || exit 0; sleep 0.1; done; exit 1'

# The precision of products changes a run by less than 0.03 bits per character.
validation_of() {
  "$program" --text world --layers 2 --dim 32 --heads 2 --context 32 --batch 8 --steps 300 --eval-every 300 --sample 0 --json \
    --dtype "$1" --out "precision-$1" 2>/dev/null | tr -d ' \n' | sed 's/.*"validation":{"value":\([0-9.]*\).*/\1/'
}
float=$(validation_of float32)
check "300 steps learn: $float bits per character" awk -v bits="$float" 'BEGIN { exit !(bits > 1 && bits < 2.6) }'
for dtype in bfloat16 float16; do
  narrow=$(validation_of "$dtype")
  check "300 steps in $dtype end within 0.03 bits of float: $narrow" awk -v a="$narrow" -v b="$float" 'BEGIN { exit !(a - b < 0.03 && b - a < 0.03) }'
done

refused() {  # refused STATUS MESSAGE FLAG...
  local expected=$1 message=$2
  shift 2
  check "$* ends with $expected and '$message'" bash -c 'test "$1" = "$2" && grep -qF -- "$3" err.txt' _ "$(status_of "$program" "$@")" "$expected" "$message"
}
: >empty.txt
echo short >short.txt
head -c 2000 whole/model.safetensors >torn.safetensors
refused 2 "did you mean --steps" --step 3
refused 2 "--heads 3 does not divide --dim 16" --text world --heads 3 --dim 16
refused 2 "--dp 3 times --tp 1 are 3 ranks, not --ranks 4; --dp and --tp that would do: 1 and 4, 2 and 2, 4 and 1" --ranks 4 --dp 3 --text world
refused 2 "--dp 3 does not divide --batch 16; 1, 2, 4, 8, 16 would, or --batch 15 or 18" --ranks 3 --text world
refused 2 "--tp 3 does not divide --heads 4; 1, 2, 4 would" --tp 3 --text world
refused 2 "--virtual-shards 2 must be a power of two that --dp 4 and --tp 1 divide; 4, 8, 16 would do" --ranks 4 --virtual-shards 2 --text world
refused 2 "does not divide --context 18" --tp 4 --sequence-parallel --context 18 --text world
refused 1 "No such file" --text missing.txt --out none
refused 1 "is empty" --text empty.txt --out none
refused 1 "--prompt: vocabulary: there is no character with code 65" --text world --steps 10 --prompt A --out none
check "what is refused leaves nothing behind" test ! -e none
refused 1 "too short for a context" --text short.txt --out none
refused 1 "already holds a run" --text world --out whole
refused 1 "there is no such run" --resume --out nowhere
refused 1 "torn.safetensors" --text world --model torn.safetensors --steps 0
refused 1 "the loss is" --text world --layers 1 --dim 16 --heads 2 --context 16 --batch 4 --lr 1e30 --steps 500 --dtype float32 --out diverged --seed 3
if command -v python3 > /dev/null; then  # elsewhere the entry example/train_gpt reads its JSON
  check "--json prints one object" bash -c '"$1" --text world --model whole/model.safetensors --steps 0 --json 2>/dev/null | python3 -c "import json, sys; json.load(sys.stdin)"' _ "$program"
fi
printf 'one line without an end, %.0s' $(seq 120) >line.txt
check "a text of one line, with the last of two values" test "$(status_of train --text line.txt --dtype float64 --dtype float32 --steps 10 --out line)" = 0
mkdir sealed && chmod a-w sealed
[ -w sealed ] || refused 1 "run: sealed/run" --text world --out sealed/run
exit "$failures"
