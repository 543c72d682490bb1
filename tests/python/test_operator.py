# SPDX-License-Identifier: MIT
"""Projection as an operator: exact transpose, parts of the views, batches, and the same bits as project."""
import copy
import os
import pickle

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


def test_project_and_backproject_are_each_other_s_transpose():
    x, y = random((10, 20, 20)), random(RAYS.shape)
    lines, back = qb.project(x, RAYS), qb.backproject(y, RAYS)
    assert back.shape == x.shape
    assert abs(inner(lines, y) - inner(x, back)) < 1e-6 * np.linalg.norm(lines) * np.linalg.norm(y)
    out = np.empty((5, 9, 17), np.float32)
    assert qb.backproject(y, RAYS, out.shape, 0.6, out=out) is out
    np.testing.assert_array_equal(out, qb.operator(RAYS, out.shape, 0.6).T @ y)


def test_a_batch_of_slices_is_one_call(monkeypatch):
    from quickbeam_ct import _operator
    vectors = qb.Geometry.parallel(ANGLES, 1, 40, 0.5, center=18.3).vectors + [[0] * 3, [0, 0, 2], [0] * 3, [0] * 3]
    rays = qb.Geometry.from_vectors(vectors, 1, 40, "parallel")
    A, calls, run = qb.operator(rays, (1, 24, 28), 0.6, (1.0, -0.5, 2.0)), [], _operator.run
    monkeypatch.setattr(_operator, "run", lambda call, *rest, **more: (calls.append(call.__name__), run(call, *rest, **more)))
    x = random((2, 4, *A.domain))
    lines = A @ x
    back = A[3:9].T @ lines[..., 3:9, :, :]
    assert [calls.count(f"qb_projector_{name}_tensor") for name in ("forward", "adjoint")] == [1, 8]  # the second is not dense
    calls.clear()
    dense = A[3:9].T @ np.ascontiguousarray(lines[..., 3:9, :, :])
    assert calls == ["qb_projector_adjoint_tensor"]
    np.testing.assert_allclose(dense, back, atol=1e-5 * np.abs(back).max())
    for i in range(2):
        for j in range(4):
            np.testing.assert_allclose(lines[i, j], A @ x[i, j], atol=1e-5 * np.abs(lines).max())
    fan = qb.operator(qb.Geometry.fan(ANGLES, 40, 0.5, 100, 150), (1, 24, 28), 0.3)
    np.testing.assert_array_equal((fan @ x)[1, 3], fan @ x[1, 3])


@pytest.mark.parametrize("device", [None, "opencl"])
@pytest.mark.parametrize("rays, shape", [
    (RAYS, (9, 20, 16)),  # a cone
    (qb.Geometry.from_vectors(RAYS.vectors + [[0] * 3, [0, 0, 1.5], [0] * 3, [0, 0.03, 0]], 10, 20), (9, 20, 16)),  # one that leans
    (qb.Geometry.parallel(ANGLES / 2, 6, 18, 0.5), (6, 16, 14)),  # slices of volumes
])
def test_a_batch_of_volumes_is_one_call(monkeypatch, rays, shape, device):
    from quickbeam_ct import _operator
    if device and not opencl():
        pytest.skip("no OpenCL device")
    A, calls, run = qb.operator(rays, shape, 0.45, device=device), [], _operator.run
    x, y = random((2, 3, *A.domain)), random((2, 3, *A.range))
    lines = np.array([[A @ x[i, j] for j in range(3)] for i in range(2)])
    back = np.array([[A[:20].T @ y[i, j, :20] for j in range(3)] for i in range(2)])
    monkeypatch.setattr(_operator, "run", lambda call, *rest, **more: (calls.append(call.__name__), run(call, *rest, **more)))
    np.testing.assert_array_equal(A @ x, lines)
    np.testing.assert_array_equal(A[5:15] @ x, lines[:, :, 5:15])
    some = np.ascontiguousarray(y[:, :, :20])
    np.testing.assert_array_equal(A[:20].T @ some, back)
    sums = back.copy()
    A[20:].T.apply(np.ascontiguousarray(y[:, :, 20:]), sums, accumulate=True)
    assert calls == ["qb_projector_forward_tensor"] * 2 + ["qb_projector_adjoint_tensor"] * 2
    whole = A.T @ y
    np.testing.assert_allclose(sums, whole, atol=1e-5 * np.abs(whole).max())
    np.testing.assert_array_equal(whole[1, 2], A.T @ y[1, 2])
    assert A.apply(x[:0]).shape == (0, 3, *A.range)


