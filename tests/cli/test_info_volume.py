# SPDX-License-Identifier: MIT
"""qb info of a reconstruction: that it is a volume, its grid and values, and how it was made."""
import h5py
import numpy as np
import pytest

from qbtest import qb, qb_json

NAMES = pytest.mark.parametrize("name", ["v.h5", "v.mha", "v.tif", "v.npy", "v.raw", "v/"])


@pytest.fixture
def folder(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", "--detector", "32,5", "--views", "48", "--pixel-size", "0.5", cwd=tmp_path)
    return tmp_path


def run(folder, name, *options):
    qb("fbp", "s.h5", "--center", "15.5", "--slices", "0:4", "-o", name, *options, cwd=folder)


@NAMES
def test_volume(folder, name):
    run(folder, name, "--size", "20,24", "--offset", "1,-2", "--filter", "hann")
    told = qb_json("info", name, cwd=folder)
    assert told["kind"] == "volume" and told["size"] == [20, 24, 4] and told["voxel_mm"] == [0.5] * 3
    assert told["offset_mm"] == pytest.approx([1, -2, -0.25]) and told["dtype"] == "float32"
    assert told["quantity"] == "attenuation" and told["units"] == "1/mm" and "scale" not in told
    made = told["provenance"]
    assert made["input"].endswith("/s.h5") and "--filter hann" in made["command"] and made["plan"]["verb"] == "fbp"
    said = qb("info", name, cwd=folder).stdout
    for words in ("20 x 24 x 4 voxels (x, y, z)", "attenuation in 1/mm", "0.5 x 0.5 x 0.5 mm", "(1, -2, -0.25)", "s.h5",
                  made["command"], made["plan"]["kernel"], made["run"]["date"]):
        assert words in said, words
    assert "views" not in said.split("command")[0].split("angles")[0] and "problem" not in said


@NAMES
def test_integers_and_hounsfield(folder, name):
    run(folder, name, "--dtype", "uint16", "--range=-1000,600", "--hu", "0.02")
    told = qb_json("info", name, cwd=folder)
    assert told["quantity"] == "Hounsfield" and told["units"] == "HU" and told["scale"] == [-1000, 600]
    assert "stand for -1000 to 600" in qb("info", name, cwd=folder).stdout


def test_a_long_story_of_an_mha_is_beside_it(folder):
    """What does not fit into the header is in the .json that the header names."""
    run(folder, "v.mha")
    raw = (folder / "v.mha").read_bytes()
    at, end = raw.index(b"QuickbeamProvenance = ") + 22, raw.index(b"\nElementDataFile")
    (folder / "v.mha").write_bytes(raw[:at] + b"see the .json next to this file".ljust(end - at) + raw[end:])
    assert "provenance" not in qb_json("info", "v.mha", cwd=folder)
    (folder / "v.mha.json").write_text('{"writer": "quickbeam", "provenance": {"command": "qb fbp long"}}')
    assert qb_json("info", "v.mha", cwd=folder)["provenance"] == {"command": "qb fbp long"}


def test_what_is_no_volume_stays_a_scan(folder):
    assert qb_json("info", "s.h5", cwd=folder)["kind"] == "scan"
    run(folder, "v.h5")
    # asked about as a scan, it is described as one
    assert qb_json("info", "v.h5", "--angles", "0:180", cwd=folder)["views"] == 4
    with h5py.File(folder / "v.h5", "a") as f:
        del f["/process"]
    assert "does not say how it was made" in qb("info", "v.h5", cwd=folder).stdout
    np.save(folder / "bare.npy", np.zeros((3, 4, 5), np.float32))
    assert qb_json("info", "bare.npy", cwd=folder)["kind"] == "scan"


@pytest.mark.parametrize("story", ["{", "7", '{"plan": 3, "run": [], "command": {}, "version": null}'])
def test_an_odd_story(folder, story):
    run(folder, "v.h5")
    with h5py.File(folder / "v.h5", "a") as f:
        del f["/process/quickbeam/provenance"]
        f["/process/quickbeam/provenance"] = story
    assert "voxels (x, y, z)" in qb("info", "v.h5", cwd=folder).stdout
    assert qb_json("info", "v.h5", cwd=folder)["kind"] == "volume"
