# SPDX-License-Identifier: MIT
"""Other packages' operators over ours, where they are installed; what TomoPy hands over; the pickle of NAF."""
import pickle

import numpy as np
import pytest

import quickbeam_ct as qb
from quickbeam_ct import adapters, export

ANGLES = np.pi * np.arange(36) / 36
A = qb.operator(qb.Geometry.parallel(ANGLES, 3, 20, 1.0), (3, 16, 16), 1.0)
TRUTH = np.zeros(A.domain, np.float32)
TRUTH[:, 5:11, 4:9] = 0.5
LINES = A @ TRUTH


def test_pylops_solves_with_it():
    pylops = pytest.importorskip("pylops")
    op = adapters.pylops(A)
    assert pylops.utils.dottest(op, *op.shape, rtol=1e-4)
    found = pylops.optimization.basic.cgls(op, LINES.ravel(), np.zeros(TRUTH.size, np.float32), niter=40, tol=0)[0]
    np.testing.assert_allclose(found.reshape(A.domain), TRUTH, atol=0.02)
    np.testing.assert_array_equal((op @ TRUTH.ravel()).reshape(A.range), LINES)
    both = pylops.VStack([op, 0.1 * pylops.Identity(int(np.prod(A.domain)), dtype="float32")])
    assert both.shape == (LINES.size + TRUTH.size, TRUTH.size)


def test_odl_solves_with_it():
    odl = pytest.importorskip("odl")
    op = adapters.odl(A)
    x = op.domain.zero()
    odl.solvers.conjugate_gradient_normal(op, x, op.range.element(LINES), niter=40)
    np.testing.assert_allclose(x.asarray(), TRUTH, atol=0.02)
    y = op.range.element(np.random.default_rng(0).random(op.range.shape, np.float32))
    assert op(x).inner(y) == pytest.approx(x.inner(op.adjoint(y)), rel=1e-5)
    assert (2 * op)(x).asarray() == pytest.approx(2 * op(x).asarray())


@pytest.mark.parametrize("shape", [(1, 16, 16), (3, 16, 16)])
def test_deepinv_takes_it(shape):
    deepinv, torch = pytest.importorskip("deepinv"), pytest.importorskip("torch")
    operator = qb.operator(qb.Geometry.parallel(ANGLES, shape[0], 20, 1.0), shape, 1.0)
    physics = adapters.deepinv(operator, noise_model=deepinv.physics.GaussianNoise(0.0))
    image = torch.from_numpy(TRUTH[:shape[0]].copy())
    x = image[:1] if shape[0] == 1 else image[None]
    x = torch.stack([x, 2 * x])
    y = physics(x)
    np.testing.assert_allclose(y[1, 0].numpy(), 2 * (operator @ image.numpy()), rtol=1e-4, atol=1e-4)
    assert float(physics.adjointness_test(x)) == pytest.approx(0, abs=1e-2 * float((y ** 2).sum()) ** 0.5)
    found = physics.A_dagger(y)
    assert found.shape == x.shape and float((found[0] - x[0]).abs().max()) < 0.05


def test_what_tomopy_hands_over():
    """tomopy.recon gives an algorithm of one's own sinograms [slice][angle][column], a centre for each slice, slices to fill, angles,
    and the grid. Its slices are upside down to ours and its angles turn the other way."""
    s = np.arange(32) - 15.0
    x = s - 5 * np.cos(ANGLES)[:, None] + 4 * np.sin(ANGLES)[:, None]  # a disc at x = 5, and y = 4 as TomoPy turns
    tomo = np.repeat((2 * 0.02 * np.sqrt(np.maximum(0, 16 - x ** 2)))[None], 3, 0).astype(np.float32)
    recon = np.zeros((3, 32, 32), np.float32)
    adapters.tomopy(qb.fbp, filter="hann")(tomo, np.array([15.0, 15.0, 15.0]), recon, ANGLES, 32, 32, {})
    y, x = np.unravel_index(np.argmax(qb_blur(recon[1])), (32, 32))
    assert recon[1, y, x] == pytest.approx(0.02, rel=0.1) and abs(x - (15.5 + 5)) < 1.5 and abs(y - (15.5 + 4)) < 1.5
    with pytest.raises(qb.Error, match="2 centres for 3"):
        adapters.tomopy()(tomo, np.zeros(2), recon, ANGLES, 32, 32)


