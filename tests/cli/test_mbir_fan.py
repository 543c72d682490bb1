# SPDX-License-Identifier: MIT
"""qb mbir of fan beams: what it gains over filtered back-projection, whatever it begins with and whoever shares the work;
short scans, detectors to one side; rows of a cone that are none."""
import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from conebeam import Circle
from qbtest import QB, devices, fails, few, instead, qb, qb_json, read_h5, slow
from test_resume import killed

CIRCLE = ["--sod", 300, "--sdd", 500]
WATER = 0.02


def simulate(folder, *more, detector="96,1", pixel=1.4, circle=(*CIRCLE,)):
    scan, truth = folder / "s.h5", folder / "t.npy"
    qb("simulate", "shepp-logan", "--geometry", "cone", *circle, "--pixel-size", pixel, "--detector", detector, "-o", scan, "--truth", truth, *more)
    return scan, np.load(truth)


def rmse(a, b):
    return np.sqrt(((a - b) ** 2).mean())


@pytest.fixture(scope="module")
def fan(tmp_path_factory):
    return simulate(tmp_path_factory.mktemp("fan"), "--views", 60, "--photons", 20000)[0]


@pytest.fixture
def job(fan, tmp_path):
    def run(*more, scan=fan):
        report = qb_json("mbir", scan, "-o", tmp_path / "v.npy", *CIRCLE, "--weights", "transmission", "--snr-db", 25, *more)
        return np.load(tmp_path / "v.npy"), report
    return run


@pytest.mark.parametrize("views, photons, snr_db, sharpness", few((48, 1000000, 30, 1), (192, 2000, 20, 1), others=[(96, 3000, 24, 0.5)]))
def test_few_or_noisy_views_beat_filtered_back_projection(views, photons, snr_db, sharpness, tmp_path):
    """At most 0.6 of the error of the best window."""
    scan, want = simulate(tmp_path, "--views", views, "--photons", photons, detector="256,1", pixel=0.5)

    def error(verb, *more):
        qb(verb, scan, "-o", tmp_path / "v.npy", *CIRCLE, *more)
        return rmse(np.load(tmp_path / "v.npy"), want)
    fbp = min(error("fdk", "--filter", window) for window in ("ramp", "hann", "hann:0.6", "hann:0.4", "hann:0.3"))
    assert error("mbir", "--weights", "transmission", "--snr-db", snr_db, "--sharpness", sharpness) < 0.6 * fbp


def test_one_image_whatever_the_way(job, fan, tmp_path):
    """Wherever it begins, by SuperVoxels or in vectors, on coarser voxels first: within 1 HU where little changes any more."""
    plain, report = job("--stop", 0.01, "--equits", 100)
    slab, = report["convergence"]["slabs"]
    assert all(b <= a * 1.000001 for a, b in zip(slab["cost"], slab["cost"][1:])) and slab["stopped"] == "tolerance"
    plan = qb_json("mbir", fan, "-o", tmp_path / "v.npy", *CIRCLE, "--dry-run")
    assert plan["device"] == "cpu" and plan["threads_share"] == "supervoxels" and plan["geometry"]["beam"] == "cone"
    for more in (["--start", 0], ["--matrix", "floats"], ["--coarse", 2], ["--no-zero-skip"]):
        other, told = job("--stop", 0.01, "--equits", 100, *more)
        assert rmse(plain, other) * 1000 / WATER < 1 and told["convergence"]["slabs"][0]["cost"][-1] == pytest.approx(slab["cost"][-1], rel=5e-4)
    # What it begins with is a filtered back-projection: where a constant is after an equit, it is before.
    (begun, near), (constant, far) = (job("--equits", 1, "--stop", 0, *more) for more in ([], ["--start", 0.005]))
    assert rmse(begun, plain) < 0.5 * rmse(constant, plain)


def test_the_same_bits(job):
    for matrix in ("fly", "floats"):
        one, three = (job("--equits", 3, "--matrix", matrix, "--threads", threads)[0] for threads in (1, 3))
        assert (one == three).all()


