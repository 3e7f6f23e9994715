#!/usr/bin/env bash
# Uses the library as a consumer would: run.sh WAY SOURCE_DIR BUILD_DIR WORK_DIR COMPILER. Each way builds and runs one of the programs here.
# SPDX-License-Identifier: MIT
set -euo pipefail
way=$1 source=$2 build=$3 work=$4 compiler=$5
here=$source/tests/consumers
rm -rf "$work"
mkdir -p "$work"
cd "$work"

install() { cmake --install "$build" --prefix "$work/prefix" >/dev/null; }
project() {  # configures and builds the consumer project of that name with the definitions given
  cmake -S "$here/$way" -B build -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug "$@"
  cmake --build build
  # Nothing of ours may reach a consumer: no warning flags, no -march, no other targets of ours.
  if grep -rnE -e '-W(all|extra|pedantic|error|shadow|conversion)|-march|-O[123]' --include=flags.make --include=build.ninja build; then
    echo "flags reached the consumer"
    exit 1
  fi
  ./build/main
}

case $way in
  find_package)
    install
    project -DCMAKE_PREFIX_PATH="$work/prefix" ;;
  add_subdirectory | fetch_content)
    project -DMINITORCH_SOURCE_DIR="$source" ;;
  pkg_config)
    install
    export PKG_CONFIG_PATH=$work/prefix/share/pkgconfig
    "$compiler" -std=c++20 -Wall -Wextra -Werror "$here/hello.cpp" -o consumer $(pkg-config --cflags --libs minitorch)
    ./consumer ;;
  one_line)  # no flag at all but the language and where the headers are
    "$compiler" -std=c++20 -I"$source/include" "$here/regression.cpp" -o consumer
    ./consumer ;;
  this_processor)
    "$compiler" -std=c++20 -O2 -march=native -Wall -Wextra -Werror -I"$source/include" "$here/eigen.cpp" -o consumer
    ./consumer ;;
esac
