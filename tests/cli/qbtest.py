# SPDX-License-Identifier: MIT
"""What the CLI tests share: running qb, writing and reading its files, and a slow, plain, double-precision
reconstruction that owes nothing to quickbeam."""
import functools
import json
import math
import os
import re
import shutil
import signal
import struct
import subprocess
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
QB = os.environ.get("QB", str(ROOT / "build" / "qb"))
DATA = Path(os.environ.get("QB_DATA", Path(QB).parent / "tests" / "data"))  # as tests/data/more.py fills it
os.environ.setdefault("QB_TUNING", "")  # also when pytest is run by hand: no tuning of the user's
QUICK = os.environ.get("QB_QUICK") == "1"
slow = pytest.mark.slow  # conftest.py leaves them out where QUICK
PATIENCE = 900  # seconds until what runs is held to hang: a busy machine may hold anything up for minutes
SANITIZED = b"__asan_init" in Path(QB).read_bytes()
# The sanitizers need 20 TB of addresses, and hold what was freed.
memory_is_ours = pytest.mark.skipif(SANITIZED, reason="the sanitizers take memory of their own")


MPIRUN = shutil.which("mpirun")
NO_RANKS = None if MPIRUN and (Path(QB).parent / "libquickbeam_mpi.so").exists() else \
    "there is no mpirun (openmpi-bin), or this build has no MPI (libopenmpi-dev)"
# MPI keeps some memory to the end, and says nothing of ours. A rank that is killed while it holds a lock in the memory
# that it shares with mpirun would leave that waiting: hence gds=hash (docs/cluster.md).
RANKS_ENV = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PMIX_MCA_gds": "hash",
             "OMPI_MCA_rmaps_base_oversubscribe": "1",
             **({"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"} if SANITIZED else {})}


def few(*quick, others):
    """Cases to parametrize with, of which the quick ones alone run where QUICK. A case of several values is a tuple."""
    slowly = (case if isinstance(case, tuple) else (case,) for case in others)
    return [*quick, *(pytest.param(*case, marks=slow) for case in slowly)]


def gently():
    """Before a run that a test must find at its work (preexec_fn): on a busy machine the test goes first."""
    os.nice(19)


def data(name):
    """The path of a measured scan."""
    assert (DATA / name).exists(), f"{name} is not in {DATA}: run tests/data/more.py {DATA}"
    return DATA / name


