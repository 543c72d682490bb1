# SPDX-License-Identifier: MIT
"""qb sirt and qb cgls: the same as dense matrices make of the same rays; values, bounds, convergence, refusals."""
import numpy as np
import pytest

from qbtest import fails, opencl, provenance_h5, qb, qb_json, read_h5  # noqa: F401 (opencl is a fixture)

N, VIEWS, COLUMNS = 12, 40, 18


@pytest.fixture(scope="module")
def rays(tmp_path_factory):
    """The matrix of a small parallel scan: slice j of the volume is voxel j alone, so row j of the projections is its column."""
    folder = tmp_path_factory.mktemp("rays")
    np.save(folder / "voxels.npy", np.eye(N * N, dtype=np.float32).reshape(N * N, N, N))
    qb("project", folder / "voxels.npy", "-g", "parallel", "--voxel", "1", "--views", VIEWS, "--detector", f"{COLUMNS},{N * N}",
       "--pixel-size", "1", "-o", folder / "lines.npy")
    lines = np.load(folder / "lines.npy").astype(np.float64)  # [view][voxel][column]
    return lines.transpose(0, 2, 1).reshape(VIEWS * COLUMNS, N * N)


@pytest.fixture(scope="module")
def measured(rays, tmp_path_factory):
    """A scan of random voxels with noise, and what was measured."""
    draw = np.random.default_rng(8)
    truth = draw.random(N * N)
    b = rays @ truth + 0.05 * draw.standard_normal(VIEWS * COLUMNS)
    scan = tmp_path_factory.mktemp("scan") / "scan.npy"
    np.save(scan, b.reshape(VIEWS, 1, COLUMNS).astype(np.float32))
    return scan, b


def solve(verb, scan, out, *more):
    return qb_json(verb, scan, "--quantity", "line_integral", "--angles", "0:180", "--pixel-size", "1", "--size", f"{N},{N},1", "--center",
                   (COLUMNS - 1) / 2, "-o", out, *more)


def inverse(sums):
    return np.where(sums > 1e-3, 1 / np.maximum(sums, 1e-30), 0)


def dense_sirt(a, b, iterations, nonneg=False, relaxation=1.0):
    r, c, x = inverse(a.sum(1)), inverse(a.sum(0)), np.zeros(a.shape[1])
    for _ in range(iterations):
        x = x + relaxation * c * (a.T @ (r * (b - a @ x)))
        if nonneg:
            x = np.maximum(x, 0)
    return x


def dense_cgls(a, b, iterations):
    x, r, p, gamma = np.zeros(a.shape[1]), b.copy(), None, 0
    for _ in range(iterations):
        s = a.T @ r
        p = s if p is None else s + (s @ s) / gamma * p
        gamma = s @ s
        q = a @ p
        alpha = gamma / (q @ q)
        x, r = x + alpha * p, r - alpha * q
    return x


def distance(x, want):
    return np.linalg.norm(x - want) / np.linalg.norm(want)


def test_sirt_is_the_dense_one(rays, measured, tmp_path):
    scan, b = measured
    for iterations, relaxation, flags in ((1, 1.0, []), (30, 1.0, []), (30, 1.7, []), (40, 1.0, ["--nonneg"])):
        report = solve("sirt", scan, tmp_path / "x.npy", "--iterations", iterations, "--relaxation", relaxation, *flags)
        x = np.load(tmp_path / "x.npy").ravel()
        assert distance(x, dense_sirt(rays, b, iterations, bool(flags), relaxation)) < 1e-5
        convergence = report["convergence"]
        assert convergence["iterations"] == iterations and convergence["stopped"] == "iterations"
        assert len(convergence["residual"]) == iterations and convergence["residual"][0] == pytest.approx(1)


