#!/bin/sh
# What becomes of an example whose output cannot be written, or is no terminal: output.sh PROGRAM.
# SPDX-License-Identifier: MIT
set -u
status() { "$@"; echo $?; }
escape=$(printf '\033')

[ "$(status sh -c '"$1" >&- 2>/dev/null' sh "$1")" -eq 1 ] || { echo "closed standard output: not an error"; exit 1; }
if [ -c /dev/full ]; then
  [ "$(status sh -c '"$1" >/dev/full 2>/dev/null' sh "$1")" -eq 1 ] || { echo "full standard output: not an error"; exit 1; }
fi
"$1" | grep -q "$escape" && { echo "escape sequences in a pipe"; exit 1; }
cd / && "$1" > /dev/null
