# SPDX-License-Identifier: MIT
"""Turned, leaning and bent detectors: resampled to an upright, flat one where rows are not level, and as accurate."""
import json

import numpy as np
import pytest

from conebeam import Circle, inside, integrals
from qbtest import fails, few, qb, qb_json, read_h5, slow, smallest_cap
from test_fdk_values import MU, OBJECT, deviations, fdk, good

ANGLES = np.arange(300) * 1.2
GRID = ["--size", "160,160,26", "--voxel", "0.625"]
TALL = ["--size", "160,160,128", "--voxel", "0.625"]  # slices enough for the kernel of circles


def streaks(volume):
    """The rms outside of the object, in the mid-plane, of MU."""
    truth, far = inside([(MU, (0, 0, 0), (42, 36, 30))], volume.shape, 0.625, 4)
    return np.sqrt((volume[13][(truth[13] == 0) & far[13]] ** 2).mean()) / MU


@pytest.fixture(scope="module")
def upright(tmp_path_factory):
    circle = Circle(500, 800, 160, 64, 1.0)
    v, _ = fdk(tmp_path_factory.mktemp("upright"), circle, circle.project(OBJECT, ANGLES), ANGLES, *GRID)
    return streaks(v)


@pytest.mark.parametrize("tilt", few(10.0, others=[3.0, -10.0]))
def test_in_plane_rotation(tmp_path, upright, tilt):
    """As good as without, and by the fast kernel; not resampled, 10 degrees cost 2 %."""
    circle = Circle(500, 800, 160, 64, 1.0, tilt=(tilt, 0, 0))
    p = circle.project(OBJECT, ANGLES)
    v, said = fdk(tmp_path, circle, p, ANGLES, *GRID, "--tilt", f"{tilt},0,0")
    assert "resampled" in said and good(v, 0.625, 13) and streaks(v) < 1.1 * upright
    plan = qb_json("plan", "fdk", tmp_path / "p.npy", *circle.args(), "--angles", tmp_path / "angles.txt", *TALL,
                   "--tilt", f"{tilt},0,0", "-o", tmp_path / "v.h5")
    assert plan["resampled"] and plan["kernel"].startswith("bp_cone_circular")
    rows, columns = plan["upright_rows_columns"]
    assert rows >= 64 and columns >= 160
    if abs(tilt) > 5:
        raw, _ = fdk(tmp_path, circle, p, ANGLES, *GRID, "--tilt", f"{tilt},0,0", "--resample", "never")
        assert deviations(raw, 0.625, 13)[0] > 0.01


@pytest.mark.parametrize("tilt", few((4, 3, -5), others=[((0, 6, 0),), ((0, -8, 0),), ((0, 0, 12),)]))
def test_a_leaning_detector(tmp_path, tilt):
    """Rows of a detector that leans lie at distances of their own; level ones need no resampling."""
    circle = Circle(500, 800, 160, 64, 1.0, tilt=tilt)
    v, said = fdk(tmp_path, circle, circle.project(OBJECT, ANGLES), ANGLES, *GRID, "--tilt", "%g,%g,%g" % tilt)
    assert ("resampled" in said) == (tilt[0] != 0)
    assert good(v, 0.625, 13)
    mean, rms = deviations(v, 0.625, 1, 3.0, (MU,))
    assert mean < 0.003 and rms < 0.015


@slow
def test_a_leaning_detector_may_be_resampled_too(tmp_path):
    circle = Circle(500, 800, 160, 64, 1.0, tilt=(0, 6, 0))
    v, said = fdk(tmp_path, circle, circle.project(OBJECT, ANGLES), ANGLES, *GRID, "--tilt", "0,6,0", "--resample",
                  "always", "--kernel", "bp_cone_circular.scalar")
    assert "resampled" in said and good(v, 0.625, 13)


def test_jitter_and_rotation_together(tmp_path):
    def shift(t):
        s = np.sin(np.deg2rad(2 * t + 30))
        return 3 * s, 2 * s
    circle = Circle(500, 800, 160, 64, 1.0, tilt=(5, 0, 0), shift=shift)
    v, said = fdk(tmp_path, circle, circle.project(OBJECT, ANGLES), ANGLES, *GRID, "--jitter", "3,2,2,30", "--tilt",
                  "5,0,0")
    assert "resampled" in said and good(v, 0.625, 13)


@pytest.mark.parametrize("tilt,offset,angles,weights", [
    pytest.param(8, 0, np.arange(300) * 0.72 + 33, "Parker", id="short scan", marks=slow),
    pytest.param(8, -45, np.arange(400) * 0.9, "Wang", id="half fan"),
    pytest.param(-12, 40, np.arange(400) * 0.9, "Wang", id="the other half", marks=slow)])
