# SPDX-License-Identifier: MIT
"""qb cgls and qb sirt of an object that reaches out of the volume: what is within would take up what is not, without a word."""
import json

import numpy as np
import pytest

from qbtest import qb

COLUMNS, ROWS = 48, 32
CONE = ["--sod", 300, "--sdd", 500]
WORDS = "meet no voxel"


def scan(folder, beam):
    how = ["--geometry", "cone", *CONE] if beam == "cone" else []
    qb("simulate", "ball", "-o", folder / "s.h5", "--views", 12, "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1, "--photons", 20000, *how)
    return [folder / "s.h5", *(CONE if beam == "cone" else ["--center", "middle"])]


def share(folder, given, verb, *how):
    done = qb(verb, *given, "-o", folder / "v.npy", "--iterations", 1, "--json", *how)
    told = json.loads(done.stdout)["convergence"]
    assert ("beyond_the_volume" in told) == (WORDS in done.stderr)
    return told.get("beyond_the_volume", 0)


@pytest.mark.parametrize("verb", ["cgls", "sirt"])
@pytest.mark.parametrize("beam", ["parallel", "cone"])
def test_what_the_volume_leaves_out_is_told(tmp_path, beam, verb):
    given = scan(tmp_path, beam)
    assert share(tmp_path, given, verb) == 0
    for how in ["--size", f"12,12,{ROWS}"], ["--size", f"{COLUMNS},{COLUMNS},8"], ["--offset", "20,0,0"]:
        assert 0.02 < share(tmp_path, given, verb, *how) < 1, how


def test_of_an_axis_far_off(tmp_path):
    assert 0.02 < share(tmp_path, [scan(tmp_path, "parallel")[0], "--center", 0], "cgls", "--size", f"24,24,{ROWS}") < 1


def test_by_hand(tmp_path):
    """Of slices alone: a parallel beam's row meets them, or not, whatever the angle; a voxel of room is given."""
    given = scan(tmp_path, "parallel")
    qb("convert", given[0], "-o", tmp_path / "l.npy")
    lines = np.load(tmp_path / "l.npy").astype(float)
    away = abs(np.arange(ROWS) - (ROWS - 1) / 2)
    want = lines[:, away > 4 + 1].sum() / lines.sum()
    assert share(tmp_path, given, "cgls", "--size", f"{COLUMNS},{COLUMNS},8") == pytest.approx(want, rel=1e-4)


def test_an_object_that_leaves_the_volume_in_few_views(tmp_path):
    """Few rays, but the image is wrong: of a volume to one side, and of slanted rays above and below a flat volume."""
    qb("simulate", "shepp-logan", "-o", tmp_path / "s.h5", "--views", 60, "--detector", "64,2", "--pixel-size", 2)
    given = [tmp_path / "s.h5", "--center", "middle"]
    assert share(tmp_path, given, "sirt") == 0
    assert share(tmp_path, given, "sirt", "--offset", "16,0,0") == 0  # the object still lies within
    assert 0.001 < share(tmp_path, given, "sirt", "--offset", "32,0,0") < 0.02


def test_slanted_rays(tmp_path):
    """Laminography, by matrices: pixel = K R (x - source), 30 degrees above the plane."""
    rows = []
    for a in np.arange(24) * np.pi / 12:
        to = np.array([np.cos(a) * np.cos(0.5236), np.sin(a) * np.cos(0.5236), 0.5])
        u = np.array([-np.sin(a), np.cos(a), 0])
        turned = np.stack([u * 500 / 3, np.cross(to, u) * 500 / 3, -to])
        matrix = np.array([[1, 0, 23.5], [0, 1, 23.5], [0, 0, 1]]) @ np.hstack([turned, (-turned @ (300 * to))[:, None]])
        rows.append(matrix.ravel())
    np.savetxt(tmp_path / "g.txt", rows)
    place = ["-g", tmp_path / "g.txt", "--pixel-size", 3]
    qb("simulate", "shepp-logan", *place[:2], "--detector", "48,48", *place[2:], "--size", "48,48,16", "--voxel", 1.8, "-o", tmp_path / "s.h5")
    given = [tmp_path / "s.h5", *place]
    assert 0.001 < share(tmp_path, given, "sirt", "--size", "48,48,16", "--voxel", 1.8) < 0.1
    assert share(tmp_path, given, "sirt", "--size", "80,80,80", "--voxel", 1.8) == 0
