# SPDX-License-Identifier: MIT
"""Projections and slices beside the ASTRA toolbox's, on the CPU. Its picture's first row is the highest y, ours the lowest."""
import astra
import numpy as np
import pytest

from qbtest import SHEPP_LOGAN, circle, image, qb, read_h5, scaled, sinogram, slope_correlation, turns, write_scan

N, VIEWS = 192, 240
ANGLES = np.arange(VIEWS) * 180 / VIEWS


@pytest.fixture
def projector():
    """(its geometry of N columns, of N x N pixels, its projector of linear interpolation: Joseph's)."""
    columns = astra.create_proj_geom("parallel", 1.0, N, np.deg2rad(ANGLES))
    pixels = astra.create_vol_geom(N, N)
    made = astra.create_projector("linear", columns, pixels)
    yield columns, pixels, made
    astra.clear()


def picture():
    return image(scaled(SHEPP_LOGAN, N / 2), N)


def test_projections(projector, tmp_path):
    volume = picture() + 0.01 * np.random.default_rng(5).normal(size=(N, N)) * circle(N, N / 2 - 2)
    _, theirs = astra.create_sino(volume[::-1], projector[2])
    np.save(tmp_path / "v.npy", volume[None].astype(np.float32))
    (tmp_path / "g.json").write_text(
        f'{{"quickbeam_geometry": 1, "units": "mm", "beam": "parallel", "rows": 1, "columns": {N}, "pixel_size": [1, 1], '
        f'"center": {(N - 1) / 2}, "angles_degrees": {{"from": 0, "to": 180, "count": {VIEWS}}}}}')
    qb("project", tmp_path / "v.npy", "-g", tmp_path / "g.json", "--voxel", 1, "-o", tmp_path / "p.h5")
    ours = read_h5(tmp_path / "p.h5")[:, 0]
    assert np.linalg.norm(ours - theirs) < 2e-4 * np.linalg.norm(theirs)


def test_slices(projector, tmp_path):
    """Both filter with the ramp and interpolate linearly: what differs is where rows are padded."""
    p = sinogram(scaled(SHEPP_LOGAN, N / 2), ANGLES, N, (N - 1) / 2).astype(np.float32)
    columns, pixels, made = projector
    slice_id, sino_id = astra.data2d.create("-vol", pixels), astra.data2d.create("-sino", columns, p)
    config = astra.astra_dict("FBP")
    config.update(ProjectorId=made, ProjectionDataId=sino_id, ReconstructionDataId=slice_id, option={"FilterType": "Ram-Lak"})
    astra.algorithm.run(astra.algorithm.create(config))
    theirs = astra.data2d.get(slice_id)[::-1]
    write_scan(tmp_path / "s.h5", p[:, None], ANGLES, pixel=1.0, quantity="line_integral")
    qb("fbp", tmp_path / "s.h5", "-o", tmp_path / "v.h5", "--center", (N - 1) / 2, "--filter", "ramp")
    ours, inside = read_h5(tmp_path / "v.h5")[0], circle(N, N / 2 - 2)
    scores = [slope_correlation(turn[inside], theirs[inside]) for turn in turns(ours)]
    assert np.argmax([c for _, c in scores]) == 0, scores
    assert abs(scores[0][0] - 1) < 0.01 and scores[0][1] > 0.999, scores[0]
    truth = picture()
    mine, peer = (np.sqrt(np.mean((x - truth)[inside] ** 2)) for x in (ours, theirs))
    assert mine < 1.02 * peer, (mine, peer)
