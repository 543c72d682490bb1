# SPDX-License-Identifier: MIT
"""The steps of gpu-check.sh over a finished build. What only has to be right runs side by side on all
CPU cores; what is timed runs alone. Exit code 1 when anything failed; what was not run is listed with
its reason."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANITIZER = ["compute-sanitizer", "--error-exitcode", "9", "--report-api-errors", "no", "--tool"]
P1 = ["--size", "2048,2048,512", "--views", "2048"]
P2 = ["--size", "1024,1024,256", "--views", "1024"]
UNITS = ("device", "device_filter", "device_largest", "device_pack")
# What qb bench is asked for; the name under which the JSON has it.
BENCHES = {
    "p1": ["backproject", *P1, "--accuracy", "normal"],
    "p1-high": ["backproject", *P1, "--accuracy", "high"],
    "p2": ["backproject", *P2, "--accuracy", "normal"],
    "p2-high": ["backproject", *P2, "--accuracy", "high"],
    "one-slice": ["backproject", "--size", "2048,2048,1", "--views", "2048"],
    "filter-p1": ["filter", "--size", "2048,1,512", "--views", "2048"],
    "whole-p1": ["resident", *P1, "--accuracy", "normal"],
    "whole-p1-high": ["resident", *P1, "--accuracy", "high"],
    "whole-p2": ["resident", *P2, "--accuracy", "normal"],
    "ifdk-ladder": ["ifdk", "--ladder", "--problem", "512-512", "--accuracy", "normal", "--repeat", "1"],
}
RABBIT = ["--views", "96", "--size", "128"]
FILE_TO_FILE = ["fbp", "--size", "2048,2048,2048", "--views", "2048", "--accuracy", "normal"]
FILE_TO_FILE_BYTES = 60 << 30  # 17 GB in, 34 GB out, and room


class Check:
    def __init__(self, options):
        self.build = pathlib.Path(options.build).resolve()
        self.options = options
        self.begin = time.time()
        self.steps = []
        self.waiting = []
        self.gpu = first_line(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], "no GPU")
        self.driver = first_line(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], "")
        self.version = first_line([self.program("qb"), "--version"], "")
        name = "".join(c if c.isalnum() else "-" for c in self.gpu)
        self.out = pathlib.Path(options.out or ROOT / f"bench/results/{name}.json")
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="gpu-check-"))
        os.environ.setdefault("QB_CACHE_DIR", str(self.work / "cache"))
        os.environ["QB_TUNING"] = ""

    def program(self, name):
        return str(self.build / name)

    def run(self, name, argv, kind="text", env=None, limit=None):
        """One step, alone; kind is what its output is: text (its last line is kept), json or lines."""
        begin = time.time()
        limit = limit or self.options.limit
        try:
            done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=limit,
                                  env={**os.environ, **(env or {})}, cwd=ROOT)
            code, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            code, out = 124, (late.stdout or b"").decode(errors="replace")
            err = f"stopped after {limit} seconds"
        except OSError as missing:
            code, out, err = 127, "", str(missing)
        step = {"step": name, "result": {0: "passed", 77: "skipped"}.get(code, "failed"),
                "seconds": round(time.time() - begin, 1)}
        try:
            if kind == "json":
                step["output"] = json.loads(out)
            if kind == "lines":
                step["output"] = [json.loads(line) for line in out.splitlines()]
        except ValueError as wrong:
            step["result"], err = "failed", err if code else f"its output is no JSON: {wrong}"
        said = [line for line in (err if "output" in step else out + "\n" + err).splitlines() if line.strip()]
        if "output" not in step or code:
            step["says"] = said[-1] if said else ""
        return step, said

    def keep(self, done):
        step, said = done
        self.steps.append(step)
        if step["result"] == "failed":
            print("\n".join(said if len(said) < 50 else [*said[:25], "...", *said[-15:]]))
        print(f"{step['step']:44} {step['result']:8} {step.get('seconds', 0):6.1f} s  "
              f"{step.get('says', '')[:90]}", flush=True)
        self.write()  # what was found so far is there, whatever comes

    def write(self):
        head = {"machine": self.gpu, "driver": self.driver, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "version": self.version, "wall_seconds": round(time.time() - self.begin, 1), "options": {k: v for k, v in vars(self.options).items() if k != "out"}}
        with open(self.out, "w") as file:
            file.write(json.dumps(head)[:-1] + ',\n"steps": [\n')
            file.write(",\n".join(json.dumps(step) for step in self.steps) + "\n]}\n")

    def alone(self, *args, **named):
        self.keep(self.run(*args, **named))

    def beside(self, *args, **named):
        self.waiting.append((args, named))

    def gather(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for future in concurrent.futures.as_completed(
                    [pool.submit(self.run, *args, **named) for args, named in self.waiting]):
                self.keep(future.result())
        self.waiting = []

    def not_run(self, name, why):
        self.keep(({"step": name, "result": "not run", "says": why}, []))


def kernels(check, api):
    """The kernel variants that run on the first device of an interface."""
    names = subprocess.run([check.program("tests/kernelcheck/kernelcheck"), "--list", "--filter", api],
                           capture_output=True, text=True).stdout
    return [name for name in names.splitlines() if name and not name.endswith("(not here)")]


def correctness(check):
    kernelcheck = check.program("tests/kernelcheck/kernelcheck")
    trials = str(check.options.trials)
    cuda, opencl = kernels(check, "@cuda:0"), kernels(check, "@opencl:0")
    if not opencl:
        check.not_run("kernelcheck @opencl:0", "no OpenCL device")
    # The longest first: the tensor kernels', then all others in the table's order.
    for name in sorted(cuda + opencl, key=lambda name: "tensor" not in name):
        # Few parameter sets: each is tried about once.
        many = str(3 * check.options.trials) if "texture" in name and name in cuda else trials
        check.beside(f"kernelcheck {name}", [kernelcheck, "--trials", many, "--threads", "2", "--filter", name])
    for name in cuda:  # the code for older chips, as far as a younger one can run it
        if "tensor" in name or "alu" in name:
            check.beside(f"kernelcheck {name} as 8.0", [kernelcheck, "--trials", trials, "--threads", "2", "--filter", name],
                         env={"QB_CUDA_ARCH": "80"})
    check.beside("nvrtc", [check.program("tests/device/nvrtccheck")])
    check.beside("variants-sm-90", [check.program("tests/device/variantcheck"), "90"])
    check.beside("variants-sm-75", [check.program("tests/device/variantcheck"), "75"], env={"QB_QUICK": "1"})
    for name in ("missing", "faults", "cache"):
        check.beside(name, [check.program(f"tests/device/device_{name}")])
    for name in UNITS:
        check.beside(name, [check.program(f"tests/unit/unit_{name}")])
    sanitize(check, cuda)
    check.gather()
    check.alone("device-tensors", [check.program("tests/device/device_tensors_cuda")])
    check.alone("device-lost", [check.program("tests/device/device_lost")])


def sanitize(check, cuda):
    """Under the sanitizer kernels are a hundred times slower and a process takes seconds to begin: few
    trials, and the variants of a source together."""
    if not shutil.which("compute-sanitizer"):
        check.not_run("compute-sanitizer", "it is not there: NVIDIA's cuda-sanitizer package brings it")
        return
    sources = sorted({re.match(r"\w+\.[a-z]+", name).group() for name in cuda}, reverse=True)
    for tool, trials in (("memcheck", "3"), ("racecheck", "1"), ("synccheck", "1"), ("initcheck", "1")):
        env = {"QB_LIBOPENCL": "none"}
        under = [*SANITIZER, tool]
        for name in UNITS:
            quick = {"QB_QUICK": "1"} if tool == "initcheck" else {}  # the largest would take minutes
            check.beside(f"{tool} {name}", [*under, check.program(f"tests/unit/unit_{name}")], env={**env, **quick})
        for name in sources:
            # A barrier for each stage of each group; a million would be more than the tool can hold.
            barriers = ["--num-cuda-barriers", "65536"] if (tool, "tensor" in name) == ("synccheck", True) else []
            check.beside(f"{tool} {name}", [*under, *barriers, check.program("tests/kernelcheck/kernelcheck"), "--quick",
                                            "--trials", trials, "--threads", "1", "--filter", name], env=env)


def agreement(check):
    """Whole reconstructions of simulated scans on every kind of device against the CPU's."""
    qb = check.program("qb")
    for scan, size, views in (("usual", "512,512,64", "720"), ("tall", "64,64,600", "90")):
        file, cpu = str(check.work / f"{scan}.h5"), str(check.work / f"{scan}-cpu.h5")
        check.alone(f"simulate {scan}", [qb, "simulate", "shepp-logan", "-o", file, "--size", size, "--views", views,
                                         "--photons", "1e5", "--quiet"])
        check.alone(f"fbp {scan} cpu", [qb, "fbp", file, "-o", cpu, "--accuracy", "high", "--quiet"])
        for device in ("cuda", "cuda:all", "opencl"):
            if not kernels(check, f"@{device.split(':')[0]}:0"):
                check.not_run(f"fbp {scan} {device}", f"qb devices lists none for {device}")
                continue
            for accuracy, bound in (("high", "5e-5"), ("normal", "1e-3")):
                out = str(check.work / f"{device.replace(':', '-')}-{accuracy}.h5")
                check.alone(f"fbp {scan} {device} {accuracy}", [qb, "fbp", file, "-o", out, "--device", device,
                                                                "--accuracy", accuracy, "--quiet"])
                check.alone(f"compare {scan} {device} {accuracy}", [qb, "compare", out, cpu, "--max-rel-l2", bound])
    for path in check.work.glob("*.h5"):
        path.unlink()


