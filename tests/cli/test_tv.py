# SPDX-License-Identifier: MIT
"""qb tv: the objective of a dense solution, quality beside FBP and SIRT, the weight it takes by itself, devices, ranks, refusals."""
import shutil
import subprocess

import h5py
import numpy as np
import pytest

from qbtest import NO_RANKS, QB, RANKS_ENV, fails, opencl, qb, qb_json  # noqa: F401 (opencl is a fixture)

N, VIEWS, COLUMNS, LAMBDA = 10, 30, 15, 0.4


def slopes(x):
    d = np.zeros((2, N, N))
    d[0, :, :-1], d[1, :-1] = np.diff(x, axis=1), np.diff(x, axis=0)
    return d


def divergence(p):  # the transpose of slopes
    d = np.zeros((N, N))
    d[:, :-1] -= p[0, :, :-1]
    d[:, 1:] += p[0, :, :-1]
    d[:-1] -= p[1, :-1]
    d[1:] += p[1, :-1]
    return d.ravel()


def objective(a, b, w, x):
    return 0.5 * (w * (a @ x - b) ** 2).sum() + LAMBDA * np.sqrt((slopes(x.reshape(N, N)) ** 2).sum(0)).sum()


def dense(a, b, w, iterations=20000):
    """The primal-dual method with one step for all, in double."""
    step = 0.99 / np.sqrt(np.linalg.norm(a, 2) ** 2 + 8)
    x, ahead, y, p = np.zeros(N * N), np.zeros(N * N), np.zeros(len(b)), np.zeros((2, N, N))
    for _ in range(iterations):
        y = w * (y + step * (a @ ahead - b)) / (w + step)
        p = p + step * slopes(ahead.reshape(N, N))
        p /= np.maximum(1, np.sqrt((p ** 2).sum(0)) / LAMBDA)
        new = np.maximum(x - step * (a.T @ y + divergence(p)), 0)
        x, ahead = new, 2 * new - x
    return x


@pytest.mark.parametrize("weights,power", [("unweighted", 0), ("transmission", 1)])
def test_the_objective_is_that_of_a_dense_solution(weights, power, tmp_path):
    draw = np.random.default_rng(3)
    np.save(tmp_path / "voxels.npy", np.eye(N * N, dtype=np.float32).reshape(N * N, N, N))
    qb("project", "voxels.npy", "-g", "parallel", "--voxel", "1", "--views", VIEWS, "--detector", f"{COLUMNS},{N * N}", "--pixel-size", "1",
       "-o", "lines.npy", cwd=tmp_path)
    a = np.load(tmp_path / "lines.npy").astype(float).transpose(0, 2, 1).reshape(VIEWS * COLUMNS, N * N)
    truth = np.zeros((N, N))
    truth[2:7, 3:8] = 0.3
    b = a @ truth.ravel() + 0.2 * draw.standard_normal(VIEWS * COLUMNS)
    np.save(tmp_path / "scan.npy", b.reshape(VIEWS, 1, COLUMNS).astype(np.float32))
    report = qb_json("tv", "scan.npy", "--quantity", "line_integral", "--angles", "0:180", "--pixel-size", "1", "--size", f"{N},{N},1", "--center",
                     (COLUMNS - 1) / 2, "--nonneg", "--lambda", LAMBDA, "--weights", weights, "--gap", "1e-4", "--iterations", 5000, "-o", "x.npy",
                     cwd=tmp_path)
    x = np.load(tmp_path / "x.npy").astype(float).ravel()
    w = np.exp(-power * b)
    w /= w.mean()
    want = dense(a, b, w)
    assert report["convergence"]["stopped"] == "gap" and report["convergence"]["gap"] <= 1e-4
    assert objective(a, b, w, want) * (1 - 1e-5) <= objective(a, b, w, x) <= objective(a, b, w, want) * (1 + 1.1e-4)
    assert np.linalg.norm(x - want) < 0.03 * np.linalg.norm(want)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    qb("simulate", "shepp-logan", "-o", folder / "s.h5", "--detector", "128,1", "--views", 40, "--photons", 20000, "--seed", 3, "--truth",
       folder / "t.npy")
    return folder, np.load(folder / "t.npy").astype(float)


def error(folder, truth, verb, *more):
    report = qb_json(verb, "s.h5", "--center", "middle", "-o", "v.npy", *more, cwd=folder)
    return np.linalg.norm(np.load(folder / "v.npy") - truth) / np.linalg.norm(truth), report


def test_few_views_and_the_weight_it_takes(few):
    tv, report = error(*few, "tv", "--nonneg")
    assert tv < 0.75 * min(error(*few, "sirt", "--nonneg", "--iterations", n)[0] for n in (30, 100))
    assert tv < 0.4 * error(*few, "fbp", "--filter", "hann")[0]
    chosen = report["convergence"]["lambda"]
    best = min(error(*few, "tv", "--nonneg", "--lambda", chosen * by)[0] for by in (0.5, 2))
    assert tv < 1.1 * best


