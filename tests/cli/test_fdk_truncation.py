# SPDX-License-Identifier: MIT
"""Objects wider than the detector: what each --pad makes of the inside of the field of view."""
import numpy as np
import pytest

from conebeam import Circle, inside, voxels
from qbtest import circle, few, qb, read_h5, sinogram, write_scan
from test_fdk_values import MU, fdk

BALL = [(MU, (0, 0, 0), (70, 70, 70))]
BODY = [(MU, (12, -8, 0), (80, 60, 60)), (-MU / 2, (-15, 9, -4), (9, 12, 10)), (MU / 2, (14, -8, 6), (12, 9, 11))]


def error(tmp_path, thing, angles, pad, *options, columns=140, tilt=0.0):
    """The rms deviation inside the field of view in the mid-plane, of MU. 140 columns see 43 mm around the axis."""
    circle = Circle(500, 800, columns, 16, 1.0, tilt=(tilt, 0, 0))
    v, _ = fdk(tmp_path, circle, circle.project(thing, angles), angles, "--pad", pad, "--size", "130,130,8", "--voxel",
               "0.625", "--tilt", f"{tilt},0,0", *options)
    x, y, _ = voxels(v.shape, 0.625)
    truth, far = inside(thing, v.shape, 0.625, 1.5)
    seen = far[4] & (np.hypot(x, y)[4] < 39)
    return np.sqrt(((v[4] - truth[4])[seen] ** 2).mean()) / MU


@pytest.mark.parametrize("step,thing,taper,ellipse", few(
    (1.5, BALL, 0.02, 0.02), (0.9, BODY, 0.05, 0.03), others=[(0.9, BALL, 0.02, 0.02), (1.5, BODY, 0.05, 0.03)]),
    ids=["full-ball", "short-body", "short-ball", "full-body"])
def test_the_field_of_view_of_a_wider_object(tmp_path, step, thing, taper, ellipse):
    """Zero and edge are 30 to 45 % wrong there; the guesses of an object's end at least 5 times better."""
    angles = np.arange(240) * step
    errors = {pad: error(tmp_path, thing, angles, pad) for pad in ("zero", "edge", "taper", "ellipse")}
    print(errors)
    assert errors["zero"] > 0.3 and errors["edge"] > 0.2
    assert errors["taper"] < taper and errors["ellipse"] < ellipse
    assert 5 * max(errors["taper"], errors["ellipse"]) < min(errors["zero"], errors["edge"])


def test_a_turned_detector_is_continued_from_its_own_rim(tmp_path):
    angles = np.arange(240) * 1.5
    assert error(tmp_path, BODY, angles, "ellipse", tilt=6.0) < 0.03


def test_a_whole_object_does_not_care(tmp_path):
    angles = np.arange(180) * 2.0
    small = [(MU, (5, 3, 0), (25, 20, 30))]
    errors = [error(tmp_path, small, angles, pad) for pad in ("zero", "edge", "taper", "ellipse")]
    assert max(errors) - min(errors) < 1e-3


def test_parallel_beam(tmp_path):
    """The same choices for fbp: a disc of 80 columns' radius seen by 100."""
    angles = np.arange(300) * 0.6
    p = sinogram([(MU, 80, 80, 8, -5, 0)], angles, 100, 49.5)
    scan = write_scan(tmp_path / "s.h5", p[:, None].astype(np.float32), angles, quantity="line_integral")
    seen = circle(100, 46)
    errors = {}
    for pad in ("zero", "edge", "taper", "ellipse"):
        qb("fbp", scan, "-o", tmp_path / "v.h5", "--center", 49.5, "--pad", pad)
        errors[pad] = np.sqrt(((read_h5(tmp_path / "v.h5")[0] / MU - 1)[seen] ** 2).mean())
    assert errors["zero"] > 0.3 and errors["edge"] > 0.15
    assert errors["taper"] < 0.03 and errors["ellipse"] < 0.02, errors