def test_a_matrix_is_kept_under_its_geometry(job, fan, tmp_path):
    cache = ["--equits", 2, "--matrix", "floats", "--matrix-cache", tmp_path / "kept"]

    def found(*more):
        return qb_json("mbir", fan, "-o", tmp_path / "v.npy", *instead(CIRCLE, *more), *cache)["convergence"]["matrix_from_cache"]
    assert [found(), found(), found("--sdd", 501), found("--detector-offset", "0.1,0"), found()] == [False, True, False, False, True]


def test_resumed_only_with_its_geometry(fan, tmp_path):
    """To the same bits; where the source stood elsewhere it is another job."""
    whole, out, kept = tmp_path / "whole.npy", tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    words = ["mbir", fan, "--equits", 40, "--stop", 0, "--checkpoint", 0.001, "--sigma-x", 0.002, "--sigma-y", 0.02]
    qb(*words, *CIRCLE, "-o", whole)
    for _ in range(12):
        if killed([*words, *CIRCLE, "-o", out], kept, 0):
            break
        out.unlink()
    assert any(kept.glob("slab_*")) and not out.exists()
    for other in (["--detector-offset", "0.1,0"], ["--detector-radius", 500]):
        fails(2, *words, *instead(CIRCLE, *other), "-o", out, "--resume", says=["slab_", "data"])
    report = qb_json(*words, *CIRCLE, "-o", out, "--resume")
    assert out.read_bytes() == whole.read_bytes() and report["convergence"]["resumed_at_equits"] > 0


def test_short_scans_and_detectors_to_one_side(tmp_path):
    for number, (more, detector) in enumerate([(["--angles", "0:215:80"], []), (["--views", 120], ["--detector-offset", "20,0"])]):
        folder = tmp_path / str(number)
        folder.mkdir()
        scan, want = simulate(folder, *more, *detector, "--photons", 100000)
        report = qb_json("mbir", scan, "-o", folder / "v.npy", *CIRCLE, *detector, "--weights", "transmission", "--snr-db", 30)
        qb("fdk", scan, "-o", folder / "f.npy", *CIRCLE, *detector, "--filter", "hann")
        assert rmse(np.load(folder / "v.npy"), want) < 0.6 * rmse(np.load(folder / "f.npy"), want)
        assert any("--size" in w for w in report["warnings"]) == (number == 1)


@pytest.mark.parametrize("radius", [0, 180])
def test_values_of_lines_that_owe_us_nothing(tmp_path, radius):
    """A disc off the axis by exact line integrals onto a flat detector and an equiangular one: its place, its attenuation;
    begun with an image of it; by a file the same bits."""
    circle = Circle(100, 180, 80, 1, 0.9, offset=(3, 0), radius=radius)
    angles = np.arange(90) * 4.0
    np.save(tmp_path / "l.npy", circle.project([(0.02, (6, -3, 0), (9, 7, 500))], angles))
    words = ["--quantity", "line_integral", "--pixel-size", 0.9, "--snr-db", 40]
    where = ["--sod", 100, "--sdd", 180, "--detector-offset", "3,0", "--detector-radius", radius]
    y, x = (np.mgrid[:80, :80] - 39.5) * 0.5
    inside = ((x - 6) / 9) ** 2 + ((y + 3) / 7) ** 2

    def disc(name, *more):
        qb("mbir", tmp_path / "l.npy", "-o", tmp_path / name, *words, *more)
        v = np.load(tmp_path / name)[0]
        assert abs(v[inside < 0.8].mean() - 0.02) < 1.5e-4 and v[inside > 1.4].max() < 2e-3
        assert v.sum() * 0.25 == pytest.approx(0.02 * np.pi * 9 * 7, rel=3e-3)
        return v
    v = disc("v.npy", *where, "--angles", "0:360")
    assert v[inside < 0.8].std() < 8e-4
    vectors = disc("m.npy", *where, "--angles", "0:360", "--matrix", "floats")
    assert 0 < rmse(v, vectors) < 2e-4
    begun = []
    for start in ("fbp", "0.002"):
        qb("mbir", tmp_path / "l.npy", "-o", tmp_path / "f.npy", *words, *where, "--angles", "0:360", "--start", start, "--equits", 1)
        begun.append(rmse(np.load(tmp_path / "f.npy")[0], v))
    assert begun[0] < 0.6 * begun[1]
    (tmp_path / "g.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 1, "columns": 80, "sod": 100, "sdd": 180,
                                                 "pixel_size": [0.9, 0.9], "offset": [3, 0], "radius": radius, "angles_degrees": {"from": 0, "to": 360, "count": 90}}))
    report = qb_json("mbir", tmp_path / "l.npy", "-o", tmp_path / "w.npy", *words, "-g", tmp_path / "g.json")
    assert not any("angles" in warning for warning in report["warnings"])  # the file has them
    (tmp_path / "g.npy").write_bytes((tmp_path / "g.json").read_bytes())
    fails(2, "mbir", tmp_path / "l.npy", "-o", tmp_path / "g.npy", *words, "-g", tmp_path / "g.npy", says=["g.npy"])
    assert (tmp_path / "g.npy").read_bytes() == (tmp_path / "g.json").read_bytes()
    assert (np.load(tmp_path / "w.npy")[0] == v).all()