def test_in_plane_rotation_and_redundant_rays(tmp_path, tilt, offset, angles, weights):
    circle = Circle(500, 800, 160, 48, 1.0, offset=(offset, 0), tilt=(tilt, 0, 0))
    v, said = fdk(tmp_path, circle, circle.project(OBJECT, angles), angles, "--size", "160,160,12", "--voxel", "0.625",
                  "--tilt", f"{tilt},0,0", "--detector-offset=%g,0" % offset)
    assert "resampled" in said and weights in said and good(v, 0.625, 6)


@pytest.mark.parametrize("radius,offset,tilt,columns", [
    *few((300, 40, 0, 300), (300, 0, 6, 300), others=[(300, 0, 0, 300), (160, 0, 0, 300), (300, -60, 0, 300)])])
def test_bent_detector(tmp_path, radius, offset, tilt, columns):
    """A fan of 57 degrees. Taken for flat, the same data are useless."""
    circle = Circle(150, 300, columns, 40, 1.0, radius=radius, offset=(offset, 0), tilt=(tilt, 0, 0))
    options = ["--size", "200,200,10", "--voxel", "0.5", "--detector-offset=%g,0" % offset, "--tilt", f"{tilt},0,0"]
    p = circle.project(OBJECT, ANGLES)
    v, said = fdk(tmp_path, circle, p, ANGLES, *options, "--detector-radius", radius)
    assert "curved" in said and ("Wang" in said) == (offset != 0)
    assert good(v, 0.5, 5) and good(v, 0.5, 4)
    if not offset and not tilt:
        flat, _ = fdk(tmp_path, circle, p, ANGLES, *options)
        assert deviations(flat, 0.5, 5)[0] > 0.02


def xml(circle, angles, extra):
    """RTK's gantry angle is ours; its y is our z."""
    projections = "".join(f"<Projection><GantryAngle>{a}</GantryAngle></Projection>" for a in angles)
    return ('<?xml version="1.0"?><RTKThreeDCircularGeometry version="3">'
            f"<SourceToIsocenterDistance>{circle.sod}</SourceToIsocenterDistance>"
            f"<SourceToDetectorDistance>{circle.sdd}</SourceToDetectorDistance>{extra}{projections}"
            "</RTKThreeDCircularGeometry>")


def matrices(circle, angles):
    """Of a flat detector, from its own pixel centres: the map of mm to (column w, row w, w)."""
    out = []
    for angle in angles:
        source, place = circle.view(angle)
        basis = np.stack([place[0, 1] - place[0, 0], place[1, 0] - place[0, 0], place[0, 0] - source], axis=1)
        a = np.linalg.inv(basis)
        out.append(np.concatenate([a, -(a @ source)[:, None]], axis=1).ravel())
    return np.array(out)


@pytest.mark.parametrize("kind", ["rtk in-plane", "rtk bent and shifted", "json", "matrices"])
def test_geometry_files(tmp_path, kind):
    shifted = kind == "rtk bent and shifted"
    circle = Circle(300, 480, 180, 48, 1.0, radius=250 if shifted else 0, offset=(30 if shifted else 0, 0),
                    tilt=(0 if shifted else 7, 0, 0))
    name = tmp_path / {"json": "g.json", "matrices": "g.csv"}.get(kind, "g.xml")
    if kind == "json":
        name.write_text(json.dumps({
            "quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 48, "columns": 180, "sod": 300,
            "sdd": 480, "pixel_size": [1, 1], "tilt_degrees": [7, 0, 0], "angles_degrees": list(ANGLES)}))
    elif kind == "matrices":
        np.savetxt(name, matrices(circle, ANGLES), delimiter=",", fmt="%.15g")
    else:
        # seen from the source, RTK turns the panel the other way round than --tilt
        extra = ("<RadiusCylindricalDetector>250</RadiusCylindricalDetector>"
                 "<ProjectionOffsetX>30</ProjectionOffsetX>" if shifted else "<InPlaneAngle>-7</InPlaneAngle>")
        name.write_text(xml(circle, ANGLES, extra))
    np.save(tmp_path / "p.npy", circle.project(OBJECT, ANGLES))
    said = qb("fdk", tmp_path / "p.npy", "-g", name, "--pixel-size", 1, "--size", "160,160,12", "--voxel", "0.625", "-o",
              tmp_path / "v.h5").stderr
    assert "resampled" in said and good(read_h5(tmp_path / "v.h5"), 0.625, 6)