def qb_blur(image):
    return sum(np.roll(np.roll(image, i, 0), j, 1) for i in range(-2, 3) for j in range(-2, 3))


def test_naf_s_rays_see_what_the_pickle_has(tmp_path):
    angles, sod, sdd, pixel = np.linspace(0, 2 * np.pi, 24, endpoint=False), 500.0, 800.0, 2.0
    ball = np.random.default_rng(1).random((10, 14, 12), np.float32) * 0.04
    rays = qb.Geometry.cone(angles, 16, 20, pixel, sod, sdd, (3.0, 1.5))
    lines = qb.operator(rays, ball.shape, 1.25) @ ball
    export.naf(tmp_path / "ball.pickle", lines, angles, pixel, sod, sdd, ball, 1.25, offset=(3.0, 1.5))
    data = pickle.loads((tmp_path / "ball.pickle").read_bytes())
    assert data["image"].shape == (12, 14, 10) and data["image"].max() == 1 and data["numTrain"] == 24
    # Where they put source and pixels, in metres: the source at (cos a, sin a), columns along (-sin a, cos a), rows down.
    (w, h), (du, dv), (ou, ov) = data["nDetector"], np.array(data["dDetector"]) / 1000, np.array(data["offDetector"]) / 1000
    dso, dsd, vectors = data["DSO"] / 1000, data["DSD"] / 1000, []
    for a in data["train"]["angles"]:
        out, along, down = np.array([np.cos(a), np.sin(a), 0]), np.array([-np.sin(a), np.cos(a), 0]), np.array([0, 0, -1.0])
        corner = (dso - dsd) * out + ((0.5 - w / 2) * du + ou) * along + ((0.5 - h / 2) * dv + ov) * down
        vectors.append([dso * out, corner, du * along, dv * down])
    theirs = qb.operator(qb.Geometry.from_vectors(vectors, h, w), ball.shape, 1.25e-3) @ data["image"].transpose(2, 1, 0).copy()
    np.testing.assert_allclose(theirs, data["train"]["projections"], rtol=2e-3, atol=2e-3 * theirs.max())
    with pytest.raises(qb.Error, match="no value above 0"):
        export.naf(tmp_path / "n.pickle", lines, angles, pixel, sod, sdd, 0 * ball, 1.25)


def test_a_method_of_httomo():
    """It takes data, angles and the axis' column by these names, and gives TomoPy's slices in HTTomo's order."""
    import inspect

    from quickbeam_ct import algorithm
    assert list(inspect.signature(algorithm.fbp).parameters)[:3] == ["data", "angles", "center"]
    s = np.arange(32) - 15.0
    x = s - 5 * np.cos(ANGLES)[:, None] + 4 * np.sin(ANGLES)[:, None]
    lines = np.repeat((2 * 0.02 * np.sqrt(np.maximum(0, 16 - x ** 2)))[:, None], 3, 1).astype(np.float32)
    lines[:, 2] *= 2
    found, recon = algorithm.fbp(lines, ANGLES, 15.0, filter="hann"), np.zeros((3, 32, 32), np.float32)
    adapters.tomopy(qb.fbp, filter="hann")(lines.swapaxes(0, 1), np.full(3, 15.0), recon, ANGLES, 32, 32, {})
    assert type(found) is np.ndarray and found.shape == (32, 3, 32)
    np.testing.assert_array_equal(found.swapaxes(0, 1), recon)
    yaml = pytest.importorskip("yaml")
    entries = [yaml.safe_load(text) for text in algorithm.__doc__.replace("${{", "").replace("}}", "").split("\n\n") if text.startswith("    ")]
    assert entries[0]["algorithm"]["fbp"]["pattern"] == "sinogram" and entries[1][0]["module_path"] == algorithm.__name__
