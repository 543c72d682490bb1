# SPDX-License-Identifier: MIT
"""--size object: the volume is the box of the object, a part of the volume that the verb makes without it."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

RADIUS = 0.4 * 30


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """A ball of 24 voxels in a volume of 96 x 96 x 48."""
    folder = tmp_path_factory.mktemp("crop")
    same = ["--detector", "96,48", "--views", "120", "--pixel-size", "1", "--size", "40,30,30", "--photons", "20000"]
    qb("simulate", "ball", *same, "-o", folder / "fbp.h5")
    qb("simulate", "ball", *same, "--voxel", "0.5", "--geometry", "cone", "--sod", "300", "--sdd", "600", "-o", folder / "fdk.h5")
    return folder


@pytest.mark.parametrize("verb, how", [("fbp", ["--center", "47.5"]), ("sirt", ["--center", "47.5", "--iterations", "5"]), ("fdk", ["--sod", "300", "--sdd", "600"])])
def test_the_box_of_a_ball(scans, tmp_path, verb, how):
    scan = scans / ("fdk.h5" if verb == "fdk" else "fbp.h5")
    qb(verb, scan, "-o", tmp_path / "whole.npy", *how)
    report = qb_json(verb, scan, "-o", tmp_path / "box.npy", "--size", "object", *how)
    whole, box = np.load(tmp_path / "whole.npy"), np.load(tmp_path / "box.npy")
    assert report["warnings"] == []
    assert all(2 * RADIUS <= n <= 2 * RADIUS + 8 for n in box.shape), box.shape
    if verb == "sirt":  # other unknowns, another residual: the ball is there
        assert box[tuple(n // 2 for n in box.shape)] == pytest.approx(0.02, rel=0.1)
        return
    found = min((abs(whole[z:z + box.shape[0], y:y + box.shape[1], x:x + box.shape[2]] - box).max(), (z, y, x))
                for z, y, x in np.ndindex(*(w - b + 1 for w, b in zip(whole.shape, box.shape)))
                if all(abs(at + b / 2 - w / 2) < 3 for at, b, w in zip((z, y, x), box.shape, whole.shape)))
    assert found[0] < 2e-4 * whole.max()  # the same voxels of the same grid
    outside = whole.copy()
    z, y, x = found[1]
    outside[z:z + box.shape[0], y:y + box.shape[1], x:x + box.shape[2]] = 0
    assert outside.max() < 0.01  # nothing of the ball is left out


@pytest.mark.parametrize("scan, how", [("fbp.h5", ["--center", "47.5"]), ("fdk.h5", ["--sod", "300", "--sdd", "600"])])
def test_mbir_keeps_the_middle(scans, tmp_path, scan, how):
    """Its volume lies about the axis: the box is as wide on both sides; of parallel beams it has the slices of the ball."""
    report = qb_json("mbir", scans / scan, "-o", tmp_path / "box.npy", "--size", "object", "--equits", "3", *how)
    box = np.load(tmp_path / "box.npy")
    assert all(2 * RADIUS <= n <= 2 * RADIUS + 8 for n in box.shape), box.shape
    assert box[tuple(n // 2 for n in box.shape)] == pytest.approx(0.02, rel=0.15), report
    y = np.flatnonzero(box[box.shape[0] // 2].max(axis=0) > 0.01)
    assert abs(y.mean() - (box.shape[2] - 1) / 2) < 1


def test_refused(scans, tmp_path):
    job = ["-o", tmp_path / "v.npy", "--size", "object", "--center", "47.5"]
    assert "leave --slices out" in fails(2, "fbp", scans / "fbp.h5", *job, "--slices", "1:3")
    assert "--save-config" in fails(2, "fbp", scans / "fbp.h5", *job, "--save-config", tmp_path / "c")
    assert not list(tmp_path.iterdir())
