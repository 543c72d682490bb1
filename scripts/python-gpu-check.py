#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package on a machine with an NVIDIA GPU, over a finished build: python-gpu-check.py --build build --json FILE
Times projections through Python beside the kernel's own time (qb bench), a batch of slices beside one call, and checks streams
on which data is still being made, a second device, and gradients. It needs NumPy; with PyTorch it does more, and with ASTRA, too, it
times that beside. Exit code 1 when
anything is wrong or slower than asked; what could not be done is listed. --device cpu does what needs no GPU."""
import argparse
import ctypes
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Cuda:
    """As much of the driver as arrays and streams take."""

    def __init__(self, device=0):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        self.devices = count.value
        self.use(device)

    def call(self, name, *arguments):
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {status}")

    def use(self, device):
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(handle), device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self.call("cuCtxSetCurrent", context)
        self.device = device

    def stream(self):
        pointer = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(pointer), 1)  # does not wait for the default stream
        return pointer.value

    def wait(self):
        self.call("cuCtxSynchronize")

    def busy(self, stream, room, seconds):
        """Keep a stream at work about so long, by filling an array again and again."""
        self.wait()
        began = time.perf_counter()
        self.call("cuMemsetD32Async", ctypes.c_uint64(room.pointer), 0, ctypes.c_size_t(room.size), ctypes.c_void_p(stream))
        self.wait()
        for _ in range(int(seconds / max(time.perf_counter() - began, 1e-5)) + 1):
            self.call("cuMemsetD32Async", ctypes.c_uint64(room.pointer), 0, ctypes.c_size_t(room.size), ctypes.c_void_p(stream))


class Flags:
    c_contiguous = True


class Array:
    """float32 in a device's memory, as CuPy and PyTorch show theirs."""

    def __init__(self, cuda, shape, values=None, stream=None, base=None, strides=None):
        self.cuda, self.shape, self.stream, self.base, self.strides = cuda, tuple(shape), stream, base, strides
        self.size, self.flags = math.prod(shape), Flags()
        if base is None:
            pointer = ctypes.c_uint64()
            cuda.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4 * self.size))
            self.pointer = pointer.value
        else:
            self.pointer = base.pointer
        self.device = type("Device", (), {"id": cuda.device})()
        if values is not None:
            values = np.ascontiguousarray(values, np.float32)
            cuda.call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.pointer), ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(4 * self.size))

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "shape": self.shape, "typestr": "<f4", "data": (self.pointer, False), "strides": self.strides,
                "stream": self.stream}

    def reshape(self, shape):
        return Array(self.cuda, shape, stream=self.stream, base=self)

    def swapaxes(self, a, b):
        shape, steps = list(self.shape), [4 * math.prod(self.shape[i + 1:]) for i in range(len(self.shape))]
        for values in (shape, steps):
            values[a], values[b] = values[b], values[a]
        return Array(self.cuda, shape, stream=self.stream, base=self, strides=tuple(steps))

    def numpy(self):
        self.cuda.wait()
        values = np.empty(self.shape, np.float32)
        self.cuda.call("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), ctypes.c_uint64(self.pointer), ctypes.c_size_t(values.nbytes))
        return values

    def fill_later(self, values, stream):
        """Copy another device array here once the stream comes to it."""
        self.cuda.call("cuMemcpyDtoDAsync_v2", ctypes.c_uint64(self.pointer), ctypes.c_uint64(values.pointer), ctypes.c_size_t(4 * self.size),
                       ctypes.c_void_p(stream))

    def __del__(self):
        if self.base is None and getattr(self, "pointer", None):
            self.cuda.lib.cuMemFree_v2(ctypes.c_uint64(self.pointer))


class Check:
    def __init__(self, options):
        self.options, self.lines, self.failed = options, {}, []
        self.on_device = options.device.startswith("cuda")
        self.cuda = Cuda() if self.on_device else None
        self.random = np.random.default_rng(3)

    def array(self, shape, values=None):
        if self.on_device:
            return Array(self.cuda, shape, values)
        return np.empty(shape, np.float32) if values is None else np.ascontiguousarray(values, np.float32)

    def host(self, array):
        return array.numpy() if self.on_device else array

    def note(self, name, good, **numbers):
        self.lines[name] = {"ok": bool(good), **numbers}
        if not good:
            self.failed.append(name)
        words = ", ".join(f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}" for key, value in numbers.items())
        print(f"{'ok  ' if good else 'FAIL'} {name}: {words}", flush=True)

    def skip(self, name, why):
        self.lines[name] = {"skipped": why}
        print(f"skip {name}: {why}", flush=True)

    def seconds(self, call):
        call()
        took = []
        for _ in range(self.options.repeat):
            began = time.perf_counter()
            call()
            took.append(time.perf_counter() - began)
        return statistics.median(took)


def kernel_seconds(options):
    words = [options.build / "qb", "bench", "project", "--size", options.size, "--views", options.views, "--repeat", options.repeat,
             "--device", options.device, "--json", "-q"]
    run = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    return found["forward"]["seconds_median"], found["adjoint"]["seconds_median"], found["kernel"]


def c_call(qb, operator, x, out):
    """The call of the library alone, on arrays that are described already."""
    from quickbeam_ct._arrays import tensor_of
    from quickbeam_ct._library import Env, check, lib
    (source, _), (target, _) = tensor_of(x, "x"), tensor_of(out, "out", writes=True)
    env = Env(struct_size=ctypes.sizeof(Env))
    first, end = operator._first, operator._end

    def call():
        given = (operator._handle.pointer, ctypes.byref(source), first, end)
        if operator._transposed:
            check(lib.qb_projector_adjoint_tensor(*given, False, ctypes.byref(env), ctypes.byref(target)))
        else:
            check(lib.qb_projector_forward_tensor(*given, ctypes.byref(env), ctypes.byref(target)))
    return call


def projections(c, qb):
    """512^3 forward and adjoint, within 3 % of the kernel's own time; the geometry is that of qb bench."""
    n, views = c.options.size, c.options.views
    forward, adjoint, kernel = kernel_seconds(c.options)
    rays = qb.Geometry.cone(2 * np.pi * np.arange(views) / views, n, n, 1.5, 2 * n, 3 * n)
    A = qb.operator(rays, (n, n, n), 1.0, device=c.options.device)
    x, y, back = c.array(A.domain, c.random.random(A.domain, np.float32)), c.array(A.range), c.array(A.domain)
    for name, operator, given, out, own in (("forward", A, x, y, forward), ("adjoint", A.T, y, back, adjoint)):
        in_c = c.seconds(c_call(qb, operator, given, out))
        took = c.seconds(lambda: operator.apply(given, out))
        c.note(name, took < c.options.within * own or not c.on_device, python_ms=1e3 * took, c_ms=1e3 * in_c, kernel_ms=1e3 * own,
               ratio=took / own, kernel=A.kernel, bench=kernel)
    lines, given = c.host(y).astype(np.float64), c.host(x).astype(np.float64)
    error = abs(np.vdot(lines, lines) - np.vdot(given, c.host(back).astype(np.float64))) / np.vdot(lines, lines)
    c.note("transpose", error < 1e-6, error=float(error))


def beside_astra(c, qb):
    """ASTRA's projections of the same volume on the same GPU, by the program of bench/beside_astra.py."""
    if not c.on_device:
        c.skip("beside ASTRA", "no CUDA device")
        return
    sys.path.insert(0, str(ROOT / "bench"))
    import beside_astra as bench
    done = subprocess.run([sys.executable, "-c", bench.ASTRA, str(c.options.size), str(c.options.views)], capture_output=True, text=True)
    if done.returncode:
        c.skip("beside ASTRA", (done.stderr.strip().splitlines() or ["no reason given"])[-1])
        return
    found = json.loads(done.stdout)
    for name, least in (("forward", 1.9), ("adjoint", 1.45)):
        own = 1e-3 * c.lines[name]["python_ms"]
        c.note(f"{name} beside ASTRA", found[name] >= least * own, python_ms=1e3 * own, astra_ms=1e3 * found[name],
               times_as_fast=found[name] / own, astra=found["version"])


def batch(c, qb):
    """64 slices as a batch within 1.1 of the same slices as one volume."""
    n, views, count = (512, 720, 64) if c.on_device else (64, 60, 8)
    angles = np.pi * np.arange(views) / views
    one = qb.operator(qb.Geometry.parallel(angles, 1, n, 1.0), (1, n, n), 1.0, device=c.options.device)
    tall = qb.operator(qb.Geometry.parallel(angles, count, n, 1.0), (count, n, n), 1.0, device=c.options.device)
    values = c.random.random((count, 1, n, n), np.float32)
    x, y, back = c.array(values.shape, values), c.array((count, views, 1, n)), c.array(values.shape)
    volume, lines, again = c.array(tall.domain, values[:, 0]), c.array(tall.range), c.array(tall.domain)
    for name, slices, whole in (("forward", lambda: one.apply(x, y), lambda: tall.apply(volume, lines)),
                                ("adjoint", lambda: one.T.apply(y, back), lambda: tall.T.apply(lines, again))):
        a, b = c.seconds(slices), c.seconds(whole)
        c.note(f"batch {name}", a < 1.1 * b or not c.on_device, batch_ms=1e3 * a, one_call_ms=1e3 * b, ratio=a / b)
    same = np.abs(c.host(y)[:, :, 0] - c.host(lines).swapaxes(0, 1)).max() / np.abs(c.host(lines)).max()
    c.note("batch values", same < 1e-5, difference=float(same))


def volumes(c, qb):
    """A batch of cones in one call beside as many calls; the same numbers."""
    n, count = (64, 8) if c.on_device else (20, 3)
    A = qb.operator(qb.Geometry.cone(2 * np.pi * np.arange(n) / n, n, n, 1.0, 4 * n, 6 * n), (n, n, n), 0.6, device=c.options.device)
    values = c.random.random((count, n, n, n), np.float32)
    x, y, back = c.array(values.shape, values), c.array((count, *A.range)), c.array(values.shape)
    one = [(c.array(A.domain, values[i]), c.array(A.range), c.array(A.domain)) for i in range(count)]
    for name, together, single in (("forward", lambda: A.apply(x, y), lambda: [A.apply(a, b) for a, b, _ in one]),
                                   ("adjoint", lambda: A.T.apply(y, back), lambda: [A.T.apply(b, d) for _, b, d in one])):
        a, b = c.seconds(together), c.seconds(single)
        c.note(f"batch of cones {name}", a < b or not c.on_device, batch_ms=1e3 * a, calls_ms=1e3 * b, ratio=a / b)
    same = all(np.array_equal(c.host(all_)[i], c.host(one[i][k])) for k, all_ in ((1, y), (2, back)) for i in range(count))
    c.note("batch of cones values", same)


def transposes(c, qb):
    """Gradients of fbp and fdk on the device beside the CPU."""
    n = 256 if c.on_device else 24
    angles = np.pi * np.arange(n) / n
    cone = qb.Geometry.cone(2 * angles, n, n, 1.0, 4 * n, 6 * n)
    x = c.random.random((n, n, n), np.float32)
    lines = c.random.random((n, n, n), np.float32)
    for verb, rays, given in (("fbp", (angles, 1.0), {"center": (n - 1) / 2}), ("fdk", (), {"geometry": cone, "size": (n, n, n), "voxel": 0.6})):
        seconds, found = {}, {}
        for device in ("cpu", c.options.device):
            plan = qb.plan(verb, lines, *rays, accuracy="high", device=device, **given)
            volume = plan.run()
            plan.transpose(x)
            began = time.perf_counter()
            found[device] = plan.transpose(x)
            seconds[device] = time.perf_counter() - began
        difference = float(np.linalg.norm(found["cpu"] - found[c.options.device]) / np.linalg.norm(found["cpu"]))
        apart = abs(np.vdot(volume.astype(float), x.astype(float)) - np.vdot(lines.astype(float), found[c.options.device].astype(float)))
        error = float(apart / np.linalg.norm(volume) / np.linalg.norm(x))
        c.note(f"transpose of {verb}", difference < 2e-5 and error < 5e-5, difference=difference, error=error,
               device_s=seconds[c.options.device], cpu_s=seconds["cpu"])


def streams(c, qb):
    """Data that is still being made on a stream when the call comes."""
    if not c.on_device:
        c.skip("streams", "no CUDA device")
        return
    n, views = 128, 90
    values = c.random.random((views, 8, n), np.float32)
    angles = np.pi * np.arange(views) / views
    cone = qb.Geometry.cone(2 * angles, 8, n, 1.0, 200, 300)
    A = qb.operator(cone, (8, n, n), 0.6, device="cuda:0")
    ready, stream, room = Array(c.cuda, values.shape, values), c.cuda.stream(), Array(c.cuda, (64 << 20,))
    calls = {"fbp": (lambda y, out: qb.fbp(y, angles, 1.0, center=63.5, out=out, device="cuda:0"), (8, n, n)),
             "fdk": (lambda y, out: qb.fdk(y, cone, size=(n, n, 8), out=out, device="cuda:0"), (8, n, n)),
             "adjoint": (lambda y, out: A.T.apply(y, out), (8, n, n))}
    for name, (call, shape) in calls.items():
        want, late, out = Array(c.cuda, shape), Array(c.cuda, values.shape, 0 * values, stream), Array(c.cuda, shape, stream=stream)
        call(ready, want)
        c.cuda.busy(stream, room, 0.3)
        late.fill_later(ready, stream)
        call(late, out)
        c.note(f"stream {name}", np.array_equal(out.numpy(), want.numpy()), greatest=float(np.abs(want.numpy()).max()))
    plan = qb.plan("fbp", ready, angles, 1.0, center=63.5, out=Array(c.cuda, (8, n, n)), device="cuda:0")
    plan.run()
    ways = plan.report.get("arrays_on_device", {})
    c.note("fbp in place", ways.get("input") == ways.get("output") == "in place", **ways)


def devices(c, qb):
    if not c.on_device or c.cuda.devices < 2:
        c.skip("two devices", "there is no second CUDA device")
        return
    angles = np.pi * np.arange(90) / 90
    rays = qb.Geometry.parallel(angles, 8, 128, 1.0)
    values = c.random.random((8, 128, 128), np.float32)
    found = []
    for device in (0, 1):
        c.cuda.use(device)
        A = qb.operator(rays, values.shape, 1.0, device=f"cuda:{device}")
        y = Array(c.cuda, A.range)
        A.apply(Array(c.cuda, values.shape, values), y)
        found.append(y.numpy())
    c.note("second device", np.array_equal(*found))
    c.cuda.use(0)
    x0 = Array(c.cuda, values.shape, values)
    c.cuda.use(1)
    y1 = Array(c.cuda, A.range)
    try:
        A.apply(x0, y1)
        c.note("mixed devices", np.array_equal(y1.numpy(), found[0]), how="copied")
    except qb.Error as error:
        c.note("mixed devices", "cuda" in str(error) or "device" in str(error), said=str(error))
    c.cuda.use(0)


def with_torch(c, qb):
    try:
        import torch
    except ImportError:
        c.skip("torch", "PyTorch is not installed")
        return
    if c.on_device and not torch.cuda.is_available():
        c.skip("torch", "PyTorch sees no CUDA device")
        return
    place = "cuda" if c.on_device else "cpu"
    angles = np.pi * np.arange(60) / 60
    A = qb.operator(qb.Geometry.parallel(angles, 4, 96, 1.0), (4, 96, 96), 1.0, device=c.options.device)
    op, values = A.torch(), torch.rand(2, 4, 96, 96, device=place)
    want = op(values)
    if c.on_device:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            late = torch.zeros_like(values)
            torch.cuda._sleep(int(5e8))
            late.copy_(values)
            got = op(late)
        torch.cuda.synchronize()
        c.note("torch stream", torch.equal(got, want), greatest=float(want.abs().max()))
    x = values[0].clone().requires_grad_()
    y = torch.rand(A.range, device=place)
    gradient, = torch.autograd.grad((op(x) * y).sum(), x)
    lines = op(x.detach())
    error = abs(float((lines.double() * y).sum() - (x.detach().double() * gradient).sum())) / float(lines.norm() * y.norm())
    c.note("torch gradient", error < 1e-6, error=error)
    lines = torch.rand(60, 4, 96, device=place, requires_grad=True)
    volume = qb.fbp(lines, angles, 1.0, center=47.5)
    weights = torch.rand_like(volume)
    gradient, = torch.autograd.grad(volume, lines, weights)
    error = abs(float((volume.detach().double() * weights).sum() - (lines.detach().double() * gradient).sum())) / float(volume.detach().norm() * weights.norm())
    c.note("torch gradient of fbp", error < 5e-5, error=error, device=str(volume.device))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where the library and qb are")
    parser.add_argument("--device", default="cuda:0", help="cuda:0, or cpu")
    parser.add_argument("--size", type=int, default=512, help="voxels of a side")
    parser.add_argument("--views", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--within", type=float, default=1.03, help="of the kernel's own time")
    parser.add_argument("--json", type=pathlib.Path, help="write what was found")
    options = parser.parse_args()
    options.build = options.build.resolve()
    os.environ.setdefault("QUICKBEAM_LIBRARY", str(options.build / "libquickbeam.so"))
    sys.path.insert(0, str(ROOT / "python"))
    import quickbeam_ct as qb
    warnings.simplefilter("ignore", qb.QuickbeamWarning)
    c = Check(options)
    for part in (projections, beside_astra, batch, volumes, transposes, streams, devices, with_torch):
        try:
            part(c, qb)
        except Exception as error:  # the others are still of use
            c.note(part.__name__, False, error=f"{type(error).__name__}: {error}")
    found = {"version": qb.version(), "device": options.device, "size": options.size, "views": options.views, "checks": c.lines}
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    print(f"{len(c.lines) - len(c.failed)} good or skipped, {len(c.failed)} failed" + (": " + ", ".join(c.failed) if c.failed else ""))
    return 1 if c.failed else 0


if __name__ == "__main__":
    sys.exit(main())
