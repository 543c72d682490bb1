# SPDX-License-Identifier: MIT
"""Options given twice: lists add up, others are refused. Offsets with a unit behind each, angles that say how many views there are."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, provenance_h5, qb, qb_json, write_scan


@pytest.fixture
def scan(tmp_path):
    """Transmission 0.5 of flats 96, 100, 104 in a.npy and 108 in b.npy: their mean is 102."""
    write_scan(tmp_path / "s.h5", np.full((12, 2, 16), 51, np.uint16), np.arange(12) * 15.0, pixel=1)
    np.save(tmp_path / "a.npy", np.full((3, 2, 16), [[[96]], [[100]], [[104]]], np.float32))
    np.save(tmp_path / "b.npy", np.full((1, 2, 16), 108, np.float32))
    np.save(tmp_path / "d.npy", np.zeros((2, 2, 16), np.float32))
    return tmp_path


def integrals(folder, *args):
    qb("convert", "s.h5", "-o", "l.npy", *args, cwd=folder)
    return np.load(folder / "l.npy")


def test_lists_add_up(scan):
    told = qb_json("info", "s.h5", "--flats", "a.npy", "--flats", "b.npy", "--darks", "d.npy", "--darks", "d.npy", cwd=scan)
    assert (told["flats"], told["darks"]) == (4, 4)
    assert np.allclose(integrals(scan, "--flats", "a.npy", "--flats", "b.npy"), np.log(2), atol=1e-6)
    assert np.allclose(integrals(scan, "--flats=b.npy", "--flats", "a.npy", "--threads", 1), np.log(2), atol=1e-6)


def test_the_command_and_the_configuration_repeat_them(scan):
    (scan / "c").write_text("flats = a.npy\nflats = b.npy\n")
    assert np.allclose(integrals(scan, "--config", "c"), np.log(2), atol=1e-6)
    assert np.allclose(integrals(scan, "--config", "c", "--flats", "b.npy"), np.log(108 / 51), atol=1e-6)  # the command line wins
    qb("fbp", "s.h5", "-o", "v.h5", "--flats", "a.npy", "--config", "c", "--flats", "b.npy", "--center", 7.5, "--save-config", "d", cwd=scan)
    command = provenance_h5(scan / "v.h5")["command"]
    assert command.count("--flats") == 2 and "a.npy" in command and "b.npy" in command
    text = (scan / "d").read_text()
    assert "\nflats = a.npy\nflats = b.npy\n" in text
    assert qb_json("info", "s.h5", "--flats", "a.npy", "--flats", "b.npy", cwd=scan)["flats"] == 4


@pytest.mark.parametrize("args,name", [
    (["--center", 7, "--center", 8], "center"), (["--darks", "d.npy", "--filter", "hann", "--filter", "ramp"], "filter"),
    (["-o", "w.npy"], "output"), (["--threads", 1, "--threads=2"], "threads"), (["--views", "0:6", "--views", "6:12"], "views"),
    (["--config", "c", "--config", "c"], "config")])
def test_others_are_refused(scan, args, name):
    (scan / "c").write_text("pad = zero\n")
    fails(2, "fbp", "s.h5", "-o", "v.npy", "--flats", "a.npy", *args, says=[f"--{name} is given twice"], cwd=scan)
    (scan / "e").write_text("pad = zero\npad = edge\n")
    fails(2, "fbp", "s.h5", "-o", "v.npy", "--config", "e", says=["line 2", "--pad is given twice"], cwd=scan)
    qb("info", "s.h5", "--flats", "a.npy", "--json", "--json", cwd=scan)


def test_fields_that_do_not_fit_together(scan):
    np.save(scan / "n.npy", np.full((1, 2, 15), 108, np.float32))
    fails(3, "info", "s.h5", "--flats", "a.npy", "--flats", "n.npy", says=["n.npy", "2 x 15", "2 x 16"], cwd=scan)
    fails(2, "fbp", "s.h5", "-o", "v", "--sweep", "filter=ramp,hann", "--sweep", "rings=none,sort", says=["one run sweeps one option"], cwd=scan)
    fails(3, "convert", "a.npy", "-o", "v.nii", says=["--volume if it is a volume"], cwd=scan)
    np.save(scan / "u.npy", np.full((1, 2, 16), 108, np.uint16))
    assert np.allclose(integrals(scan, "--flats", "a.npy", "--flats", "u.npy"), np.log(2), atol=1e-6)


CONE = ["--geometry", "cone", "--sod", 100, "--sdd", 200, "--detector", "32,8", "--pixel-size", 0.5]


@pytest.mark.parametrize("text,mm", [("3px,0px", (1.5, 0)), ("3px,2px", (1.5, 1)), ("3,2px", (1.5, 1)), ("3px,2", (1.5, 1)), ("3px", (1.5, 0)),
                                     ("3px,2mm", (1.5, 2)), ("3mm,2px", (3, 1)), ("3,2", (3, 2)), ("3mm,2mm", (3, 2)), ("-3px,-2px", (-1.5, -1))])
def test_offsets_in_pixels(tmp_path, text, mm):
    for name, offset in ("a", text), ("b", "%g,%g" % mm):
        qb("simulate", "ball", *CONE, "--views", 8, f"--detector-offset={offset}", "-o", "s.h5", "--geometry-out", f"{name}.json", cwd=tmp_path)
    first = [json.loads((tmp_path / f"{name}.json").read_text())["views"][0]["detector"] for name in "ab"]
    assert np.allclose(*first, atol=1e-9)


@pytest.mark.parametrize("text", ["3pix", "3px,", "px", "3px,2px,1px", "3 px", ",2"])
def test_offsets_that_are_none(tmp_path, text):
    fails(2, "simulate", "ball", *CONE, "--views", 8, f"--detector-offset={text}", "-o", "s.h5", says=["Upx,Vpx"], cwd=tmp_path)


def test_angles_say_how_many_views_are_simulated(tmp_path):
    values = np.random.default_rng(2).random(23) * 180
    np.savetxt(tmp_path / "a.txt", values)
    np.save(tmp_path / "a.npy", values)
    for args, want in ((["a.txt"], values), (["a.npy"], values), (["a.txt:3:20:2"], values[3:20:2]), (["10:40:6"], np.arange(6) * 5.0 + 10)):
        qb("simulate", "disc", "--detector", "32,1", "--angles", *args, "-o", "s.h5", cwd=tmp_path)
        with h5py.File(tmp_path / "s.h5") as f:
            assert np.allclose(f["exchange/theta"][()], want)
    fails(3, "simulate", "disc", "--detector", "32,1", "--angles", "a.txt", "--views", 24, "-o", "s.h5", says=["23 angles", "24 views"], cwd=tmp_path)
    told = json.loads(qb("info", "--sod", 100, "--sdd", 200, "--pixel-size", 1, "--detector", "32,8", "--angles", "a.txt", "--json", cwd=tmp_path).stdout)
    assert told["geometry"]["views"] == 23 if "geometry" in told else told["views"] == 23
