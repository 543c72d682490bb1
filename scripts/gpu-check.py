# SPDX-License-Identifier: MIT
"""The steps of gpu-check.sh over a finished build, the worthiest first. What only has to be right runs side by side
on all CPU cores; what is timed runs alone. All of it is over within --budget seconds: each part has its share of them,
and what no longer fits is not begun, or is stopped, and listed as not run. Exit code 1 when anything failed; what was
not run is listed with its reason."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SANITIZER = ["compute-sanitizer", "--error-exitcode", "9", "--report-api-errors", "no", "--tool"]
P1 = ["--size", "2048,2048,512", "--views", "2048"]
P2 = ["--size", "1024,1024,256", "--views", "1024"]
UNITS = ("device", "device_convert", "device_filter", "device_largest", "device_near", "device_pack", "device_phase")
C1 = ["backproject", "--geometry", "cone", "--size", "512", "--views", "1024", "--repeat", "3"]
C2 = ["backproject", "--geometry", "cone", "--size", "1024", "--views", "1024", "--repeat", "3"]
# What qb bench is asked for; the name under which the JSON has it.
BENCHES = {
    **{f"c1-{accuracy}": [*C1, "--accuracy", accuracy] for accuracy in ("fast", "normal", "high")},
    **{f"c2-{accuracy}": [*C2, "--accuracy", accuracy] for accuracy in ("fast", "normal", "high")},
    "c3-high": [*C2, "--detector", "2048,2048", "--accuracy", "high"],
    "p1": ["backproject", *P1, "--accuracy", "normal"],
    "p1-high": ["backproject", *P1, "--accuracy", "high"],
    "p2": ["backproject", *P2, "--accuracy", "normal"],
    "p2-high": ["backproject", *P2, "--accuracy", "high"],
    "one-slice": ["backproject", "--size", "2048,2048,1", "--views", "2048"],
    "filter-p1": ["filter", "--size", "2048,1,512", "--views", "2048"],
    "whole-p1": ["resident", *P1, "--accuracy", "normal"],
    "whole-p1-high": ["resident", *P1, "--accuracy", "high", "--repeat", "1"],
    "whole-p2": ["resident", *P2, "--accuracy", "normal"],
    "project": ["project", "--size", "512", "--views", "512"],
    "project-one-slice": ["project", "--size", "1024,1024,1", "--views", "360"],
    "project-one-fan": ["project", "--size", "1024,1024,1", "--views", "360", "--geometry", "cone"],
}
# The benchmark's own number of views, and as many as the table of the paper needs.
RABBITS = {"rabbitct": ["--views", "496"], "rabbitct-ladder": ["--views", "96"]}
CIRCLE = ["--sod", "1000", "--sdd", "1500", "--pixel-size", "1.5"]
# From files to files in memory: seconds that it takes at most, and bytes of room.
FDK_WHOLE = ["fdk", "--size", "1024", "--views", "1024", "--repeat", "3", "--accuracy"]
FBP_WHOLE = ["fbp", "--size", "2048,2048,512", "--views", "2048", "--accuracy", "normal", "--repeat", "1"]
WHOLES = {**{f"fdk-file-to-file-{accuracy}": ([*FDK_WHOLE, accuracy], 12, 12 << 30) for accuracy in ("normal", "fast", "high")},
          "file-to-file": (FBP_WHOLE, 12, 16 << 30)}
# When each part has to be over, of the budget. What is left goes to the profiler.
SHARES = {"correctness": 0.40, "agreement": 0.49, "speed": 0.92, "profile": 1.0}
# How each class is allowed to differ from the CPU's class high, over a whole cone beam.
CLASSES = (("high", "5e-5"), ("normal", "1e-3"), ("fast", "6e-3"))


def finish(argv, env, limit):
    """What a command returns and prints; 124 where it takes longer, and then nothing that it began stays."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", env=env, cwd=ROOT,
                          start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=limit)
            return process.returncode, out, err
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return 124, *process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


