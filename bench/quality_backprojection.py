#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the approximate ways of back-projection do to a picture: the Shepp-Logan phantom and a slice of
a real scan through every variant of a device, profiles along a vertical line, differences from linear
interpolation in single precision.

  quality_backprojection.py prepare FOLDER [SCAN.h5 AXIS]   filtered rows of both
    (DataExchange HDF5, whose axis `qb center` finds)
  quality_backprojection.py compare FOLDER TOOL DEVICE  TOOL: build/tests/variants/slice_bp_parallel

`compare` prints a table, writes FOLDER/quality.json and, where matplotlib is there, pictures of the
profiles. Differences are percentages of the picture's own range."""
import json
import pathlib
import subprocess
import sys

import numpy

SIZE, VIEWS = 1024, 1024
# Toft's Shepp-Logan: value, half axes, centre, degrees; the unit square is -1..1.
ELLIPSES = [(1.0, .69, .92, 0, 0, 0), (-.8, .6624, .874, 0, -.0184, 0), (-.2, .11, .31, .22, 0, -18),
            (-.2, .16, .41, -.22, 0, 18), (.1, .21, .25, 0, .35, 0), (.1, .046, .046, 0, .1, 0),
            (.1, .046, .046, 0, -.1, 0), (.1, .046, .023, -.08, -.605, 0), (.1, .023, .023, 0, -.606, 0),
            (.1, .023, .046, .06, -.605, 0)]


def ramp(rows):
    """Filtered and weighted for the sum over views; one column a pixel."""
    columns = rows.shape[1]
    n = 1 << int(numpy.ceil(numpy.log2(2 * columns)))
    kernel = numpy.zeros(n)
    kernel[0] = .25
    odd = numpy.arange(1, n // 2, 2)
    kernel[odd] = kernel[-odd] = -1 / (numpy.pi * odd) ** 2
    response = numpy.fft.rfft(kernel).real
    filtered = numpy.fft.irfft(numpy.fft.rfft(rows, n) * response, n)[:, :columns]
    return (filtered * numpy.pi / len(rows)).astype("float32")


def shepp_logan():
    """Line integrals per pixel, and the phantom sampled at pixel centres."""
    angles = numpy.pi * numpy.arange(VIEWS) / VIEWS
    half = SIZE / 2
    at = (numpy.arange(SIZE) - (SIZE - 1) / 2) / half
    rows, picture = numpy.zeros((VIEWS, SIZE)), numpy.zeros((SIZE, SIZE))
    y, x = numpy.meshgrid(at, at, indexing="ij")
    for value, a, b, x0, y0, degrees in ELLIPSES:
        turn = numpy.radians(degrees)
        s = at[None, :] - (x0 * numpy.cos(angles) + y0 * numpy.sin(angles))[:, None]
        width2 = (a * numpy.cos(angles - turn)) ** 2 + (b * numpy.sin(angles - turn)) ** 2
        inside = numpy.maximum(width2[:, None] - s ** 2, 0)
        rows += value * half * 2 * a * b * numpy.sqrt(inside) / width2[:, None]
        u = (x - x0) * numpy.cos(turn) + (y - y0) * numpy.sin(turn)
        v = (y - y0) * numpy.cos(turn) - (x - x0) * numpy.sin(turn)
        picture += value * ((u / a) ** 2 + (v / b) ** 2 <= 1)
    return rows, angles, (SIZE - 1) / 2, picture


def scan_row(path):
    """The first row of a DataExchange scan as line integrals."""
    import h5py
    with h5py.File(path) as f:
        data, flat, dark = (f["exchange/" + n][:, 0, :].astype(float)
                            for n in ("data", "data_white", "data_dark"))
        angles = numpy.radians(f["exchange/theta"][:].astype(float))
    return -numpy.log(numpy.maximum((data - dark.mean(0)) / (flat.mean(0) - dark.mean(0)), 1e-6)), angles


def save(folder, name, rows, angles, center, size, truth=None):
    ramp(rows).tofile(folder / f"{name}.rows")
    angles.astype("float64").tofile(folder / f"{name}.angles")
    (folder / f"{name}.json").write_text(json.dumps({"center": center, "size": size}))
    if truth is not None:
        truth.astype("float32").tofile(folder / f"{name}.truth")


def prepare(folder, scan=None, center=None):
    rows, angles, middle, picture = shepp_logan()
    save(folder, "shepp-logan", rows, angles, middle, SIZE, picture)
    if scan:
        rows, angles = scan_row(scan)
        save(folder, "scan", rows, angles, float(center), rows.shape[1])


def run(folder, name, tool, device):
    """{id: picture} of every variant the device runs."""
    about = json.loads((folder / f"{name}.json").read_text())
    out = folder / f"{name}.{device.replace(':', '')}"
    out.mkdir(exist_ok=True)
    for old in out.glob("*.f32"):
        old.unlink()
    subprocess.run([tool, device, folder / f"{name}.rows", folder / f"{name}.angles",
                    repr(about["center"]), str(about["size"]), out], check=True)
    shape = (about["size"], about["size"])
    return {p.name[:-4]: numpy.fromfile(p, "float32").reshape(shape) for p in sorted(out.glob("*.f32"))}


def measure(picture, linear, disc, column, scale):
    off = (picture.astype(float) - linear) / scale * 100
    line = off[:, column][disc[:, column]]
    return {"rms": float(numpy.sqrt((off[disc] ** 2).mean())), "max": float(abs(off[disc]).max()),
            "profile_rms": float(numpy.sqrt((line ** 2).mean())), "profile_max": float(abs(line).max())}


SHOWN = ["bp_parallel_linear.texture_four_views", "bp_parallel_linear.texture_four_views_half",
         "bp_parallel_linear.alu_half", "bp_parallel_linear.alu_half_sums", "bp_parallel_linear.tensor",
         "bp_parallel_oversample.alu", "bp_parallel_nearest.alu"]


def draw(path, pictures, linear, truth, column):
    try:
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return
    shown = [i for i in SHOWN if i in pictures]
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 7))
    if truth is not None:
        top.plot(truth[:, column], "k", linewidth=.8, label="phantom")
    top.plot(linear[:, column], linewidth=.8, label="linear")
    for i in shown[-2:]:
        top.plot(pictures[i][:, column], linewidth=.8, label=i.removeprefix("bp_parallel_"))
    for i in shown:
        bottom.semilogy(abs(pictures[i][:, column] - linear[:, column]) + 1e-9, linewidth=.6,
                        label=i.removeprefix("bp_parallel_"))
    top.legend(fontsize=7), bottom.legend(fontsize=7)
    bottom.set_ylabel("|difference from linear|"), bottom.set_xlabel("row")
    figure.savefig(path, dpi=110)


