# SPDX-License-Identifier: MIT
"""Files in and out: scans by path give what arrays give, and the command's bits; volumes are read, written and compared."""
import json
import os
import subprocess

import numpy as np
import pytest

import quickbeam_ct as qb

COMMAND = os.environ["QB"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("scan") / "disc.h5"
    return qb.simulate("disc", path, detector=(64, 4), views=90, photons=20000, pixel_size=0.5, truth=path.with_name("truth.npy"))


def run(*arguments):
    return subprocess.run([COMMAND, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_a_scan_says_what_it_is(scan):
    assert scan.shape == (90, 4, 64) and scan.info["quantity"] == "counts" and scan.info["flats"] == 20
    told = json.loads(run("info", scan.info["path"], "--json"))
    assert scan.info["pixel_size"] == told["pixel_size_mm"] == 0.5 and scan.info["format"] == told["format"]
    np.testing.assert_allclose(np.rad2deg(scan.angles), 2 * np.arange(90), atol=1e-9)
    assert scan.problems == [] == scan.findings and "90 views of 4 x 64 uint16" in repr(scan)
    assert scan.read(views=slice(3, 5)).shape == (2, 4, 64) and scan.read().dtype == np.uint16
    assert qb.info(scan.info["path"])["shape"] == (90, 4, 64)


@pytest.mark.parametrize("verb, given", [("fbp", {"rings": "sort"}), ("cgls", {"iterations": 5}), ("mbir", {"slices": "1:3"}),
                                         ("fbp", {"slices": "0:4:2", "size": (40, 32)})])
def test_a_path_gives_the_commands_bits(scan, tmp_path, verb, given):
    path, out = scan.info["path"], tmp_path / "v.npy"
    run(verb, path, "-o", out, "-q", *[w for name, value in given.items()
                                       for w in (f"--{name}", ",".join(map(str, value)) if isinstance(value, tuple) else value)])
    want = np.load(out)
    np.testing.assert_array_equal(getattr(qb, verb)(path, **given), want)
    np.testing.assert_array_equal(getattr(qb, verb)(scan, **given), want)
    report = getattr(qb, verb)(path, output=tmp_path / "w.npy", **given)
    np.testing.assert_array_equal(np.load(tmp_path / "w.npy"), want)
    assert report["output"] == str(tmp_path / "w.npy")


def test_counts_with_fields_are_what_the_file_gives(scan):
    h5py = pytest.importorskip("h5py")
    with h5py.File(scan.info["path"]) as file:
        counts, flats, darks = (file[f"/exchange/{name}"][:] for name in ("data", "data_white", "data_dark"))
    volume = qb.fbp(counts, scan.angles, 0.5, flats=flats, darks=darks)
    np.testing.assert_array_equal(volume, qb.fbp(scan))
    assert volume[1:3, 28:36, 28:36].mean() == pytest.approx(0.02, rel=0.03)
    assert qb.center(counts, scan.angles, flats=flats, darks=darks).column == qb.center(scan).column == pytest.approx(31.5, abs=0.1)


def test_preparation_by_itself(scan, tmp_path):
    """The steps of the command, and a disc's own line integrals: 0.02/mm, radius 0.4 of 32 mm."""
    h5py = pytest.importorskip("h5py")
    steps = {"rings": "sort", "zingers": 5}
    run("convert", scan.info["path"], "-o", tmp_path / "lines.npy", "-q", "--rings", "sort", "--zingers", 5)
    want = np.load(tmp_path / "lines.npy")
    np.testing.assert_array_equal(qb.prepare(scan, **steps), want)
    np.testing.assert_array_equal(qb.prepare(scan.info["path"], **steps), want)
    with h5py.File(scan.info["path"]) as file:
        counts, flats, darks = (file[f"/exchange/{name}"][:] for name in ("data", "data_white", "data_dark"))
    out = np.empty((4, 90, 64), np.float32).swapaxes(0, 1)
    assert qb.prepare(counts, flats=flats, darks=darks, out=out) is out
    np.testing.assert_array_equal(out, qb.prepare(scan))
    chord = 2 * np.sqrt(np.maximum(12.8**2 - (0.5 * (np.arange(64) - 31.5))**2, 0))
    np.testing.assert_allclose(out.mean((0, 1)), 0.02 * chord, atol=0.01)
    bent = qb.prepare(scan, hardening=0.5)
    np.testing.assert_allclose(bent, qb.prepare(scan) + 0.5 * qb.prepare(scan)**2, rtol=1e-4, atol=1e-4)
    report = qb.prepare(scan, output=tmp_path / "again.npy", **steps)
    np.testing.assert_array_equal(np.load(tmp_path / "again.npy"), want)
    assert report["views"] == 90 and report["preparation"]["dead"] == 0
    with pytest.raises(TypeError, match="no option filter"):
        qb.prepare(scan, filter="hann")
    with pytest.raises(qb.Error, match="90 x 4 x 64"):
        qb.prepare(scan, out=np.empty((90, 4, 63), np.float32))
    with pytest.raises(qb.Error, match="overlaps"):
        qb.prepare(out, quantity="line_integral", out=out)


def test_a_cone_by_path_and_by_array(tmp_path):
    scan = qb.simulate("ball", tmp_path / "ball.h5", geometry="cone", sod=100, sdd=150, detector=(48, 32), views=60, pixel_size=0.5)
    by_path = qb.fdk(tmp_path / "ball.h5", sod=100, sdd=150)
    run("fdk", tmp_path / "ball.h5", "--sod", 100, "--sdd", 150, "-o", tmp_path / "v.npy", "-q")
    np.testing.assert_array_equal(by_path, np.load(tmp_path / "v.npy"))
    rays = qb.Geometry.cone(scan.angles, 32, 48, 0.5, 100, 150)
    np.testing.assert_allclose(qb.fdk(scan, rays), by_path, atol=1e-6)
    assert qb.sirt(scan, sod=100, sdd=150, iterations=2).shape == by_path.shape


def test_plans(scan, tmp_path):
    plan = qb.plan("fbp", scan, slices="1:3")
    assert plan.shape == (2, 64, 64) and plan.forecast["verb"] == "fbp" and plan.report is None
    volume = plan.run()
    np.testing.assert_array_equal(volume, qb.fbp(scan, slices="1:3"))
    assert plan.report["stages"] and "fbp" in repr(plan)
    to_file = qb.plan("fdk", qb.simulate("ball", tmp_path / "b.h5", geometry="cone", sod=100, sdd=150, detector=32, views=40, pixel_size=0.5),
                      sod=100, sdd=150, output=tmp_path / "v.h5")
    assert not (tmp_path / "v.h5").exists()
    assert to_file.run()["output"] and qb.read(tmp_path / "v.h5").shape == to_file.shape == (32, 32, 32)


@pytest.mark.parametrize("name", ["v.h5", "v.npy", "v.mha", "v.tif", "folder/"])
def test_volumes_there_and_back(tmp_path, name):
    volume = np.random.default_rng(2).random((3, 5, 7), np.float32)
    qb.write(tmp_path / name if not name.endswith("/") else f"{tmp_path}/{name}", volume, 0.25)
    path = f"{tmp_path}/{name}"
    np.testing.assert_array_equal(qb.read(path), volume)
    if name != "v.npy":
        assert qb.info(path)["voxel"][0] == pytest.approx(0.25, rel=1e-6)
    same = qb.compare(path, volume)
    assert same["rmse"] == 0 and same["rel_l2"] == 0 and qb.compare(volume + 1, volume)["max_abs"] == pytest.approx(1, rel=1e-6)
    qb.write(f"{tmp_path}/u16.tif", (volume * 1000).astype(np.uint16))
    assert qb.read(f"{tmp_path}/u16.tif").dtype == np.uint16


@pytest.mark.parametrize("call, kind, words", [
    (lambda path: qb.fbp("none.h5"), FileNotFoundError, "none.h5"),
    (lambda path: qb.fbp(path, output="v.npy", out=np.empty((4, 64, 64), np.float32)), qb.Error, "out and output"),
    (lambda path: qb.fbp(qb.Scan(path), np.zeros(90)), qb.Error, "give them to Scan"),
    (lambda path: qb.fbp(path, np.zeros(90)), qb.Error, "give a text"),
    (lambda path: qb.fbp(path, sod=3), TypeError, "no option sod"),
    (lambda path: qb.plan("recon", path), qb.Error, "'recon'"),
    (lambda path: qb.fbp(path, out=np.empty((3, 64, 64), np.float32)), qb.Error, "3"),
    (lambda path: qb.Scan(path).read(views=slice(0, 90, 2)), qb.Error, "neighbours"),
    (lambda path: qb.Scan(path).geometry(), qb.Error, "sod"),
    (lambda path: qb.read("none.npy"), FileNotFoundError, "none.npy"),
    (lambda path: qb.write("v.xyz", np.zeros((2, 2, 2), np.float32)), qb.Error, "xyz"),
    (lambda path: qb.write("v.npy", np.zeros((2, 2, 2), complex)), qb.Error, "complex128"),
    (lambda path: qb.compare(np.zeros((2, 2)), np.zeros((2, 3))), qb.Error, "3"),
    (lambda path: qb.simulate("foam", "f.h5", views=-1), qb.Error, "views"),
])
def test_bad_input_is_an_exception_with_words(scan, tmp_path, monkeypatch, call, kind, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        call(scan.info["path"])
    assert words in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_geometries_by_vectors_and_matrices(tmp_path):
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    rays = qb.Geometry.cone(angles, 6, 20, 0.5, 100, 150, (1.0, 0.5))
    vectors = rays.vectors
    assert vectors.shape == (40, 4, 3) and vectors[0, 0] == pytest.approx([0, -100, 0])
    x = np.random.default_rng(0).random((6, 20, 20), np.float32)
    want = qb.project(x, rays)
    np.testing.assert_array_equal(qb.project(x, qb.Geometry.from_vectors(vectors, 6, 20)), want)
    matrices = []
    for source, corner, u, v in vectors:  # (column w, row w, w) = M^-1 (point - source), M's columns u, v, corner - source
        inverse = np.linalg.inv(np.stack([u, v, corner - source], 1))
        matrices.append(np.column_stack([inverse, -inverse @ source]))
    np.testing.assert_allclose(qb.project(x, qb.Geometry.from_matrices(matrices, 6, 20, 0.5)), want, atol=1e-4)
    flat = qb.Geometry.parallel(angles / 2, 3, 20, 0.5)
    np.testing.assert_array_equal(qb.Geometry.from_vectors(flat.vectors, 3, 20, "parallel").vectors, flat.vectors)
    assert qb.Geometry.fan(angles, 20, 0.5, 100, 150).shape == (40, 1, 20)
    assert rays.info["sod_mm"] == pytest.approx(100) and "<svg" in rays._repr_html_()
    with pytest.raises(qb.Error, match="4"):
        qb.Geometry.from_vectors(vectors[:, :3], 6, 20)
    with pytest.raises(qb.Error):
        qb.Geometry.from_vectors(np.full((4, 4, 3), np.nan), 6, 20)


def test_the_axis_of_a_cone(tmp_path):
    scan = qb.simulate("foam", tmp_path / "f.h5", geometry="cone", sod=400, sdd=600, pixel_size=0.6, detector=(64, 8), views=120, center_offset=6.5)
    assert qb.center(scan, sod=400, sdd=600).column == pytest.approx(38, abs=0.1)
    a, b = (qb.fdk(scan, sod=400, sdd=600, detector_offset=offset) for offset in ("auto", "-3.9,0"))
    assert np.linalg.norm(a - b) < 0.02 * np.linalg.norm(b)
