# SPDX-License-Identifier: MIT
"""The transpose of fbp and fdk is exact: <B y, x> = <y, B' x>, whatever the linear options."""
import warnings

import numpy as np
import pytest

import quickbeam_ct as qb

ANGLES = np.pi * np.arange(40) / 40
CONE = qb.Geometry.cone(2 * ANGLES, 12, 24, 0.5, 60, 90)
OFFSET = qb.Geometry.cone(2 * ANGLES, 12, 24, 0.5, 60, 90, (2.0, 0.4))
SHORT = qb.Geometry.cone(np.linspace(0, 1.3 * np.pi, 40), 12, 24, 0.5, 60, 90)
RANDOM = np.random.default_rng(4)


def quiet_plan(verb, lines, *rays, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = qb.plan(verb, lines, *rays, **given)
        plan.run()
        return plan


@pytest.mark.parametrize("verb, shape, rays, given", [
    ("fbp", (40, 3, 32), (ANGLES, 0.5), {"center": 15.2}),
    ("fbp", (40, 3, 32), (ANGLES, 0.5), {"center": 15.2, "pad": "zero", "filter": "hann"}),
    ("fbp", (40, 3, 32), (ANGLES, 0.5), {"center": 15.2, "pad": "mirror", "circle": True}),
    ("fbp", (40, 1, 32), (ANGLES, 0.5), {"center": 15.2, "filter": "none"}),
    ("fbp", (40, 20, 32), (ANGLES, 0.5), {"center": 15.2, "size": (20, 24), "voxel": 0.7, "slices": "1:19:2"}),
    ("fbp", (40, 3, 32), (2 * ANGLES, 0.5), {"center": 8.3}),  # a full turn, the axis to one side
    ("fdk", CONE.shape, (), {"geometry": CONE, "size": (16, 18, 10)}),
    ("fdk", CONE.shape, (), {"geometry": CONE, "size": (9, 10, 7), "pad": "zero", "circle": True}),
    ("fdk", OFFSET.shape, (), {"geometry": OFFSET, "size": (16, 18, 10)}),
    ("fdk", SHORT.shape, (), {"geometry": SHORT, "size": (16, 18, 10)}),
])
def test_it_is_exact(verb, shape, rays, given):
    y = RANDOM.standard_normal(shape).astype(np.float32)
    plan = quiet_plan(verb, y, *rays, accuracy="high", **given)
    volume = plan.run()
    x = RANDOM.standard_normal(volume.shape).astype(np.float32)
    back = plan.transpose(x)
    assert back.shape == shape and back.dtype == np.float32
    difference = np.vdot(volume.astype(float), x.astype(float)) - np.vdot(y.astype(float), back.astype(float))
    assert abs(difference) < 1e-6 * np.linalg.norm(volume) * np.linalg.norm(x)
    np.testing.assert_array_equal(plan.transpose(x, out=np.empty_like(back[:, :, ::-1])), back)


@pytest.mark.parametrize("verb, shape, rays, given", [
    ("fbp", (40, 3, 32), (ANGLES, 0.5), {"center": 15.2, "pad": "mirror", "circle": True}),
    ("fbp", (40, 20, 32), (ANGLES, 0.5), {"center": 15.2, "size": (20, 24), "voxel": 0.7, "slices": "1:19:2"}),
    ("fbp", (40, 3, 32), (2 * ANGLES, 0.5), {"center": 8.3}),
    ("fdk", OFFSET.shape, (), {"geometry": OFFSET, "size": (16, 18, 10)}),
    ("fdk", SHORT.shape, (), {"geometry": SHORT, "size": (16, 18, 10), "voxel": 0.2}),
])
def test_a_job_on_a_device_has_its_transpose_there(verb, shape, rays, given):
    y = RANDOM.standard_normal(shape).astype(np.float32)
    try:
        plan = quiet_plan(verb, y, *rays, accuracy="high", device="opencl", **given)
    except qb.Error as error:
        pytest.skip(str(error))
    volume = plan.run()
    x = RANDOM.standard_normal(volume.shape).astype(np.float32)
    back = plan.transpose(x)
    difference = np.vdot(volume.astype(float), x.astype(float)) - np.vdot(y.astype(float), back.astype(float))
    assert abs(difference) < 1e-6 * np.linalg.norm(volume) * np.linalg.norm(x)
    host = quiet_plan(verb, y, *rays, accuracy="high", device="cpu", **given).transpose(x)
    assert 0 < np.linalg.norm(back - host) < 3e-6 * np.linalg.norm(host)  # rounding: another processor
    np.testing.assert_array_equal(plan.transpose(x), back)


def test_what_is_not_finite_is_refused():
    plan = quiet_plan("fbp", np.ones((40, 3, 32), np.float32), ANGLES, 0.5, center=15.2)
    x = np.zeros(plan.shape, np.float32)
    x[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match=f"1 of {x.size} values are NaN"):
        plan.transpose(x)


def test_a_back_projected_constant_by_hand():
    """Without a filter the transpose of a slice of ones is pi / views times how many voxels each column has."""
    y = np.ones((1, 1, 8), np.float32).repeat(4, 0)
    plan = quiet_plan("fbp", y, np.pi * np.arange(4) / 4, 1.0, center=3.5, filter="none", size=(4, 4))
    np.testing.assert_allclose(plan.transpose(np.ones((1, 4, 4), np.float32))[0, 0], np.pi / 4 * np.array([0, 0, 4, 4, 4, 4, 0, 0]),
                               rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("given, words", [
    ({"pad": "taper"}, "taper"),
    ({"rings": "sort"}, "rings"),
    ({"hardening": 0.1}, "hardening"),
    ({"outside": "nan", "circle": True}, "nan"),
    ({"interp": "nearest"}, "nearest"),
    ({"tilt": 2.0}, "level"),
])
def test_what_is_not_linear_is_refused(given, words):
    y = np.abs(RANDOM.standard_normal((40, 6, 32))).astype(np.float32)
    plan = quiet_plan("fbp", y, ANGLES, 0.5, **{"center": 15.2, **given})
    with pytest.raises(qb.Error, match=words):
        plan.transpose(np.zeros(plan.shape, np.float32))


def test_other_refusals():
    y = np.abs(RANDOM.standard_normal((40, 3, 32))).astype(np.float32)
    plan = quiet_plan("cgls", y, ANGLES, 0.5, center=15.2, iterations=1)
    with pytest.raises(qb.Error, match="qb cgls is not linear"):
        plan.transpose(np.zeros(plan.shape, np.float32))
    plan = qb.plan("fbp", y, ANGLES, 0.5)
    with pytest.raises(qb.Error, match="run it first"):
        plan.transpose(np.zeros(plan.shape, np.float32))
    plan = qb.plan("fbp", y, ANGLES, 0.5, center=15.2)
    with pytest.raises(qb.Error, match="3 x 32 x 31"):
        plan.transpose(np.zeros((3, 32, 31), np.float32))
    with pytest.raises(qb.Error, match="float64"):
        plan.transpose(np.zeros((3, 32, 32)))
    scan_of_counts = qb.Scan((1000 * y).astype(np.uint16), ANGLES, flats=np.full((3, 32), 4000, np.uint16), darks="none")
    with pytest.raises(qb.Error, match="counts"):
        quiet_plan("fbp", scan_of_counts, center=15.2).transpose(np.zeros((3, 32, 32), np.float32))
