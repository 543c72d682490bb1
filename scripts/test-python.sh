#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the wheel into FOLDER/dist and tests it as users have it: test-python.sh FOLDER
# In an empty environment of each Python that can be had: the machine's own, 3.10 and the newest, which uv (from PyPI)
# fetches where there is none. The last line counts.
set -eu
cd "$(dirname "$0")/.."
built=0
scripts/make-wheel.sh "$1" || built=$?
if [ "$built" = 77 ]; then
    echo "0 passed, 0 failed, 1 skipped: the wheel's parts cannot be fetched"
    exit 0
elif [ "$built" != 0 ]; then
    exit 1
fi
folder=$(cd "$1" && pwd)
wheel=$(ls "$folder"/dist/*.whl)
passed=0 failed=0 skipped=0

skip() {
    echo "skipped $1: $2"
    skipped=$((skipped + 1))
}

find_python() { # version -> the program, or nothing
    for candidate in "python$1" "$HOME"/.pyenv/versions/"$1"[.0-9]*/bin/python3; do
        "$candidate" -c "import venv, ensurepip" 2>/dev/null && echo "$candidate" && return
    done
    [ -x "$folder/tools/bin/uv" ] || "$folder/tools/bin/pip" install -q --disable-pip-version-check uv >/dev/null 2>&1 || return 0
    "$folder/tools/bin/uv" python install "$1" >"$folder/uv.log" 2>&1 && "$folder/tools/bin/uv" python find --managed-python "$1" || return 0
}

both_orders() { # python: HDF5 of two builds in one process
    for order in "h5py, quickbeam_ct" "quickbeam_ct, h5py"; do
        "$1" -c "import $order
import numpy, tempfile, quickbeam_ct as qb
with tempfile.TemporaryDirectory() as d:
    with h5py.File(d + '/a.h5', 'w') as f: f.create_dataset('entry/data', data=numpy.ones((2, 8, 8), 'f4'), chunks=(1, 8, 8), compression='gzip')
    qb.write(d + '/b.h5', qb.read(d + '/a.h5', dataset='entry/data') + 1)
    seen = []
    with h5py.File(d + '/b.h5') as f: f.visititems(lambda name, item: seen.append(item[()]) if getattr(item, 'shape', 0) == (2, 8, 8) else None)
    assert (seen[0] == 2).all()"
    done
}

quick_import() { # python: under 0.1 s of the processor, and no device library is open then
    "$1" - <<'END'
import subprocess, sys, time
code = ("import time; t = time.process_time(); import quickbeam_ct; t = time.process_time() - t; m = open('/proc/self/maps').read();"
        "assert 'libcuda' not in m and 'OpenCL' not in m; print(t)")
best = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(5))
assert best < 0.1, f"importing takes {best:.3f} s"
END
}

several() { # environment: two processes make the bits of one, with the machine's MPI and with MPICH from PyPI
    work=$folder/ranks
    rm -rf "$work"
    mkdir "$work"
    "$1/bin/qb" simulate shepp-logan -q --size 32 --views 24 -o "$work/s.h5" && "$1/bin/qb" fbp "$work/s.h5" -q -o "$work/1.npy" || return 1
    "$1/bin/pip" install -q --disable-pip-version-check --only-binary=:all: mpich >"$folder/pip.log" 2>&1 || skip "MPICH" "$(tail -1 "$folder/pip.log")"
    for launcher in "$(command -v mpirun || true)" "$1/bin/mpiexec"; do
        [ -x "$launcher" ] || { skip "ranks" "there is no mpirun"; continue; }
        "$launcher" --version | grep -q "Open MPI" && more="--oversubscribe --bind-to none" || more=
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$launcher" $more -n 2 "$1/bin/qb" fbp "$work/s.h5" -q -o "$work/2.npy" --json >"$work/report.json" &&
            grep -q '"ranks":.*2' "$work/report.json" && cmp "$work/1.npy" "$work/2.npy" || return 1
        rm "$work/2.npy"
    done
    "$1/bin/qb" --version | grep "MPI that is found"
}

one() { # version
    python=$(find_python "$1")
    [ -n "$python" ] || { skip "Python $1" "there is none, and uv can fetch none: $(grep . "$folder/uv.log" 2>/dev/null | tail -1)"; return; }
    name=$("$python" -c "import sys, sysconfig; print('%d.%d.%d' % sys.version_info[:3] + 't' * bool(sysconfig.get_config_var('Py_GIL_DISABLED')))")
    venv=$folder/venv-$1
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: "$wheel" pytest >"$folder/pip.log" 2>&1 ||
        { skip "Python $name" "$(tail -1 "$folder/pip.log")"; return; }
    "$venv/bin/pip" install -q --disable-pip-version-check --only-binary=:all: h5py tifffile scipy >"$folder/pip.log" 2>&1 || skip "h5py of Python $name" "$(tail -1 "$folder/pip.log")"
    qb=$("$venv/bin/python" -c "import pathlib, quickbeam_ct as q; print(pathlib.Path(q.__file__).parent / 'bin/qb')")
    echo "== Python $name"
    if "$venv/bin/qb" --version | grep -q "FFT: quickbeam's own" && quick_import "$venv/bin/python" &&
        { ! "$venv/bin/python" -c "import h5py" 2>/dev/null || both_orders "$venv/bin/python"; } &&
        (cd tests/python && QB=$qb "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider --disable-warnings .) &&
        { [ "$1" != 3 ] || several "$venv"; }; then
        passed=$((passed + 1))
    else
        echo "FAILED with Python $name"
        failed=$((failed + 1))
    fi
}

unset PYTHONPATH QUICKBEAM_LIBRARY
export QB_TUNING= PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
if "$folder/tools/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q "consistent with the following platform tag: \"manylinux" &&
    [ "$(stat -c %s "$wheel")" -lt 15000000 ]; then
    passed=$((passed + 1))
else
    echo "FAILED: $wheel is larger than 15 MB or needs more than manylinux allows"
    failed=$((failed + 1))
fi
for version in ${PYTHONS:-3 3.10 3.13 3.13t 3.14 3.14t}; do
    one "$version"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