def qb(*args, code=0, cwd=None, **more):
    """Run qb and insist on its exit code; returns the finished process."""
    if SANITIZED and args[:1] == ("devices",):  # it loads every driver and compiler; the leak checker itself may fail on their threads
        env = more.get("env") or os.environ
        more["env"] = {**env, "ASAN_OPTIONS": env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    done = subprocess.run([QB, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE, **more)
    said = f"qb {' '.join(map(str, args))}\n{done.stdout}{done.stderr}"
    assert done.returncode == code, f"exit code {done.returncode}, not {code}: {said}"
    return done


def instead(args, *more):
    """Both, where an option with a value in `more` takes the place of the same one in `args`: qb refuses options that are given twice."""
    kept, rest = [], list(args)
    while rest:
        word = rest.pop(0)
        if str(word).startswith("--") and word in more:
            rest.pop(0)
        else:
            kept.append(word)
    return *kept, *more


def qb_json(*args, code=0, **more):
    """Run qb --json; stdout must be exactly one JSON object."""
    result = json.loads(qb(*args, "--json", code=code, **more).stdout)
    assert isinstance(result, dict)
    return result


def smallest_cap(*args):
    """The smallest --max-ram, in whole MiB, under which this can be done, as a refusal tells: what a process holds before
    it begins differs between builds, and a little from run to run."""
    said = fails(2, "plan", *args, "--max-ram", "2M")
    return "%dM" % math.ceil(float(re.search(r"--max-ram of .* needs? ([\d.]+) MiB", said).group(1)))


def fails(code, *args, says=(), **more):
    """qb must fail with this code and one clear message, with all of `says` in it. No crash, no JSON noise."""
    done = qb(*args, code=code, **more)
    assert done.stdout == ""
    for words in says:
        assert str(words) in done.stderr, f"{words!r} is not in: {done.stderr}"
    return done.stderr


# ---- a device that fails as it is told ----

SHIM = os.environ.get("QB_SHIM_OPENCL", str(Path(QB).parent / "tests" / "device" / "libshim_opencl.so"))


@pytest.fixture(scope="session")
def opencl():
    """An OpenCL device, reached through the shim of tests/device/mock/shim_opencl.h."""
    if not Path(SHIM).exists():
        pytest.skip("the shim is not built")
    if not any(d["device"] == "opencl:0" for d in devices(SHIM)):
        pytest.skip("there is no OpenCL device")
    return "opencl:0"


@functools.cache
def devices(library=None):
    """What qb devices lists, asked once: it measures each."""
    return qb_json("devices", env={**os.environ, "QB_LIBOPENCL": library} if library else None)["devices"]


def machine():
    """A tuning file's row by which plans know this machine: they do not measure it."""
    cpu = devices()[0]
    return {"machine": cpu["name"], "cpus": cpu["threads"], "rates": {"filter": 0.4e9}}


def storage(folder):
    """Likewise of the storage that a folder is on."""
    mount = Path(folder).resolve()
    while mount.parent != mount and mount.parent.stat().st_dev == mount.stat().st_dev:
        mount = mount.parent
    return {"storage": str(mount), "write_bytes_per_second": [1e9] * 5, "read_bytes_per_second": [1e9] * 5}


def eager(folder):
    """A tuning file by which the first OpenCL device starts at once and beats every CPU: --device auto takes it, also
    for work as small as the tests'."""
    name = next(d["name"] for d in devices(SHIM) if d["device"] == "opencl:0")
    rows = [{"device": f"{name} (OpenCL)", "start_seconds": 0, "compile_seconds": 0, "load_seconds": 0}]
    rows += [{"device": f"{name} (OpenCL)", "kernel": "bp_parallel_linear.alu_difference", "slices": slices, "columns": 64,
              "values": [0, 1, 0, 0, 1, 0, 64, 16, 16, 1, 2, 4], "giga_updates_per_second": 1e6} for slices in (2, 64)]
    rows += [machine(), storage(folder)]
    path = Path(folder) / "eager.json"
    path.write_text(json.dumps(rows))
    return str(path)


def fault(call, text, n, error, env=os.environ):
    """An environment in which the n-th such call on files with that in their names fails, or the process is killed at it (-9)."""
    return {**env, "LD_PRELOAD": " ".join([os.environ.get("LD_PRELOAD", ""), os.environ.get("QB_SHIM_FILES", "")]).strip(), "QB_FILES": f"{call}:{text}:{n}:{error}",
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:detect_leaks=0"}


def killed(*args, at, text=".part-", call="pwrite", env=os.environ):
    """Kill it before its at-th write into a hidden folder. False: it came to its end."""
    done = subprocess.run([QB, *map(str, args)], env=fault(call, text, at, -9, env), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode != 0


class Shim:
    """What the shim is told (bytes=N for SHIM_BYTES=N), as an environment, and what it counted."""

    def __init__(self, folder, **orders):
        self.path = Path(folder) / "shim-report"
        self.env = {**os.environ, "QB_LIBOPENCL": SHIM, "SHIM_REPORT": str(self.path),
                    **{f"SHIM_{name.upper()}": str(value) for name, value in orders.items()}}

    def counted(self):
        """{} where OpenCL was never opened."""
        if not self.path.exists():
            return {}
        lines = self.path.read_text().split("\n")
        self.path.unlink()
        return {key: int(number) for key, number in map(str.split, filter(None, lines))}


# ---- files ----


def write_scan(path, projections, angles_deg=None, flats=None, darks=None, pixel=None, quantity=None, **how):
    """A DataExchange file, `how` as h5py.create_dataset takes it."""
    with h5py.File(path, "w") as f:
        d = f.create_dataset("/exchange/data", data=projections, **how)
        if quantity:
            d.attrs["quantity"] = quantity
        if angles_deg is not None:
            f["/exchange/theta"] = np.asarray(angles_deg, float)
            f["/exchange/theta"].attrs["units"] = "degrees"
        if flats is not None:
            f["/exchange/data_white"] = flats
        if darks is not None:
            f["/exchange/data_dark"] = darks
        if pixel:
            f["/measurement/instrument/detector/pixel_size_x"] = float(pixel)
            f["/measurement/instrument/detector/pixel_size_x"].attrs["units"] = "mm"
    return path


def read_h5(path):
    with h5py.File(path) as f:
        return f["/exchange/data"][()]


def provenance_h5(path):
    with h5py.File(path) as f:
        text = f["/process/quickbeam/provenance"][()]
    return json.loads(text)


MHA_TYPES = {"MET_FLOAT": "<f4", "MET_USHORT": "<u2", "MET_UCHAR": "u1", "MET_SHORT": "<i2", "MET_DOUBLE": "<f8"}


def read_mha(path):
    """(array, header) of an uncompressed, local MetaImage."""
    raw = Path(path).read_bytes()
    end = re.search(rb"ElementDataFile = LOCAL\r?\n", raw).end()
    header = dict(re.split(r"\s*=\s*", line.strip(), maxsplit=1)
                  for line in raw[:end].decode().splitlines() if "=" in line)
    assert header["CompressedData"] == "False" and header["BinaryDataByteOrderMSB"] == "False"
    shape = [int(n) for n in header["DimSize"].split()][::-1]
    values = np.frombuffer(raw, MHA_TYPES[header["ElementType"]], int(np.prod(shape)), end)
    assert end + values.nbytes == len(raw)
    return values.reshape(shape), header


def read_tiff(path):
    tifffile = pytest.importorskip("tifffile")
    array = tifffile.imread(path)
    return array[None] if array.ndim == 2 else array


def read_png(path):
    """A grey picture of eight bits."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body, at = data[at + 8:at + 8 + length], at + 12 + length
        if kind == b"IHDR":
            wide, high, bits, colour = struct.unpack(">IIBB", body[:10])
            assert (bits, colour) == (8, 0)
        packed += body if kind == b"IDAT" else b""
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(high, wide + 1)
    out = np.zeros((high + 1, wide + 1), int)  # with a row above and a column before
    for y, (way, *row) in enumerate(rows.tolist()):
        above, line = out[y].tolist(), [0] * (wide + 1)
        for x, v in enumerate(row, 1):
            a, b, c = line[x - 1], above[x], above[x - 1]
            near = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[x] = v + (0, a, b, (a + b) // 2, near)[way] & 255
        out[y + 1] = line
    return out[1:, 1:].astype(np.uint8)


def read_stack(pattern):
    """All files of a folder or a glob, in the order of their names."""
    path = Path(pattern)
    files = sorted(path.glob("*.tif") if path.is_dir() else path.parent.glob(path.name))
    assert files, f"no files match {pattern}"
    return np.concatenate([read_tiff(f) for f in files])


def leftovers(folder, *but):
    """Names in a folder besides those given."""
    return sorted(set(os.listdir(folder)) - set(but))


# ---- an object and its projections, in the frame of docs/concepts.md ----

# Toft's Shepp-Logan: value, half axes, centre, turn in degrees; the square -1..1.
SHEPP_LOGAN = [(1, .69, .92, 0, 0, 0), (-.8, .6624, .874, 0, -.0184, 0), (-.2, .11, .31, .22, 0, -18),
               (-.2, .16, .41, -.22, 0, 18), (.1, .21, .25, 0, .35, 0), (.1, .046, .046, 0, .1, 0),
               (.1, .046, .046, 0, -.1, 0), (.1, .046, .023, -.08, -.605, 0), (.1, .023, .023, 0, -.606, 0),
               (.1, .023, .046, .06, -.605, 0)]


def scaled(ellipses, factor):
    return [(v, a * factor, b * factor, x * factor, y * factor, t) for v, a, b, x, y, t in ellipses]


def sinogram(ellipses, angles_deg, columns, center, pixel=1.0):
    """Exact line integrals [view][column] through the middle of each column."""
    s = (np.arange(columns) - center) * pixel
    t = np.deg2rad(np.asarray(angles_deg, float))[:, None]
    p = np.zeros((t.shape[0], columns))
    for value, a, b, x, y, turn in ellipses:
        u = t - np.deg2rad(turn)
        r2 = (a * np.cos(u)) ** 2 + (b * np.sin(u)) ** 2
        d = s - (x * np.cos(t) + y * np.sin(t))
        p += 2 * value * a * b / r2 * np.sqrt(np.maximum(r2 - d * d, 0))
    return p


def image(ellipses, n, pixel=1.0, center=None):
    """The object at the pixel centres of an n x n slice."""
    x = (np.arange(n) - ((n - 1) / 2 if center is None else center)) * pixel
    x, y = np.meshgrid(x, x)
    f = np.zeros((n, n))
    for value, a, b, x0, y0, turn in ellipses:
        c, s = np.cos(np.deg2rad(turn)), np.sin(np.deg2rad(turn))
        u, v = (x - x0) * c + (y - y0) * s, -(x - x0) * s + (y - y0) * c
        f += value * ((u / a) ** 2 + (v / b) ** 2 <= 1)
    return f


# ---- the independent reconstruction ----


def angle_weights(angles_deg):
    """Half the gaps to both neighbours, modulo 180 degrees, at most twice the median."""
    a = np.mod(np.asarray(angles_deg, float), 180.0)
    a[a > 180 - 1e-6] = 0
    direction, which, count = np.unique(np.round(a, 6), return_inverse=True, return_counts=True)
    gap = np.diff(np.append(direction, direction[0] + 180))
    w = (gap + np.roll(gap, 1)) / 2
    return np.deg2rad(np.minimum(w, 2 * np.median(w)) / count)[which.ravel()]


def fbp(p, angles_deg, center, n=None):
    """Line integrals [view][column] -> slice [y][x], pixel 1: plain filtered back-projection in double."""
    views, columns = p.shape
    n = n or columns
    padded = np.pad(p, ((0, 0), (columns, columns)), mode="edge")
    length = 1 << int(np.ceil(np.log2(2 * padded.shape[1])))
    k = np.minimum(np.arange(length), length - np.arange(length))
    ramp = np.where(k % 2 == 1, -1 / (np.pi * np.maximum(k, 1)) ** 2, 0.0)
    ramp[0] = 0.25
    q = np.fft.irfft(np.fft.rfft(padded, length) * np.fft.rfft(ramp), length)[:, columns:2 * columns]
    x = np.arange(n) - (n - 1) / 2
    x, y = np.meshgrid(x, x)
    f, at = np.zeros((n, n)), np.arange(columns)
    for row, weight, t in zip(q, angle_weights(angles_deg), np.deg2rad(angles_deg)):
        f += weight * np.interp(x * np.cos(t) + y * np.sin(t) + center, at, row, left=0, right=0)
    return f


def circle(n, radius):
    x = np.arange(n) - (n - 1) / 2
    return x[None] ** 2 + x[:, None] ** 2 < radius ** 2


def slope_correlation(a, b):
    """Least squares a = slope b + offset; Pearson's correlation."""
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (b * b).sum(), (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


def turns(a):
    """The eight ways a square picture can lie; the first is as it is."""
    return [np.rot90(m, k) for m in (a, a[:, ::-1]) for k in range(4)]