@pytest.mark.parametrize("device", [None, "opencl"])
@pytest.mark.parametrize("rays, shape", [(RAYS, (9, 20, 16)), (qb.Geometry.parallel(ANGLES / 2, 1, 18, 0.5), (1, 16, 16))])
def test_what_is_not_finite_is_an_error(rays, shape, device):
    if device and not opencl():
        pytest.skip("no OpenCL device")
    A = qb.operator(rays, shape, 0.45, device=device)
    x, y = np.ones((2, *A.domain), np.float32), np.ones((2, *A.range), np.float32)
    x[1, 0, 5, 5], y[1, 3, 0, 4] = np.nan, np.inf
    for call, count in ((lambda: A @ x[1], "24 of 24"), (lambda: A.T @ y[1], "1 of 24"), (lambda: A[2:5].T @ y[1, 2:5], "1 of 3"),
                        (lambda: A @ x, "24 of "), (lambda: A.T @ y, "1 of "), (lambda: A.geometry_gradient(x[1], y[0]), "24 of 24")):
        with pytest.raises(ValueError, match="NaN or infinite values, in .*" + count):
            call()
    assert np.isfinite(A @ x[0]).all() and np.isfinite(A.T @ y[0]).all()


def opencl():
    """Is there an OpenCL device?"""
    try:
        qb.operator(RAYS, (4, 4, 4), device="opencl")
    except qb.Error:
        return False
    return True


def any_geometry(random):
    """Parallel, fan or cone, circular or on any path, with the object in the field or beyond it."""
    views, rows, columns = random.integers(1, 9), random.integers(1, 7), random.integers(2, 20)
    angles, pixel = random.uniform(0, 2 * np.pi, views), random.uniform(0.2, 2)
    kind = random.integers(4)
    if kind == 0:
        return qb.Geometry.parallel(angles, rows, columns, pixel, random.uniform(0, columns))
    sod, beyond = random.uniform(60, 300), random.uniform(0, 200)
    offset = tuple(random.uniform(-3, 3, 2))
    if kind == 1:
        return qb.Geometry.fan(angles, columns, pixel, sod, sod + beyond, offset[0])
    rays = qb.Geometry.cone(angles, rows, columns, (pixel, random.uniform(0.2, 2)), sod, sod + beyond, offset)
    if kind == 2:
        return rays
    vectors = rays.vectors
    vectors[:, :2] += random.uniform(-2, 2, (views, 2, 3))
    vectors[:, 2:] += 0.1 * pixel * random.uniform(-1, 1, (views, 2, 3))
    return qb.Geometry.from_vectors(vectors, rows, columns)


def test_the_transpose_of_200_random_geometries():
    random = np.random.default_rng(int(os.environ.get("QB_SEED", 11)))
    worst, beams, tried = 0.0, set(), 0
    while tried < 200:
        rays = any_geometry(random)
        try:
            A = qb.operator(rays, tuple(random.integers(1, 15, 3)), tuple(random.uniform(0.3, 1.5, 3)), tuple(random.uniform(-3, 3, 3)), threads=1)
        except qb.Error as error:  # no ray meets the volume, or the source lies in it
            assert "no view sees" in str(error) or "source" in str(error)
            continue
        x, y = (random.standard_normal(shape).astype(np.float32) for shape in (A.domain, A.range))
        lines = A @ x
        if (lines != 0).mean() < 0.3:  # rays that graze the volume alone have weights next to nothing, and their rounding
            continue
        tried += 1
        # Rounding goes with the sum of absolute values, which may be far larger than a sum of random signs.
        scale = np.linalg.norm((A @ np.abs(x)).astype(np.float64)) * np.linalg.norm(y.astype(np.float64))
        worst = max(worst, abs(inner(lines, y) - inner(x, A.T @ y)) / scale if scale else 0.0)
        beams.add((rays.beam, rays.shape[1] == 1))
    assert worst < 1e-6 and len(beams) == 4


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