def test_threads_and_devices(few, opencl, tmp_path):  # noqa: F811
    folder, _ = few
    made = {}
    for name, more in ("one", ("--threads", 1)), ("two", ("--threads", 2)), ("device", ("--device", opencl)):
        qb("tv", folder / "s.h5", "--center", "middle", "--iterations", 60, "--nonneg", "-o", tmp_path / f"{name}.npy", *more)
        made[name] = np.load(tmp_path / f"{name}.npy")
    assert np.array_equal(made["one"], made["two"])
    assert np.linalg.norm(made["one"] - made["device"]) < 1e-5 * np.linalg.norm(made["one"])


@pytest.mark.skipif(NO_RANKS is not None, reason=str(NO_RANKS))
def test_ranks_make_the_same_bits(tmp_path):
    qb("simulate", "ball", "-o", "c.h5", "--geometry", "cone", "--sod", "300", "--sdd", "500", "--detector", "24,10", "--views", 17, cwd=tmp_path)
    more = ["--sod", "300", "--sdd", "500", "--iterations", "12", "--nonneg", "-o"]
    qb("tv", "c.h5", *more, "one.npy", cwd=tmp_path)
    subprocess.run([shutil.which("mpirun"), "-n", "2", "--bind-to", "none", QB, "tv", "c.h5", *more, "two.npy"], cwd=tmp_path, env=RANKS_ENV, check=True,
                   capture_output=True)
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "two.npy").read_bytes()


def test_a_ball_by_a_cone_has_its_value(tmp_path):
    qb("simulate", "ball", "-o", "c.h5", "--geometry", "cone", "--sod", "300", "--sdd", "500", "--detector", "32,32", "--views", 20, "--truth", "t.npy",
       "--photons", "20000", cwd=tmp_path)
    qb("tv", "c.h5", "--sod", "300", "--sdd", "500", "--nonneg", "--iterations", 150, "-o", "v.npy", cwd=tmp_path)
    v, t = np.load(tmp_path / "v.npy"), np.load(tmp_path / "t.npy")
    inside = v[t > 0.99 * t.max()]
    assert abs(np.median(inside) / t.max() - 1) < 0.01 and (abs(inside / t.max() - 1) < 0.01).mean() > 0.7


@pytest.mark.parametrize("phantom", ["shepp-logan", "disc", "spheres", "foam", "baggage"])
def test_the_gap_closes_while_lambda_settles(phantom, tmp_path):
    qb("simulate", phantom, "-o", "s.h5", "--size", "64,64,1", "--views", 30, "--photons", 20000, "--seed", 5, cwd=tmp_path)
    report = qb_json("tv", "s.h5", "--iterations", 700, "-o", "v.npy", cwd=tmp_path)
    assert report["convergence"]["stopped"] == "gap" and report["convergence"]["gap"] <= 1e-3


def test_what_was_not_measured_weighs_nothing(few, opencl, tmp_path):  # noqa: F811
    """Columns without values change the volume as little as half as many photons would."""
    folder, truth = few
    whole, _ = error(folder, truth, "tv", "--nonneg", "--iterations", 120)
    shutil.copy(folder / "s.h5", tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        data = file["exchange/data"][...].astype(np.float32)
        data[:, :, 50:53] = np.nan
        del file["exchange/data"]
        file["exchange/data"] = data
    made = {}
    for device in "cpu", opencl:
        made[device], _ = error(tmp_path, truth, "tv", "--nonneg", "--iterations", 120, "--device", device)
        assert made[device] < 1.3 * whole
    assert abs(made["cpu"] / made[opencl] - 1) < 1e-3


def test_refusals(few):
    folder, _ = few
    for words in ("0", "-1", "nan", "much", "1x"):
        fails(2, "tv", "s.h5", f"--lambda={words}", "-o", "v.npy", says=["--lambda"], cwd=folder)
    fails(2, "tv", "s.h5", "--weights", "photons", "-o", "v.npy", says=["--weights photons", "transmission_root"], cwd=folder)
    fails(2, "tv", "s.h5", "--gap", "2", "-o", "v.npy", says=["gap"], cwd=folder)


def test_the_size_of_pixels_changes_only_the_unit(tmp_path):
    """Pixels of micrometres: values per mm are as many times larger, after few iterations, too."""
    scan, volumes = tmp_path / "scan.h5", {}
    qb("simulate", "shepp-logan", "-o", scan, "--views", 40, "--detector", "48,1", "--photons", 5000, "--quiet")
    for pixel in 1, 0.002:
        out = tmp_path / f"{pixel}.npy"
        qb("tv", scan, "-o", out, "--center", 23.5, "--iterations", 20, "--pixel-size", pixel)
        volumes[pixel] = np.load(out).astype(float) * pixel
    assert np.linalg.norm(volumes[0.002] - volumes[1]) < 1e-3 * np.linalg.norm(volumes[1])