def test_rows_of_a_cone(tmp_path):
    """That in the plane of the source is a fan, and the image that of a detector with no other; those that leave it are none."""
    wide = ["--sod", 60, "--sdd", 120]
    out = tmp_path / "v.npy"
    for name, detector in (("cone", "48,9"), ("row", "48,1")):
        (tmp_path / name).mkdir()
        scan, _ = simulate(tmp_path / name, "--views", 40, detector=detector, pixel=1.5, circle=wide)
        said = [] if name == "row" else ["--slices", "4:5"]
        qb("mbir", scan, "-o", tmp_path / f"{name}.npy", *wide, *said)
    assert np.allclose(np.load(tmp_path / "cone.npy"), np.load(tmp_path / "row.npy"), atol=1e-6)
    cone = tmp_path / "cone" / "s.h5"
    fails(3, "mbir", cone, "-o", out, *wide, "--slices", "0:1", says=["rays of row 0", "--slices 4:5"])
    fails(3, "mbir", cone, "-o", out, *wide, "--slices", "4:5", "--detector-offset", "0,6", says=["rays of row 4", "--slices 0:1"])
    qb("mbir", cone, "-o", out, "--slices", "4:5")  # as the file states
    assert (np.load(out) == np.load(tmp_path / "cone.npy")).all()
    with h5py.File(cone, "a") as f:
        del f["/process/quickbeam/provenance"]
    fails(3, "mbir", cone, "-o", out, "--slices", "4:5", says=["cone", "--sod and --sdd"])
    volume = tmp_path / "v.h5"
    qb("mbir", cone, "-o", volume, *wide, "--slices", "4:5")
    assert "the middle at (0, 0, 0) mm" in qb("info", volume).stdout and read_h5(volume).shape == (1, 48, 48)
    (tmp_path / "narrow").mkdir()
    few_rows, want = simulate(tmp_path / "narrow", "--views", 60, detector="64,4", pixel=1)  # fans one above the other
    apart = ["--neighbours", "1,0.7,0", "--sigma-x", 0.002, "--sigma-y", 0.02]
    qb("mbir", few_rows, "-o", out, *CIRCLE, *apart)
    qb("mbir", few_rows, "-o", tmp_path / "one.npy", *CIRCLE, *apart, "--slices", "2:3")
    assert (np.load(out)[2] == np.load(tmp_path / "one.npy")[0]).all() and rmse(np.load(out), want) < 0.0018
    qb("mbir", few_rows, "-o", out, *CIRCLE, *apart[2:])  # and a prior between them
    assert 0 < rmse(np.load(out)[2], np.load(tmp_path / "one.npy")[0]) < 4e-4