class Check:
    def __init__(self, options):
        self.build = pathlib.Path(options.build).resolve()
        self.options = options
        self.begin = time.time()
        self.until = self.end = self.begin + options.budget
        self.steps = []
        self.waiting = []
        self.keeping = threading.Lock()
        self.parts = {}
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

    def part(self, name, run):
        """A part of the steps, until its share of the budget is over."""
        begin = time.time()
        self.until = self.end if self.options.only else min(self.end, self.begin + SHARES[name] * self.options.budget)
        run(self)
        self.parts[name] = round(time.time() - begin, 1)
        print(f"-- {name}: {self.parts[name]} s, {self.end - time.time():.0f} s of the budget left", flush=True)

    def run(self, name, argv, kind="text", env=None, takes=1):
        """One step, alone; kind is what its output is: text (its last line is kept), json or lines. It begins where so
        many seconds are left of its part."""
        begin = time.time()
        left = self.until - begin
        if left < takes:
            return {"step": name, "result": "not run", "says": "its part of the budget was over (--budget)"}, []
        grace = min(15, max(self.end - self.until, 0))  # for what has begun
        limit = min(self.options.limit, left + grace)
        late = ""
        try:
            code, out, err = finish(argv, {**os.environ, **(env or {})}, limit)
            if code == 124:
                late = err = f"stopped after {limit:.0f} seconds"
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
        if late and limit < self.options.limit:  # no fault of its own
            step["result"], step["says"] = "not run", f"{late}, when its part of the budget was over (--budget)"
        return step, said

    def keep(self, done):
        step, said = done
        with self.keeping:
            self.steps.append(step)
            if step["result"] == "failed":
                print("\n".join(said if len(said) < 50 else [*said[:25], "...", *said[-15:]]))
            print(f"{step['step']:44} {step['result']:8} {step.get('seconds', 0):6.1f} s  "
                  f"{step.get('says', '')[:90]}", flush=True)
            self.write()  # what was found so far is there, whatever comes

    def write(self):
        head = {"machine": self.gpu, "driver": self.driver, "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "version": self.version, "wall_seconds": round(time.time() - self.begin, 1), "part_seconds": self.parts, "options": {k: v for k, v in vars(self.options).items() if k != "out"}}
        with open(self.out, "w") as file:
            file.write(json.dumps(head)[:-1] + ',\n"steps": [\n')
            file.write(",\n".join(json.dumps(step) for step in self.steps) + "\n]}\n")

    def alone(self, *args, **named):
        self.keep(self.run(*args, **named))

    def beside(self, *args, **named):
        self.waiting.append((args, named))

    def together(self, *chains):
        """Steps that need each other in turn, several such chains side by side."""
        with concurrent.futures.ThreadPoolExecutor(len(chains)) as pool:
            for chain in [pool.submit(chain) for chain in chains]:
                chain.result()

    def gather(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for future in concurrent.futures.as_completed(
                    [pool.submit(self.run, *args, **named) for args, named in self.waiting]):
                self.keep(future.result())
        self.waiting = []

    def clear(self, *kept):
        """What steps have made; what a step that was stopped has left goes with the folder."""
        for path in self.work.glob("*.*"):
            if path.is_file() and path not in kept:
                path.unlink()

    def not_run(self, name, why):
        self.keep(({"step": name, "result": "not run", "says": why}, []))


def kernels(check, api):
    """The kernel variants that run on the first device of an interface."""
    names = subprocess.run([check.program("tests/kernelcheck/kernelcheck"), "--list", "--filter", api],
                           capture_output=True, text=True).stdout
    return [name for name in names.splitlines() if name and not name.endswith("(not here)")]


def opencl_of(check):
    """The GPU where OpenCL lists one, as --device opencl takes it, whether or not it lists the CPU (PoCL) before."""
    found = [device for device in check.steps[0].get("output", {}).get("devices", []) if device["device"].startswith("opencl")]
    return next((device["device"] for device in found if "host_processor" not in device.get("features", [])), "opencl:0")


def correctness(check):
    kernelcheck = check.program("tests/kernelcheck/kernelcheck")
    trials, third = str(check.options.trials), str(max(1, check.options.trials // 3))
    through = opencl_of(check)
    cuda, opencl = kernels(check, "@cuda:0"), kernels(check, f"@{through}")
    if not opencl:
        check.not_run(f"kernelcheck @{through}", "no OpenCL device")
    def try_all(names, trials, threads="2"):
        for name in names:
            # They have more parameter sets than the others, which compile sooner.
            many = str(3 * check.options.trials // 2) if "parallel" in name and "texture" in name and name in cuda else trials
            check.beside(f"kernelcheck {name}", [kernelcheck, "--trials", many, "--threads", threads, "--filter", name])
    # The longest first: what takes minutes to compile, the tensor kernels', then all others in the table's order.
    check.beside("nvrtc", [check.program("tests/device/nvrtccheck")])
    check.beside("variants-sm-90", [check.program("tests/device/variantcheck"), "90"])
    try_all(sorted(cuda, key=lambda name: "tensor" not in name), trials)
    for name in UNITS:
        check.beside(name, [check.program(f"tests/unit/unit_{name}")])
    for name in ("missing", "faults", "cache"):
        check.beside(name, [check.program(f"tests/device/device_{name}")])
    sanitize(check, cuda)
    # The same sources again: a third of the trials. PoCL 5.0 ends with an assertion of its own where threads compile at once.
    try_all(opencl, third, "1")
    for name in cuda:  # the code for older chips, as far as a younger one can run it
        if "tensor" in name or "alu" in name:
            check.beside(f"kernelcheck {name} as 8.0", [kernelcheck, "--trials", third, "--threads", "2", "--filter", name],
                         env={"QB_CUDA_ARCH": "80"})
    check.beside("variants-sm-75", [check.program("tests/device/variantcheck"), "75"], env={"QB_QUICK": "1"})
    # Descents take minutes there.
    check.waiting.sort(key=lambda step: not re.match("(race|init|sync|mem)check icd", step[0][0]))
    check.gather()
    check.alone("device-tensors", [check.program("tests/device/device_tensors_cuda")])
    check.alone("device-lost", [check.program("tests/device/device_lost")])


def sanitize(check, cuda):
    """Under the sanitizer kernels are a hundred times slower and a process takes seconds to begin: few
    trials, few turns of a descent, and the variants of a source together; those of local memory first, where mistakes
    are easiest made."""
    if not shutil.which("compute-sanitizer"):
        check.not_run("compute-sanitizer", "it is not there: NVIDIA's cuda-sanitizer package brings it")
        return
    sources = {}
    for name in cuda:
        sources.setdefault(re.match(r"\w+\.[a-z]+(-local)?", name).group(), []).append(name)
    first = sorted(sources, key=lambda name: not re.search("local|global|tiles|tensor", name))
    for tool, trials in (("memcheck", "3"), ("racecheck", "1"), ("synccheck", "1"), ("initcheck", "1")):
        env = {"QB_LIBOPENCL": "none"}
        under = [*SANITIZER, tool]
        for name in UNITS:
            quick = {} if tool == "memcheck" else {"QB_QUICK": "1"}  # the largest would take minutes
            check.beside(f"{tool} {name}", [*under, check.program(f"tests/unit/unit_{name}")], env={**env, **quick})
        for name in first:
            # A barrier for each stage of each group; a million would be more than the tool can hold.
            barriers = ["--num-cuda-barriers", "65536"] if tool == "synccheck" and "tensor" in name else []
            # What one lane's arrival says of its warp, racecheck does not know.
            arrivals = {"QB_KERNEL_MACROS": "EACH_ARRIVES=1"} if tool == "racecheck" and "-local" in name else {}
            check.beside(f"{tool} {name}", [*under, *barriers, check.program("tests/kernelcheck/kernelcheck"), "--quick", "--brief",
                                            "--trials", trials, "--threads", "1", "--filter", ",".join(sources[name])], env={**env, **arrivals})


def agreement(check):
    """Whole reconstructions of simulated scans on every kind of device against the CPU's; the scans side by side, and beside
    them what the speeds need and is not timed."""
    check.together(lambda: parallel(check, "usual", "512,512,64", "720"), lambda: parallel(check, "tall", "64,64,600", "90"),
                   lambda: cone(check), lambda: compile_ahead(check), lambda: [rabbit(check, name) for name in RABBITS])
    check.clear(*(rabbit_of(check, name) for name in RABBITS))


def compile_ahead(check):
    """Each kernel with the parameters that it is timed with, side by side: one after another compilers would take half of the
    time of those steps."""
    through = opencl_of(check)
    names, begin = [*kernels(check, "@cuda:0"), *kernels(check, f"@{through}")], time.time()
    kernelcheck = [check.program("tests/kernelcheck/kernelcheck"), "--bench", "--quick", "--json", "--filter"]
    left = check.until - begin
    if left < 5:
        return check.not_run("compile ahead", "its part of the budget was over (--budget)")
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() // 2)) as pool:
        done = list(pool.map(lambda name: finish([*kernelcheck, name], None, left), names))
    wrong = [error for code, _, error in done if code not in (0, 124)]
    check.keep(({"step": "compile ahead", "result": "failed" if wrong else "passed", "seconds": round(time.time() - begin, 1),
                 "says": f"{sum(code == 0 for code, _, _ in done)} of {len(names)} kernels"}, wrong))


def rabbit_of(check, name):
    return check.work / f"{name}.rct"


def rabbit(check, name):
    if not rabbit_of(check, name).exists():
        check.alone(f"simulate {name}", [check.program("qb"), "simulate", "rabbitct", "-o", str(rabbit_of(check, name)), *RABBITS[name],
                                         "--size", "128", "--quiet"], takes=5)


def parallel(check, scan, size, views):
    qb = check.program("qb")
    file, cpu = str(check.work / f"{scan}.h5"), str(check.work / f"{scan}-cpu.h5")
    check.alone(f"simulate {scan}", [qb, "simulate", "shepp-logan", "-o", file, "--size", size, "--views", views,
                                     "--photons", "1e5", "--quiet"])
    check.alone(f"fbp {scan} cpu", [qb, "fbp", file, "-o", cpu, "--accuracy", "high", "--quiet"])
    for device in ("cuda", "cuda:all", "opencl"):
        if not kernels(check, f"@{device.split(':')[0]}:0"):
            check.not_run(f"fbp {scan} {device}", f"qb devices lists none for {device}")
            continue
        for accuracy, bound in (("high", "5e-5"), ("normal", "1e-3")):
            out = str(check.work / f"{scan}-{device.replace(':', '-')}-{accuracy}.h5")
            check.alone(f"fbp {scan} {device} {accuracy}", [qb, "fbp", file, "-o", out, "--device", device,
                                                            "--accuracy", accuracy, "--quiet"])
            check.alone(f"compare {scan} {device} {accuracy}", [qb, "compare", out, cpu, "--max-rel-l2", bound])


def sums(check, job, cpu, device):
    """Of two processes that share the views, on one device: what each adds of the other's is summed there."""
    if not shutil.which("mpirun"):
        return check.not_run(f"sums {device}", "mpirun is not there")
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    pair, out = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"], str(check.work / f"sums-{device}.npy")
    job = [check.program("qb"), *job, "--device", device, "--accuracy", "high", "--grid", "1x2", "--quiet", "-o"]
    check.alone(f"sums {device}", [*pair, *job, out], env=env, takes=5)
    if os.path.exists(out):
        check.alone(f"compare sums {device}", [check.program("qb"), "compare", out, cpu, "--max-rel-l2", "5e-5"])
    if device == "cuda" and shutil.which("compute-sanitizer"):
        check.alone("memcheck sums", [*pair, *SANITIZER, "memcheck", *job, out], env=env, takes=15)


MADE = {"turned": ["--tilt", "5,1,3"], "bent": ["--detector-radius", "500"]}  # detectors whose rows a device reads anew


def made_rows(check, scan, circle, devices):
    qb = check.program("qb")
    for name, how in MADE.items():
        cpu = str(check.work / f"cone-{name}-cpu.npy")
        check.alone(f"fdk {name} cpu", [qb, "fdk", scan, *circle, *how, "-o", cpu, "--device", "cpu", "--accuracy", "high", "--quiet"])
        for device in devices:
            out = str(check.work / f"cone-{name}-{device}.npy")
            check.alone(f"fdk {name} {device}", [qb, "fdk", scan, *circle, *how, "-o", out, "--device", device, "--accuracy", "high", "--quiet"])
            check.alone(f"compare fdk {name} {device}", [qb, "compare", out, cpu, "--max-rel-l2", "5e-5"])


def cone(check):
    """The same of a cone beam, and of projections."""
    qb = check.program("qb")
    scan, cpu = str(check.work / "cone.h5"), str(check.work / "cone-cpu.npy")
    circle = ["--sod", "400", "--sdd", "600", "--pixel-size", "0.75"]
    check.alone("simulate cone", [qb, "simulate", "spheres", "-o", scan, "--geometry", "cone", *circle, "--views", "360", "--detector", "256,256", "--quiet"])
    check.alone("fdk cpu", [qb, "fdk", scan, *circle, "-o", cpu, "--device", "cpu", "--accuracy", "high", "--quiet"])
    back = str(check.work / "back-cpu.npy")
    again = ["--sod", "400", "--sdd", "600", "--pixel-size", "1.5", "--views", "90", "--detector", "128,128", "--quiet"]
    check.alone("project cpu", [qb, "project", cpu, *again, "-o", back, "--device", "cpu"])
    there = [device for device in ("cuda", "opencl") if kernels(check, f"@{device}:0")]
    made_rows(check, scan, circle, there)
    for device in ("cuda", "opencl"):
        if device not in there:
            check.not_run(f"fdk {device}", f"qb devices lists none for {device}")
            continue
        for accuracy, bound in CLASSES:
            out = str(check.work / f"cone-{device}-{accuracy}.npy")
            check.alone(f"fdk {device} {accuracy}", [qb, "fdk", scan, *circle, "-o", out, "--device", device, "--accuracy", accuracy, "--quiet"])
            check.alone(f"compare fdk {device} {accuracy}", [qb, "compare", out, cpu, "--max-rel-l2", bound])
        sums(check, ["fdk", scan, *circle], cpu, device)
        out = str(check.work / f"back-{device}.npy")
        check.alone(f"project {device}", [qb, "project", cpu, *again, "-o", out, "--device", device])
        check.alone(f"compare project {device}", [qb, "compare", out, back, "--max-rel-l2", "5e-5"])


def predictions(check):
    """What the planner thinks each kernel of cone beams takes with the parameters that it ships, beside what it takes."""
    found = []
    for name in kernels(check, "@cuda:0"):
        if not name.startswith("bp_cone") or re.search("naive|rtk|bp-tex|tex-tran|bp-l1|l1-tran", name):
            continue
        step, said = check.run(f"prediction {name}", [check.program("tests/kernelcheck/kernelcheck"), "--bench", "--json", "--size", "512",
                                                      "--quick", "--filter", name], kind="json", takes=6)
        check.keep((step, said))
        for row in step.get("output", {}).get("results", []):
            found.append(f"{name.split('@')[0].removeprefix('bp_cone_')} {row['giga_updates_per_second'] / 1.073741824:.0f} GUPS, {row['share_of_ceiling']:.2f}")
    if found:
        print("-- predicted over measured seconds, 512^2 x 512 -> 512^3: " + "; ".join(found), flush=True)


def speed(check):
    def bench(name, words, **named):
        check.alone(f"bench-{name}", [check.program("qb"), "bench", *words, "--device", "cuda", "--json", "--quiet"],
                    kind="json", **named)

    def bench_whole(name):
        words, takes, room = WHOLES[name]
        if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > room:
            bench(name, words, env={"TMPDIR": "/dev/shm"}, takes=takes)
        else:
            check.not_run(f"bench-{name}", f"/dev/shm has less than {room >> 30} GiB")
    if not kernels(check, "@cuda:0"):
        return check.not_run("benchmarks", "no CUDA device")
    predictions(check)
    for name, words in BENCHES.items():
        bench(name, words, takes=3)
    for name in WHOLES:
        bench_whole(name)
    for name in RABBITS:
        rabbit(check, name)
        file = str(rabbit_of(check, name))
        if not os.path.exists(file):
            check.not_run(f"bench-{name}", "its scan was not simulated")
        elif name == "rabbitct":
            bench(name, ["rabbitct", file, "--size", "512"])
        else:
            check.alone(f"bench-{name}", [check.program("tests/variants/rabbitct_ladder"), file, "cuda", "256", "1"], kind="json")
        rabbit_of(check, name).unlink(missing_ok=True)
    cgls(check)
    kernelcheck = [check.program("tests/kernelcheck/kernelcheck"), "--bench", "--json", "--filter"]
    check.alone("kernels", [*kernelcheck, "@cuda:0", "--quick"], kind="json", takes=5)
    table = [sys.executable, str(ROOT / "scripts/ifdk-table.py"), check.program("qb"), "cuda", "--repeat", "1"]
    check.alone("bench-ifdk-ladder", [*table, "--problem", "512-512", "--kernels"], kind="json", takes=8)
    check.alone("bench-ifdk", table, kind="json", takes=25)
    if kernels(check, f"@{opencl_of(check)}"):
        check.alone("kernels-opencl", [*kernelcheck, f"@{opencl_of(check)}", "--quick"], kind="json", takes=15)
    if os.access(check.program("tests/variants/bench_pack"), os.X_OK):
        check.alone("packing", [check.program("tests/variants/bench_pack"), "cuda", "1024", "1024", "64"], kind="lines")


def cgls(check):
    """20 iterations, 512^3 from 360 views of 512^2."""
    qb, scan = check.program("qb"), str(check.work / "cone.h5")
    check.alone("simulate 512", [qb, "simulate", "spheres", "-o", scan, "--geometry", "cone", *CIRCLE, "--views", "360",
                                 "--detector", "512,512", "--quiet"], takes=5)
    check.alone("cgls", [qb, "cgls", scan, *CIRCLE, "--size", "512,512,512", "--voxel", "1", "--iterations", "20", "--device", "cuda",
                         "-o", str(check.work / "cone.npy"), "--json", "--quiet"], kind="json", takes=5)
    check.clear()


def profile(check):
    """The profiler says which variants it had no time for."""
    if not shutil.which("ncu"):
        return check.not_run("profile", "ncu is not there: NVIDIA's nsight-compute package brings it")
    seconds = check.until - time.time() - 10
    check.alone("profile", [sys.executable, str(ROOT / "scripts/profile-kernels.py"), "--build", str(check.build), "--seconds", f"{seconds:.0f}"],
                kind="json", takes=20)


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
    parser.add_argument("--only", action="append", choices=tuple(SHARES), help="one part of the steps; several times: those")
    parser.add_argument("--trials", type=int, default=24, help="random problems for each kernel variant (24)")
    parser.add_argument("--limit", type=int, default=240, help="seconds that one step may take (240)")
    parser.add_argument("--budget", type=int, default=570, help="seconds that all of it may take (570)")
    options = parser.parse_args()
    check = Check(options)
    if not os.access(check.program("qb"), os.X_OK):
        sys.exit(f"there is no {check.program('qb')}")
    try:
        check.alone("devices", [check.program("qb"), "devices", "--json", "--quiet"], kind="json")
        for part in (correctness, agreement, speed, profile):
            if not options.only or part.__name__ in options.only:
                check.part(part.__name__, part)
        check.write()
        print(f"everything in {check.out}")
    finally:
        shutil.rmtree(check.work, ignore_errors=True)
    for result in ("not run", "skipped", "failed"):
        named = [step["step"] for step in check.steps if step["result"] == result]
        print(f"{len(named)} of {len(check.steps)} steps {result}" + (f": {', '.join(named)}" if named else ""))
    failed = [step["step"] for step in check.steps if step["result"] == "failed"]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