def speed(check):
    def bench(name, words, **named):
        check.alone(f"bench-{name}", [check.program("qb"), "bench", *words, "--device", "cuda", "--json", "--quiet"],
                    kind="json", **named)
    for name, words in BENCHES.items():
        bench(name, words)
    rabbit = check.work / "rabbit.rct"
    check.alone("simulate rabbitct", [check.program("qb"), "simulate", "rabbitct", "-o", str(rabbit), *RABBIT, "--quiet"])
    bench("rabbitct", ["rabbitct", str(rabbit), "--size", "512"])
    bench("rabbitct-ladder", ["rabbitct", str(rabbit), "--size", "256", "--ladder", "--repeat", "1"])
    rabbit.unlink(missing_ok=True)
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > FILE_TO_FILE_BYTES:
        bench("file-to-file", FILE_TO_FILE, env={"TMPDIR": "/dev/shm"})
    else:
        check.not_run("bench-file-to-file", "/dev/shm has less than 60 GiB")
    kernelcheck = [check.program("tests/kernelcheck/kernelcheck"), "--bench", "--json", "--filter"]
    check.alone("kernels", [*kernelcheck, "@cuda:0", "--quick"], kind="json")
    if kernels(check, "@opencl:0"):
        check.alone("kernels-opencl", [*kernelcheck, "@opencl:0", "--quick"], kind="json")
    check.alone("packing", [check.program("tests/variants/bench_pack"), "cuda", "1024", "1024", "64"], kind="lines")
    profiler = [sys.executable, str(ROOT / "scripts/profile-kernels.py"), "--build", str(check.build)]
    check.alone("profile", profiler, kind="json")


