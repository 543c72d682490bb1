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