@pytest.fixture(scope="module")
def opencl():
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")


@pytest.mark.parametrize("more", few([], ["--detector-radius", 500], others=[["--detector-offset", "6,0", "--angles", "0:230:24"]]))
def test_on_a_device(opencl, more, tmp_path):
    """Within 1 HU the CPU's image, flat or bent, whoever computes; the same bits each time."""
    scan, _ = simulate(tmp_path, "--views", 24, "--photons", 20000, detector="32,1", pixel=4.25)
    base = [scan, *CIRCLE, *more, "--no-zero-skip", "--snr-db", 25, "--equits", 40, "--stop", 0]
    for name, *how in (["cpu"], *([name, "--device", "opencl", "--kernel", f"icd_supervoxel.{name}"] for name in ("local", "tiles"))):
        report = qb_json("mbir", *base, "-o", tmp_path / f"{name}.npy", *how)
        assert report["kernel"].endswith(name if how else report["kernel"][-4:])
        slab, = report["convergence"]["slabs"]
        assert all(b <= a * 1.0001 for a, b in zip(slab["cost"], slab["cost"][1:]))
    cpu, local, tiles = (np.load(tmp_path / f"{n}.npy") for n in ("cpu", "local", "tiles"))
    assert all(0 < rmse(image, cpu) < 2e-5 for image in (local, tiles))
    qb("mbir", *base, "-o", tmp_path / "again.npy", "--device", "opencl", "--kernel", "icd_supervoxel.local")
    assert (np.load(tmp_path / "again.npy") == local).all()


@slow
def test_what_a_device_does_of_it(opencl, fan, tmp_path):
    out = tmp_path / "v.npy"
    plan = qb_json("plan", "mbir", fan, "-o", out, *CIRCLE, "--device", "opencl", "--why")
    assert plan["kernel"] == "icd_supervoxel.local" and plan["geometry"]["beam"] == "cone"
    whys = {row["kernel"]: row["verdict"] for row in plan["why"]}
    assert "a fan beam" in whys["icd_supervoxel.global"]
    fails(3, "mbir", fan, "-o", out, *CIRCLE, "--device", "opencl", "--kernel", "icd_supervoxel.global", says=["icd_supervoxel.global", "a fan beam"])
    begun = tmp_path / "b.npy"
    job = ["mbir", fan, *CIRCLE, "--size", 16, "--voxel", 5, "--sigma-y", 0.02]
    qb(*job, "-o", begun, "--equits", 2)
    for more in (["--prox", begun, "--sigma-p", 0.003], ["--start", 0.01, "--coarse", 1, "--sigma-x", 0.002]):
        images = []
        for device in "cpu", "opencl":
            qb(*job, *more, "--stop", 0.01, "--equits", 30, "-o", out, "--device", device)
            images.append(np.load(out))
        assert rmse(*images) < 2e-5
    (tmp_path / "rows").mkdir()
    rows, _ = simulate(tmp_path / "rows", "--views", 12, detector="16,2", pixel=6)  # neighbours
    for device in "cpu", "opencl":
        report = qb_json("mbir", rows, *CIRCLE, "--sigma-x", 0.002, "--sigma-y", 0.02, "--stop", 0.01, "--equits", 30, "-o", tmp_path / f"{device}.npy", "--device", device)
    assert report["kernel"] == "icd_supervoxel.tiles" and rmse(np.load(tmp_path / "cpu.npy"), np.load(tmp_path / "opencl.npy")) < 2e-5