def joseph(angles, columns, n):
    """The matrix of parallel rays through voxels of 1: the two that a ray passes in each line of voxels share its length there."""
    a = np.zeros((len(angles), columns, n, n))
    middle = (n - 1) / 2
    for view, t in enumerate(np.radians(angles)):
        steep = abs(np.cos(t)) >= abs(np.sin(t))
        across, along = (np.cos(t), np.sin(t)) if steep else (np.sin(t), np.cos(t))
        for column in range(columns):
            for j in range(n):
                at = (column - (columns - 1) / 2 - (j - middle) * along) / across + middle
                for i, share in ((int(np.floor(at)), 1 - at % 1), (int(np.floor(at)) + 1, at % 1)):
                    if 0 <= i < n:
                        a[(view, column, j, i) if steep else (view, column, i, j)] += share / abs(across)
    return a.reshape(len(angles) * columns, n * n)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("angles,columns,n", [([0.001], 4, 12), ([1e-5, 90.00001], 4, 12), ([0.001, 90.001], 8, 6),
                                              ([1e-4, 45.001, 90.0001, 135.001], 8, 6)])
def test_sirt_where_rays_graze(request, on_device, angles, columns, n, tmp_path):
    """Rays all but along the lines of voxels touch those beside them by less than a thousandth: voxels that have no more
    stay zero, and rays past the volume do not pull at its rim."""
    device = request.getfixturevalue("opencl") if on_device else "cpu"
    a = joseph(angles, columns, n)
    b = 5 + np.random.default_rng(1).random(len(a))
    assert any(np.any((0 < sums) & (sums < 1e-3)) for sums in (a.sum(0), a.sum(1)))
    np.save(tmp_path / "scan.npy", b.reshape(len(angles), 1, columns).astype(np.float32))
    np.savetxt(tmp_path / "angles.txt", angles)
    qb("sirt", tmp_path / "scan.npy", "--quantity", "line_integral", "--angles", tmp_path / "angles.txt", "--pixel-size", 1, "--size",
       f"{n},{n},1", "--center", (columns - 1) / 2, "--iterations", 30, "--device", device, "-o", tmp_path / "x.npy")
    x, want = np.load(tmp_path / "x.npy").ravel(), dense_sirt(a, b, 30)
    assert distance(x, want) < 1e-5
    assert np.array_equal(x == 0, want == 0)


def test_cgls_is_the_dense_one_and_least_squares(rays, measured, tmp_path):
    scan, b = measured
    for iterations in (1, 4):  # more amplify single precision
        solve("cgls", scan, tmp_path / "x.npy", "--iterations", iterations)
        assert distance(np.load(tmp_path / "x.npy").ravel(), dense_cgls(rays, b, iterations)) < 1e-5
    report = solve("cgls", scan, tmp_path / "x.npy", "--iterations", 400, "--tolerance", "1e-6")
    assert report["convergence"]["stopped"] == "tolerance"
    x, best = np.load(tmp_path / "x.npy").ravel(), np.linalg.lstsq(rays, b, rcond=None)[0]
    assert distance(rays @ x, rays @ best) < 1e-4
    residual = report["convergence"]["residual"]
    assert all(later <= earlier * 1.000001 for earlier, later in zip(residual, residual[1:]))


def test_nothing_below_zero(measured, tmp_path):
    scan, b = measured
    for verb in ("sirt", "cgls"):
        free = solve(verb, scan, tmp_path / "free.npy", "--iterations", 60)
        bound = solve(verb, scan, tmp_path / "bound.npy", "--iterations", 60, "--nonneg")
        assert np.load(tmp_path / "free.npy").min() < 0 <= np.load(tmp_path / "bound.npy").min()
        assert bound["convergence"]["residual"][-1] < 1.5 * free["convergence"]["residual"][-1]


