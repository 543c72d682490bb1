# SPDX-License-Identifier: MIT
"""Counts at the largest number of their type were not measured: gaps between detector modules, saturated pixels. The truth is
the attenuation of a disc, 0.02/mm."""
import json

import h5py
import numpy as np
import pytest
from qbtest import devices, qb

TRUTH = 0.02
CONE = ("--sod", 500, "--sdd", 800)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saturated")
    qb("simulate", "disc", "--size", 64, "--views", 120, "--photons", 1e5, "--seed", 3, "-o", folder / "s.h5")
    qb("simulate", "disc", "--geometry", "cone", *CONE, "--pixel-size", 1.4, "--detector", "96,24", "--views", 120, "--photons", 1e5,
       "--seed", 3, "-o", folder / "c.h5")
    return folder


def spoil(source, folder, change, dtype):
    """A copy of other integers; change(data, flats, darks)."""
    path = folder / source.name
    path.write_bytes(source.read_bytes())
    with h5py.File(path, "r+") as file:
        arrays = [file[f"exchange/{name}"][:].astype(dtype) for name in ("data", "data_white", "data_dark")]
        change(*arrays)
        for name, values in zip(("data", "data_white", "data_dark"), arrays):
            del file[f"exchange/{name}"]
            file[f"exchange/{name}"] = values
    return path


def image_of(verb, scan, out, *more):
    how = {"fbp": (), "fdk": CONE, "sirt": ("-g", "parallel", "--iterations", 100), "cgls": ("-g", "parallel", "--iterations", 12)}[verb]
    done = qb(verb, scan, *how, *more, "-o", out, "--json")
    image_of.report, image_of.said = json.loads(done.stdout), done.stderr
    return np.load(out)


def middle(volume):
    z, y, x = (n // 2 for n in volume.shape)
    return volume[z - 1:z + 1, y - 4:y + 4, x - 4:x + 4].mean()


GAPS = [20, 21, 22, 45]


def gaps(data, flats, darks):
    for frames in data, flats:
        frames[:, :, GAPS] = np.iinfo(frames.dtype).max


def gaps_of_data(data, flats, darks):
    data[:, :, GAPS] = np.iinfo(data.dtype).max


@pytest.mark.parametrize("verb, change, dtype", [("fbp", gaps, "u4"), ("fbp", gaps, "u2"), ("fbp", gaps_of_data, "u4"), ("fdk", gaps, "u4"),
                                                 ("fdk", gaps_of_data, "u2"), ("sirt", gaps, "u4"), ("sirt", gaps_of_data, "u2"),
                                                 ("cgls", gaps, "u2")])
def test_gaps_of_a_detector(good, tmp_path, verb, change, dtype):
    source = good / ("c.h5" if verb == "fdk" else "s.h5")
    scan = spoil(source, tmp_path, change, dtype)
    assert middle(image_of(verb, scan, tmp_path / "v.npy")) == pytest.approx(TRUTH, rel=0.01)
    mended = image_of.report["preparation"]
    lost = mended["saturated"] if change is gaps_of_data else mended["dead"]
    assert lost >= len(GAPS) * 120 * 24 and "[saturated]" in image_of.said or "[flats-saturated]" in image_of.said
    assert f"at {np.iinfo(dtype).max}" in image_of.said


def test_saturated_air(good, tmp_path):
    """A detector that clips where little stands in the beam: up to the row's end that is air."""
    def clip(data, flats, darks):
        flats[:, :, :] = np.minimum(flats, 60000)
        data[data > 47000] = 65535
    scan = spoil(good / "s.h5", tmp_path, clip, "u2")
    assert middle(image_of("fbp", scan, tmp_path / "v.npy")) == pytest.approx(TRUTH, rel=0.01)
    assert image_of.report["preparation"]["saturated"] > 10000 and "saturated at 65535, most in view" in image_of.said
    assert "saturated" in qb("info", scan).stdout


@pytest.mark.parametrize("verb", ["fbp", "fdk"])
def test_a_device_mends_the_same(good, tmp_path, verb):
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    def change(data, flats, darks):
        gaps(data, flats, darks)
        data[::3, :, 5:9] = data[1::3, :, :3] = data[2::3, 4, -2:] = data[7, 12] = 65535
    scan = spoil(good / ("c.h5" if verb == "fdk" else "s.h5"), tmp_path, change, "u2")
    cpu = image_of(verb, scan, tmp_path / "a.npy", "--device", "cpu")
    counted = image_of.report["preparation"]
    device = image_of(verb, scan, tmp_path / "b.npy", "--device", "opencl", "--accuracy", "high")
    if verb == "fbp":
        assert image_of.report["preparation"] == counted
    assert device == pytest.approx(cpu, abs=1e-5) and counted["saturated"] > 1000