def compare(folder, tool, device):
    report = {}
    for name in ("shepp-logan", "scan"):
        if not (folder / f"{name}.json").exists():
            continue
        pictures = run(folder, name, tool, device)
        linear = pictures["bp_parallel_linear.alu"].astype(float)
        size = len(linear)
        y, x = numpy.mgrid[:size, :size] - (size - 1) / 2
        disc = x ** 2 + y ** 2 < (.48 * size) ** 2
        low, high = numpy.percentile(linear[disc], [.1, 99.9])
        column = int(size * .5)
        path = folder / f"{name}.truth"
        truth = numpy.fromfile(path, "float32").reshape(size, size) if path.exists() else None
        report[name] = {}
        print(f"{name} on {device}, {size}x{size}: % of the range   rms    max   profile rms    max"
              + ("   rms to the phantom" if truth is not None else ""))
        for i, picture in pictures.items():
            m = measure(picture, linear, disc, column, high - low)
            if truth is not None:
                m["to_phantom"] = measure(picture, truth, disc, column, high - low)["rms"]
            report[name][i] = m
            print(f"  {i:44s}" + "".join(f" {m[k]:10.5f}" for k in m))
        draw(folder / f"{name}.png", pictures, linear, truth, column)
    (folder / "quality.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("prepare", "compare"):
        sys.exit(__doc__)
    where = pathlib.Path(sys.argv[2])
    where.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "prepare":
        prepare(where, *sys.argv[3:5])
    else:
        compare(where, sys.argv[3], sys.argv[4])