def first_line(argv, otherwise):
    try:
        done = subprocess.run(argv, capture_output=True, text=True)
    except OSError:
        return otherwise
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else otherwise


def main():
    parser = argparse.ArgumentParser(prog="gpu-check.sh", description=__doc__)
    parser.add_argument("--build", default="build", help="what is built there already is taken; nothing is built")
    parser.add_argument("--out", help="the JSON file (bench/results/GPU.json)")
    parser.add_argument("--only", choices=("correctness", "agreement", "speed"), help="one part of the steps")
    parser.add_argument("--trials", type=int, default=40, help="random problems for each kernel variant (40)")
    parser.add_argument("--limit", type=int, default=240, help="seconds that one step may take (240)")
    options = parser.parse_args()
    check = Check(options)
    if not os.access(check.program("qb"), os.X_OK):
        sys.exit(f"there is no {check.program('qb')}")
    try:
        check.alone("devices", [check.program("qb"), "devices", "--json", "--quiet"], kind="json")
        for part in (correctness, agreement, speed):
            if options.only in (None, part.__name__):
                part(check)
        print(f"everything in {check.out}")
    finally:
        shutil.rmtree(check.work, ignore_errors=True)
    failed = [step["step"] for step in check.steps if step["result"] == "failed"]
    print(f"{len(check.steps)} steps, failed: {', '.join(failed) if failed else 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