@pytest.mark.parametrize("beam", ["cone", "parallel"])
def test_the_gradient_of_the_geometry_is_that_of_the_line_integrals(beam):
    """Against differences of a float64 projection by the definition, one number at a time."""
    random = np.random.default_rng(int(os.environ.get("QB_SEED", 5)))
    angles = random.uniform(0, 2 * np.pi, 3)
    rays = (qb.Geometry.cone(angles, 4, 5, (1.1, 1.3), 60, 90, (0.4, -0.3)) if beam == "cone"
            else qb.Geometry.parallel(angles, 4, 5, 1.1, 1.8))
    vectors = rays.vectors + 0.01 * random.standard_normal((3, 4, 3))
    shape, voxel, offset = (6, 7, 8), (0.9, 1.1, 0.8), (0.3, -0.2, 0.1)
    x = random.random(shape).astype(np.float32)
    A = qb.operator(qb.Geometry.from_vectors(vectors, 4, 5, beam), shape, voxel, offset)
    y = random.standard_normal(A.range).astype(np.float32)
    np.testing.assert_allclose(joseph(x, vectors, 4, 5, voxel, offset, beam), A @ x, rtol=1e-4, atol=1e-4)
    gradient, step = A.geometry_gradient(x, y), 1e-6
    compared, near = 0, 1e-4 * np.abs(gradient).max()
    for _ in range(20):
        at = tuple(random.integers((3, 4, 3)))
        values = []
        for sign in (-1, 0, 1):
            moved = vectors.copy()
            moved[at] += sign * step
            values.append((joseph(x, moved, 4, 5, voxel, offset, beam) * y).sum())
        left, right = np.diff(values) / step
        if left != pytest.approx(right, rel=1e-3, abs=10 * near):
            continue  # a ray meets a grid line here: the line integrals have no derivative
        assert gradient[at] == pytest.approx((left + right) / 2, rel=1e-4, abs=near)
        compared += 1
    assert compared >= 15
    np.testing.assert_array_equal(A[1:].geometry_gradient(x, y[1:]), gradient[1:])
    with pytest.raises(qb.Error, match="shape"):
        A.geometry_gradient(x, y[1:])


def joseph(x, vectors, rows, columns, voxel, offset, beam):
    """Joseph's method in double precision, ray by ray."""
    n, voxel, offset = np.array(x.shape[::-1]), np.array(voxel), np.array(offset)
    box = np.pad(x.astype(float).transpose(2, 1, 0), 2)
    out = np.zeros((len(vectors), rows, columns))
    for i, (source, corner, u, v) in enumerate(vectors):
        for r in range(rows):
            for c in range(columns):
                pixel = corner + c * u + r * v
                point, along = (source, pixel - source) if beam == "cone" else (pixel, source)
                start, speed = (point - offset) / voxel + (n - 1) / 2, along / voxel
                main = np.argmax(np.abs(speed))
                t = (np.arange(n[main]) - start[main]) / speed[main]
                place = np.clip(start + t[:, None] * speed, -1.5, n + 0.5)  # the padding is 0
                low = np.floor(place).astype(int)
                low[:, main] = np.arange(n[main])
                share = place - low
                total = 0.0
                others = [j for j in range(3) if j != main]
                for db in (0, 1):
                    for dc in (0, 1):
                        at = low.copy()
                        at[:, others[0]] += db
                        at[:, others[1]] += dc
                        weight = np.abs(1 - db - share[:, others[0]]) * np.abs(1 - dc - share[:, others[1]])
                        total += (weight * box[tuple((at + 2).T)]).sum()
                out[i, r, c] = total * np.linalg.norm(along) / abs(speed[main])
    return out


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])
def test_copies_for_other_processes(copied, tmp_path):
    """Geometries and operators may be pickled and copied deeply; the copies compute the same bits."""
    curved = tmp_path / "curved.json"
    RAYS.save(curved)
    for rays in (RAYS, qb.Geometry.parallel(ANGLES / 2, 6, 18, 0.5, center=8.0), qb.Geometry.from_file(curved)):
        same = copied(rays)
        assert same.shape == rays.shape and same.info == rays.info and np.array_equal(same.vectors, rays.vectors)
    A = qb.operator(RAYS, (8, 16, 12), 0.6, threads=1)
    x, y = random(A.domain), random(A.range)
    forward, part = copied((A, A.T[3:9]))
    assert forward._handle is part._handle
    np.testing.assert_array_equal(forward @ x, A @ x)
    np.testing.assert_array_equal(part @ y[3:9], A.T[3:9] @ y[3:9])
    assert copied(qb.Geometry())._struct.views == 0
