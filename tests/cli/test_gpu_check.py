# SPDX-License-Identifier: MIT
"""scripts/gpu-check.py on a build that is only played: what its budget leaves out is named, and no fault."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from qbtest import ROOT

LISTED = "bp_cone_circular.half-local@cuda:0\nicd_supervoxel.local@cuda:0\nbp_parallel_linear.tensor@cuda:0\nbp_parallel_linear.direct@cuda:0 (not here)"
RESULTS = {"results": [{"giga_updates_per_second": 1073.741824, "share_of_ceiling": 0.93}]}
KERNELCHECK = f"""case "$*" in
*--list*cuda*) printf '{LISTED}\\n' ;;
*--list*) ;;
*--json*) echo '{json.dumps(RESULTS)}' ;;
*tensor*) echo wrong; exit 1 ;;
*) echo "$*" ;;
esac"""


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def build(folder, **more):
    """Programs that do as they are told; each notes that it was called."""
    rest = {f"tests/unit/unit_{name}": "true" for name in ("device", "device_convert", "device_filter", "device_largest", "device_near", "device_pack", "device_phase")}
    rest |= {f"tests/device/{name}": "true" for name in ("nvrtccheck", "variantcheck", "device_missing", "device_faults", "device_cache",
                                                        "device_tensors_cuda", "device_lost")}
    for name, text in {"qb": "echo '{}'", "tests/kernelcheck/kernelcheck": KERNELCHECK, **rest, **more}.items():
        put(folder / name, text)
    return folder


def check(folder, *options, code=0):
    out = folder / "out.json"
    env = {**os.environ, "PATH": f"{folder}/bin:/usr/bin:/bin"}
    done = subprocess.run([sys.executable, ROOT / "scripts" / "gpu-check.py", "--build", folder, "--out", out, *map(str, options)],
                          capture_output=True, text=True, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, {step["step"]: step for step in json.loads(out.read_text())["steps"]}


def test_every_kernel_is_checked_predicted_and_profiled(tmp_path):
    put(tmp_path / "bin" / "compute-sanitizer", 'echo "$*"')
    put(tmp_path / "bin" / "ncu", "exit 0")
    said, steps = check(build(tmp_path), code=1)  # the tensor kernel fails, and the profiler, which says nothing
    tensor = "kernelcheck bp_parallel_linear.tensor@cuda:0"
    no_numbers = {"bench-ifdk", "bench-ifdk-ladder"}  # tables of what a real qb measures
    assert {name for name, step in steps.items() if step["result"] == "failed"} == {tensor, f"{tensor} as 8.0", "profile", *no_numbers}
    for name in ("bp_cone_circular.half-local", "icd_supervoxel.local"):
        assert steps[f"kernelcheck {name}@cuda:0"]["result"] == "passed"
        for tool in ("memcheck", "racecheck", "synccheck", "initcheck"):
            assert steps[f"{tool} {name}"]["result"] == "passed"
    assert steps["kernelcheck @opencl:0"]["result"] == "not run"
    assert "circular.half-local 1000 GUPS, 0.93" in said
    assert {row["id"] for row in steps["profile"]["output"]["variants"]} == {line.split("@")[0] for line in LISTED.splitlines()[:3]}


def test_opencl_is_the_gpus(tmp_path):
    """Also where PoCL is listed before it."""
    listed = [{"device": "cpu"}, {"device": "opencl:0", "features": ["host_processor"]}, {"device": "opencl:1", "features": ["textures"]}]
    there = KERNELCHECK.replace("*--list*) ;;", "*--list*opencl:1*) echo bp_cone_matrix.alu@opencl:1 ;;\n*--list*) ;;").replace("exit 1", "")
    _, steps = check(build(tmp_path, qb=f"echo '{json.dumps({'devices': listed})}'", **{"tests/kernelcheck/kernelcheck": there}), "--only", "correctness")
    assert steps["kernelcheck bp_cone_matrix.alu@opencl:1"]["result"] == "passed" and "kernelcheck @opencl:0" not in steps


def lives(pid):
    """What was killed is there until it is served a last time."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_budget(tmp_path):
    """What does not fit is not begun, what takes too long is stopped with all that it has started, and neither is a failure."""
    alive = tmp_path / "alive"
    build(tmp_path, **{"tests/kernelcheck/kernelcheck": KERNELCHECK.replace("exit 1", ""), "tests/device/nvrtccheck": f"(sleep 600; echo late >{alive}) & echo $! >{alive}; wait"})
    for budget in (3, 30, 300):  # a busy machine may not get as far as that in three
        said, steps = check(tmp_path, "--budget", budget, "--only", "correctness")
        if "stopped after" in steps["nvrtc"]["says"]:
            break
    assert steps["nvrtc"]["result"] == "not run" and "stopped after" in steps["nvrtc"]["says"]
    until = time.monotonic() + 500  # not those 600
    while lives(int(alive.read_text())):
        assert time.monotonic() < until
        time.sleep(0.01)
    said, steps = check(tmp_path, "--budget", 0)
    assert {step["result"] for step in steps.values()} == {"not run"} and len(steps) > 20
    assert all(step["says"] for step in steps.values()) and "0 of" in said
