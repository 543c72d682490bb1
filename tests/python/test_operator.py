# SPDX-License-Identifier: MIT
"""Projection as an operator: exact transpose, parts of the views, batches, and the same bits as project."""
import numpy as np
import pytest

import quickbeam_ct as qb

ANGLES = 2 * np.pi * np.arange(24) / 24
RAYS = qb.Geometry.cone(ANGLES, 10, 20, 0.5, 100, 150)
RANDOM = np.random.default_rng(1)


def random(shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def inner(a, b):
    return float(np.vdot(a.astype(np.float64), b.astype(np.float64)))


@pytest.mark.parametrize("rays", [RAYS, qb.Geometry.parallel(ANGLES / 2, 6, 18, 0.5), qb.Geometry.cone(ANGLES, 8, 30, (0.5, 0.7), 90, 140, (2, 1))])
def test_the_transpose_is_exact(rays):
    for shape in ((8, 16, 12), (5, 9, 17)):
        A = qb.operator(rays, shape, 0.6)
        x, y = random(A.domain), random(A.range)
        assert A.domain == shape and A.range == rays.shape == A.T.domain
        forth, back = inner(A @ x, y), inner(x, A.T @ y)
        assert abs(forth - back) < 1e-6 * np.linalg.norm(A @ x) * np.linalg.norm(y)


def test_a_ray_through_the_middle_has_the_length_of_the_box():
    A = qb.operator(qb.Geometry.parallel([0, np.pi / 2], 3, 15, 1.0), (3, 9, 11), (0.5, 2.0, 1.0))
    lines = A @ np.full((3, 9, 11), 0.1, np.float32)
    assert lines[0, 1, 7] == pytest.approx(0.1 * 9 * 2.0, rel=1e-5)  # along y
    assert lines[1, 1, 7] == pytest.approx(0.1 * 11 * 0.5, rel=1e-5)  # along x


def test_it_is_what_project_does():
    x = random((10, 20, 20))
    np.testing.assert_array_equal(qb.operator(RAYS) @ x, qb.project(x, RAYS))


def test_views_and_batches():
    A = qb.operator(RAYS, (8, 16, 16), 0.4)
    x, y = random((2, 3, 8, 16, 16)), random(RAYS.shape)
    whole = A @ x
    assert whole.shape == (2, 3, *RAYS.shape)
    np.testing.assert_array_equal(whole[1, 2], A @ x[1, 2])
    np.testing.assert_array_equal(A[5:9] @ x[0, 0], whole[0, 0, 5:9])
    np.testing.assert_array_equal(A[4:12][1:5] @ x[0, 0], whole[0, 0, 5:9])
    back = A[:10].T @ y[:10]
    assert A[10:].T.apply(y[10:], back, accumulate=True) is back
    np.testing.assert_array_equal(back, A.T @ y)


def test_scipy_solves_with_it():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = qb.operator(qb.Geometry.parallel(np.pi * np.arange(40) / 40, 2, 20, 1.0), (2, 16, 16), 1.0)
    want = np.zeros(A.domain, np.float32)
    want[:, 5:11, 4:9] = 0.5
    found = linalg.lsqr(A.scipy(), (A @ want).reshape(-1), iter_lim=60)[0]
    np.testing.assert_allclose(found.reshape(A.domain), want, atol=0.02)


@pytest.mark.parametrize("call, words", [
    (lambda: qb.operator(RAYS, (4, 4, 4)) @ np.zeros((4, 4, 5), np.float32), "(4, 4, 5)"),
    (lambda: qb.operator(RAYS, (4, 4, 4)) @ np.zeros((4, 4, 4)), "float32"),
    (lambda: qb.operator(RAYS, (4, 4, 4))[::2], "slice of neighbours"),
    (lambda: qb.operator(RAYS, (4, 4, 4))[3], "slice of neighbours"),
    (lambda: qb.operator(RAYS, (4, 4, 4)).apply(np.zeros((4, 4, 4), np.float32), np.zeros((2, 2, 2), np.float32)), "(2, 2, 2)"),
    (lambda: qb.operator(RAYS, (4, 400, 400), 1.0), "source"),
    (lambda: qb.operator(RAYS, kernel="nonsense"), "nonsense"),
])
def test_bad_input_is_an_exception_with_words(call, words):
    with pytest.raises(qb.Error) as caught:
        call()
    assert words in str(caught.value)
