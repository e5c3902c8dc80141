#!/usr/bin/env bash
# Compile the kernels for the Python of an environment, beside the sources that import them; only what has changed.
# VENV is the environment's folder (.venv); further arguments go to CMake.
set -euo pipefail
cd "$(dirname "$0")/.."
VENV=${VENV:-.venv}
python=$PWD/$VENV/bin/python
read -r tag header <<<"$("$python" -c 'import sys, sysconfig; print(sys.implementation.cache_tag, sysconfig.get_path("include") + "/Python.h")')"

needed=()
command -v "${CXX:-c++}" >/dev/null || needed+=(g++)
[ -e "$header" ] || needed+=("python${tag#cpython-3}-dev")
needed=("${needed[@]/#python/python3.}")
if [ "${#needed[@]}" -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
    else
        echo "The kernels are compiled from C++20: install ${needed[*]}." >&2
        exit 1
    fi
fi

build=${BUILD:-build/$tag}
"$VENV/bin/cmake" -S . -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$PWD/$VENV/bin/ninja" -DPython_EXECUTABLE="$python" \
    -DDISCRIMINANT_IN_TREE=ON "$@" >/dev/null
"$VENV/bin/cmake" --build "$build"