@pytest.mark.parametrize("turn", few(90, others=[-90, 180]))
def test_a_detector_on_its_side_or_its_head(tmp_path, turn):
    rows, columns = (40, 160) if turn == 180 else (160, 40)
    circle = Circle(500, 800, columns, rows, 1.0, tilt=(turn, 0, 0))
    (tmp_path / "g.xml").write_text(xml(circle, ANGLES, f"<InPlaneAngle>{-turn}</InPlaneAngle>"))
    np.save(tmp_path / "p.npy", circle.project(OBJECT, ANGLES))
    qb("fdk", tmp_path / "p.npy", "-g", tmp_path / "g.xml", "--pixel-size", 1, "--size", "160,160,12", "--voxel", "0.625",
       "-o", tmp_path / "v.h5")
    assert good(read_h5(tmp_path / "v.h5"), 0.625, 6)


@slow
def test_a_calibrated_scan(tmp_path):
    """Source and detector of each view where a calibration found them: by the general kernel, and resampled by the
    fast one."""
    rng, views, projections = np.random.default_rng(7), [], []
    rows, columns = 64, 160
    for angle in ANGLES:
        t, turn, lean = np.deg2rad([angle, 1 + 0.4 * np.sin(np.deg2rad(3 * angle)), 0.5])
        ray, side, up = np.array([-np.sin(t), np.cos(t), 0]), np.array([np.cos(t), np.sin(t), 0]), np.array([0, 0, 1.0])
        up, ray = up * np.cos(lean) + ray * np.sin(lean), ray * np.cos(lean) - up * np.sin(lean)
        u, v = side * np.cos(turn) + up * np.sin(turn), up * np.cos(turn) - side * np.sin(turn)
        source = -500 * np.array([-np.sin(t), np.cos(t), 0]) + rng.normal(0, 0.2, 3)
        corner = 300 * ray + rng.normal(0, 0.3, 3) - (columns - 1) / 2 * u - (rows - 1) / 2 * v
        views.append({"source": list(source), "detector": list(corner), "u": list(u), "v": list(v)})
        place = corner + np.arange(rows)[:, None, None] * v + np.arange(columns)[None, :, None] * u
        projections.append(integrals(OBJECT, source, place))
    (tmp_path / "g.json").write_text(json.dumps({
        "quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": rows, "columns": columns, "views": views}))
    np.save(tmp_path / "p.npy", np.array(projections, np.float32))
    args = ["fdk", tmp_path / "p.npy", "-g", tmp_path / "g.json", "-o", tmp_path / "v.h5"]
    for how, kernel in (("never", "bp_cone_matrix"), ("always", "bp_cone_circular"), ("auto", "bp_cone_circular")):
        assert qb_json("plan", *args, *TALL, "--resample", how)["kernel"].startswith(kernel)
        qb(*args, "--size", "160,160,12", "--voxel", "0.625", "--resample", how)
        assert good(read_h5(tmp_path / "v.h5"), 0.625, 6), how


def test_same_bits_however_cut(tmp_path):
    circle = Circle(500, 800, 160, 64, 1.0, tilt=(8, 0, 0))
    np.save(tmp_path / "p.npy", circle.project(OBJECT, ANGLES[::5]))
    args = ["fdk", tmp_path / "p.npy", *circle.args(), "--angles", "0:360", "--tilt", "8,0,0", "-o", tmp_path / "v.h5"]
    first = None
    for options in ([], ["--threads", "1"], ["--max-ram", smallest_cap(*args, "--threads", "3"), "--threads", "3"]):
        qb(*args, *options)
        if options and options[0] == "--max-ram":
            assert qb_json("plan", *args, *options)["chunks"] >= 2
        v = read_h5(tmp_path / "v.h5")
        first = v if first is None else first
        assert np.array_equal(first, v)


def test_refusals(tmp_path):
    circle = Circle(100, 150, 600, 8, 1.0)
    np.save(tmp_path / "p.npy", np.zeros((60, 8, 600), np.float32))
    args = ["fdk", tmp_path / "p.npy", *circle.args(), "--angles", "0:360", "-o", tmp_path / "v.h5", "--size", "32"]
    fails(3, *args, "--detector-radius", "140", says=["190.986", "flat"])
    fails(3, *args, "--detector-radius", "195", says=["view 0", "flat"])
    fails(2, *args, "--detector-radius", "400", "--resample", "never", says=["400", "--resample"])
    assert not (tmp_path / "v.h5").exists()
