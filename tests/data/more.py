#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""more.py FOLDER: the measured scans beside this file, linked, and scans in three further forms made from them or
from formulas. What is there already is left alone."""
import shutil
import struct
import sys
from pathlib import Path

import h5py
import numpy as np

HERE = Path(__file__).resolve().parent
MEASURED = ("tooth_dxchange", "savu24737_nxtomo", "neutron_sino")


def write_tiff(path, image):
    """One uncompressed strip, 16 bits, little-endian."""
    rows, columns = image.shape
    tags = [(256, columns), (257, rows), (258, 16), (259, 1), (262, 1), (273, 8 + 2 + 12 * 9 + 4), (277, 1),
            (278, rows), (279, rows * columns * 2)]
    head = b"II*\0" + struct.pack("<IH", 8, len(tags))
    head += b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    path.write_bytes(head + b"\0\0\0\0" + image.astype("<u2").tobytes())


def capsule_as_tiff(folder):
    """The NXtomo file's frames as TIFF files: views, one flat and one dark, and more angles than views."""
    with h5py.File(HERE / "savu24737_nxtomo" / "24737_nxtomo_repacked.nxs") as f:
        entry = f["/entry1/tomo_entry"]
        frames = entry["instrument/detector/data"][()]
        key = entry["instrument/detector/image_key"][()]
        angles = entry["sample/rotation_angle"][()]
    (folder / "tiffs").mkdir(parents=True)
    for i, view in enumerate(frames[key == 0]):
        write_tiff(folder / "tiffs" / f"raw_{i:05d}.tiff", view)
    write_tiff(folder / "flat_00001.tiff", np.rint(frames[key == 1].mean(axis=0)))
    write_tiff(folder / "dark_00001.tiff", np.rint(frames[key == 2].mean(axis=0)))
    views = angles[key == 0]
    step = views[1] - views[0]
    more = np.concatenate([views[0] + step * np.arange(-10, 0), views, views[-1] + step * np.arange(1, 11)])
    np.savetxt(folder / "angles.txt", more, fmt="%.4f")


def beamline_with_links(folder):
    """50 flats and 50 darks before and after 3001 views of half a turn; frames and angles behind external links,
    others lead to a file that is not there."""
    name = "k11-18014"
    (folder / name).mkdir(parents=True)
    key = np.repeat([1, 2, 0, 1, 2], [50, 50, 3001, 50, 50]).astype(np.int32)
    theta = np.full(len(key), 90.0)
    theta[key == 0] = np.linspace(90, 270, 3001)
    theta[np.flatnonzero(key == 0)[-1] + 1:] = 270
    u, v = np.arange(26) - 12.5, np.arange(22) - 10.5
    depth = 2 * np.sqrt(np.maximum(64 - u[None] ** 2 - 0.25 * v[:, None] ** 2, 0))
    noise = np.random.default_rng(11).normal(0, 1, (len(key), 22, 26))
    mean = np.select([(key == 1)[:, None, None], (key == 2)[:, None, None]], [20000, 100],
                     100 + 19900 * np.exp(-0.05 * depth))
    with h5py.File(folder / name / f"{name}-imaging.h5", "w") as f:
        f.create_dataset("/entry/detector/detector", data=(mean + 10 * noise).astype(np.uint16), chunks=(1, 22, 26))
    with h5py.File(folder / name / f"{name}-pcompPanda.h5", "w") as f:
        f["/entry/gts_theta.value/gts_theta.value"] = theta
    with h5py.File(folder / f"{name}.nxs", "w") as f:
        def link(at, file, to):
            f[at] = h5py.ExternalLink(f"{name}/{name}-{file}.h5", to)
        for group, kind in (("entry", "NXentry"), ("entry/instrument", "NXinstrument"),
                            ("entry/instrument/imaging", "NXdetector"), ("entry/sample", "NXsample"),
                            ("entry/instrument/gts_theta", "NXpositioner"), ("entry/LinkamTemp", "NXmonitor")):
            f.create_group(group).attrs["NX_class"] = kind
        f["/entry/instrument/imaging/image_key"] = key
        link("/entry/instrument/imaging/data", "imaging", "/entry/detector/detector")
        link("/entry/instrument/gts_theta/value", "pcompPanda", "/entry/gts_theta.value/gts_theta.value")
        link("/entry/instrument/gts_theta/value_set", "EtherCAT", "/entry/detector/gts_theta_set")
        link("/entry/LinkamTemp/data", "detectorPanda", "/entry/LinkamTemp.data/LinkamTemp.data")


def head_without_flats(folder):
    """321 views of a ball as large as a head, 361 degrees; the beam differs from view to view; the table of angles,
    tab-separated below eight lines, lists the views left out, too."""
    folder.mkdir(parents=True)
    pixel, sod, sdd, radius = 1.552, 1000.0, 1500.0, 85.0
    u, v = np.meshgrid((np.arange(256) - 127.5 - 0.3) * pixel, (np.arange(192) - 95.5) * pixel)
    # of the ray's direction (u, v, sdd) and the way to the ball's centre (0, 0, sod)
    miss2 = sod ** 2 * (u ** 2 + v ** 2) / (u ** 2 + v ** 2 + sdd ** 2)
    transmitted = np.exp(-0.0203 * 2 * np.sqrt(np.maximum(radius ** 2 - miss2, 0)))
    dice = np.random.default_rng(12)
    lines = [".\tImage file path\t", "1.552\tPixel size\t", "cw\tRotation direction\t", "0\tU offset\t",
             "0\tV offset\t", "1500\tSO\t", "1500\tSD\t", "\t\t"]
    angles = np.linspace(181.79, -179.64, 641)
    lines += [f"Proj_{i:05d}.tif\t{angle:.2f}\t0" for i, angle in enumerate(angles)]
    (folder / "angles.csv").write_text("\r\n".join(lines) + "\r\n")
    for i in range(0, 641, 2):
        beam = 40000 * dice.uniform(0.97, 1.03)
        write_tiff(folder / f"Proj_{i:05d}.tif", dice.poisson(beam * transmitted))


def main():
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in MEASURED:
        if not (out / name).is_symlink():
            (out / name).symlink_to(HERE / name)
    for name, make in (("savu24737_tiff", capsule_as_tiff), ("k11_nxs", beamline_with_links),
                       ("skull_cbct", head_without_flats)):
        if not (out / name).exists():
            shutil.rmtree(out / f"{name}.part", ignore_errors=True)
            make(out / f"{name}.part")
            (out / f"{name}.part").rename(out / name)
            (out / f"{name}.made").touch()  # it is not the measured one


main()