def test_values_of_both_beams(tmp_path):
    """A disc and a ball come back at their attenuation, from few views; the axis is found; Hounsfield units."""
    scan, out = tmp_path / "p.h5", tmp_path / "p_out.h5"
    qb("simulate", "disc", "-o", scan, "--views", 45, "--detector", "96,4", "--pixel-size", "0.5", "--center-offset", "3.3")
    report = qb_json("cgls", scan, "--iterations", 15, "-o", out)
    assert report["center"]["column"] == pytest.approx(47.5 + 3.3, abs=0.1)
    middle = read_h5(out)[1, 40:56, 40:56]
    assert abs(middle.mean() - 0.02) < 0.0002 and middle.std() < 0.001
    qb("sirt", scan, "--center", "50.8", "--hu", "0.02", "--iterations", 60, "-o", out)
    assert abs(read_h5(out)[1, 40:56, 40:56].mean()) < 15
    scan, circle = tmp_path / "c.h5", ["--sod", "150", "--sdd", "250", "--pixel-size", "0.8"]
    qb("simulate", "ball", "--geometry", "cone", *circle, "--views", 48, "--detector", "64,48", "-o", scan)
    qb("cgls", scan, *circle, "--iterations", 12, "--preview", tmp_path / "ball.png", "-o", out)
    middle = read_h5(out)[20:28, 26:38, 26:38]
    assert abs(middle.mean() - 0.02) < 0.0003 and middle.std() < 0.001
    assert provenance_h5(out)["plan"]["options"]["iterations"] == "12"
    # any number of threads, any memory: the same bits
    qb("cgls", scan, *circle, "--iterations", 5, "--threads", 1, "-o", tmp_path / "one.npy")
    qb("cgls", scan, *circle, "--iterations", 5, "--threads", 2, "-o", tmp_path / "two.npy")
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "two.npy").read_bytes()


def test_refusals(measured, tmp_path):
    scan, _ = measured
    out = tmp_path / "x.npy"
    base = ["--quantity", "line_integral", "--angles", "0:180", "--pixel-size", "1", "-o", out]
    fails(2, "sirt", scan, *base, "--center", "99", says=["--center 99", "0..17"])
    fails(2, "sirt", scan, *base, "--iterations", "0", says=["iterations"])
    fails(2, "sirt", scan, *base, "--relaxation", "2.5", says=["relaxation"])
    fails(2, "cgls", scan, *base, "--relaxation", "1", says=["relaxation"])
    fails(2, "cgls", scan, *base, "--center", "8.5", "--size", "2000,2000,1", "--max-ram", "40M", says=["40.0 MiB", "need"])
    fails(3, "cgls", scan, "--quantity", "line_integral", "-o", out, says=["no angles"])
    for fault in (["--tilt", "3"], ["--detector-offset", "1,0"], ["--detector-radius", "9"], ["--jitter", "1,0"]):  # of a cone, that is not said
        fails(2, "sirt", scan, *base, "--center", "8.5", *fault, says=[fault[0], "parallel beam"])
        fails(2, "cgls", scan, *base, "--center", "8.5", "-g", "parallel", *fault, says=[fault[0], "parallel beam"])
    assert not out.exists()


@pytest.mark.parametrize("verb,how", [("cgls", ["--iterations", 15]), ("sirt", ["--iterations", 100]), ("tv", ["--iterations", 100])])
@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_rows_beyond_the_middle_of_an_end_slice(request, tmp_path, verb, how, device):
    """Voxels two rows high, and volumes shorter than the detector: the first and the last slice are as the others."""
    if device == "opencl":
        device = request.getfixturevalue("opencl")
    scan, out = tmp_path / "s.h5", tmp_path / "v.npy"
    qb("simulate", "disc", "-o", scan, "--detector", "48,12", "--pixel-size", 0.1, "--views", 40, "--attenuation", 0.1, "--quiet")
    for slices in (6,) if device != "cpu" else (6, 5, 7, 1):
        qb(verb, scan, "-o", out, "--center", "middle", "--voxel", 0.2, "--size", f"24,24,{slices}", "--device", device, *how)
        assert np.abs(np.load(out)[:, 9:15, 9:15].mean((1, 2)) - 0.1).max() < 0.002, slices


def test_slices_between_rows_are_warned_of(tmp_path):
    """Half a row off, slices can alternate: of noise the mean of two is seen alone. What the warning advises does not."""
    scan, out = tmp_path / "s.h5", tmp_path / "v.npy"
    qb("simulate", "disc", "-o", scan, "--detector", "48,8", "--pixel-size", 0.1, "--views", 40, "--attenuation", 0.1, "--quiet")

    def middles(*how):
        said = qb("cgls", scan, "-o", out, "--center", "middle", *how).stderr
        return np.load(out)[:, 22:26, 22:26].mean((1, 2)), "slices-between-rows" in said

    values, warned = middles("--size", "48,48,7")
    assert warned and np.abs(values - 0.1).max() < 0.002
    for how in ("--size", "48,48,8"), ():
        values, warned = middles(*how)
        assert not warned and np.abs(values - 0.1).max() < 0.002