def test_what_a_gpu_would_do_of_it(tmp_path):
    """Told of one that is only played: which kernels cannot, and why."""
    played = Path(QB).resolve().parent / "tests" / "device" / "libmock_cuda.so"
    if not played.exists():
        pytest.skip("there is no played CUDA driver")
    env = {**os.environ, "QB_LIBCUDA": str(played), "QB_LIBNVRTC": str(played), "QB_LIBOPENCL": "", "QB_CACHE_DIR": "", "MOCK_CUDA_FREE": "1000000000"}

    def told(sod, views, columns, *more, code=0):
        scan, _ = simulate(tmp_path, "--views", views, detector=f"{columns},1", circle=["--sod", sod, "--sdd", 500])
        job = [scan, "--sod", sod, "--sdd", 500, "--device", "cuda", *more, "-o", tmp_path / "v.npy"]
        if code:
            return fails(code, "mbir", *job, env=env)
        plan = qb_json("plan", "mbir", *job, "--why", env=env)
        return plan["kernel"], {row["kernel"].split(".")[-1]: row["verdict"] for row in plan["why"]}
    kernel, why = told(300, 60, 96)
    assert "a fan beam" in why["global"] and why["local"] == why["tiles"] == "usable"
    kernel, why = told(90, 1000, 96, "--size", 64, "--voxel", 0.8)  # near the source voxels are wide
    assert kernel.endswith("tiles") and "more views than local memory" in why["local"]
    assert "a fan beam" in told(300, 60, 96, "--kernel", "icd_supervoxel.global", code=3)
    assert "more views than local memory" in told(90, 1000, 96, "--size", 64, "--voxel", 0.8, "--kernel", "icd_supervoxel.local", code=3)


def test_refusals(fan, tmp_path):
    out = tmp_path / "v.npy"
    base = ["mbir", fan, "-o", out]
    fails(3, *base, *CIRCLE, "--size", 900, says=["volume", "source"])
    fails(3, *base, *CIRCLE, "--size", 700, "--roi", 1000, says=["source"])
    fails(3, *base, *CIRCLE, "--detector-offset", "80,0", says=["--start 0", "rotation axis"])
    qb(*base, *CIRCLE, "--detector-offset", "80,0", "--start", 0, "--equits", 1)
    out.unlink()
    fails(3, *base, *CIRCLE, "--size", 490, "--roi", 200, "--coarse", 3, says=["--coarse 3", "source"])
    fails(2, *base, *CIRCLE, "--center", "far", says=["--center far", "a column of", "auto"])
    np.save(tmp_path / "dead.npy", np.full((60, 1, 96), np.nan, np.float32))
    none = fails(3, "mbir", tmp_path / "dead.npy", "--quantity", "line_integral", "--angles", "0:360", "--pixel-size", 1.4, "-o", out, *CIRCLE, "--sigma-x", 0.002,
                 "--sigma-y", 0.02, says=["dead.npy", "none of its 60 views can be used"])
    assert "100 %" not in none  # nothing was solved for
    fails(3, *base, *CIRCLE, "--tilt", "5,0,0", "--slices", "0:1", says=["rays of row 0", "no fan beam"])
    fails(2, *base, "-g", "parallel", "--detector-offset", "1,0", says=["--detector-offset", "--sod and --sdd"])
    parallel = tmp_path / "p.h5"
    qb("simulate", "disc", "-o", parallel, "--views", 20, "--detector", "32,1")
    fails(3, "mbir", parallel, "-o", out, *CIRCLE, says=["states that its beam is parallel"])
    fails(2, "mbir", parallel, "-o", out, "--tilt", "3", says=["--tilt", "parallel beam"])
    qb("mbir", parallel, "-o", out, "-g", "parallel", "--center", 15.5)
    geometry = tmp_path / "g.json"
    geometry.write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 1, "columns": 96, "sod": 300, "sdd": 500,
                                    "pixel_size": [1.4, 1.4], "angles_degrees": {"from": 0, "to": 360, "count": 59}}))
    out.unlink()
    fails(3, *base, "-g", geometry, says=["59 views", "60"])
    fails(2, *base, "-g", geometry, "--angles", "0:360", says=["--angles", "g.json"])
    assert not out.exists()
