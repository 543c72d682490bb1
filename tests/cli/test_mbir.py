# SPDX-License-Identifier: MIT
"""qb mbir: values, a falling cost, what it gains over filtered back-projection, the same bits for any cut, refusals."""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qbtest import QB, devices, fails, few, instead, provenance_h5, qb, qb_json, read_h5, slow

LINES = ["--quantity", "line_integral", "--angles", "0:180", "--pixel-size", "1"]


@pytest.fixture(scope="module")
def disc(tmp_path_factory):
    scan = tmp_path_factory.mktemp("disc") / "disc.h5"
    qb("simulate", "disc", "-o", scan, "--views", 60, "--detector", "48,20", "--pixel-size", "0.5", "--photons", 20000, "--center-offset", "1.2")
    return scan


def test_values_and_cost(disc, tmp_path):
    out = tmp_path / "v.h5"
    report = qb_json("mbir", disc, "-o", out, "--weights", "transmission", "--snr-db", 22, "--equits", 12, "--stop", 0)
    assert report["center"]["column"] == pytest.approx(23.5 + 1.2, abs=0.1)
    slab, = report["convergence"]["slabs"]
    assert slab["slices"] == 20 and slab["stopped"] == "equits" and abs(slab["equits"][-1] - 12) <= 0.5  # whole turns, each an equit at most
    assert all(b <= a * 1.000001 for a, b in zip(slab["cost"], slab["cost"][1:]))
    (tmp_path / "r.json").write_text(json.dumps(report))
    script = Path(__file__).resolve().parents[2] / "scripts" / "plot-convergence.py"
    subprocess.run([sys.executable, script, tmp_path / "r.json", tmp_path / "c.svg"], check=True)
    lines = re.findall(r'points="([^"]+)"', (tmp_path / "c.svg").read_text())  # the cost but its last, and the change
    assert [len(line.split()) for line in lines] == [len(slab["cost"]) - 1, len(slab["change"])]
    volume = read_h5(out)
    assert volume.shape == (20, 48, 48) and volume.min() == 0
    middle = volume[:, 20:28, 20:28]
    assert abs(middle.mean() - 0.02) < 0.0002 and middle.std() < 0.0004
    assert provenance_h5(out)["plan"]["options"]["equits"] == "12"
    hounsfield = tmp_path / "hu.h5"
    told = qb("mbir", disc, "-o", hounsfield, "--center", "24.7", "--hu", "0.02", "--slices", "3:5", "--voxel", "0.8", "--size", "32").stderr
    shares = [int(share) for share in re.findall(r"mbir: (\d+) %", told)]
    assert shares and max(shares) <= 100 and all(float(s) < 100 for s in re.findall(r"about ([\d.]+) s left", told))
    assert read_h5(hounsfield).shape == (2, 32, 32) and abs(read_h5(hounsfield)[:, 12:20, 12:20].mean()) < 15


def test_threads_and_slabs_give_the_same_bits(disc, tmp_path):
    common = ["--center", "24.7", "--equits", 3]
    for name, *more in (["one", "--threads", 1], ["three", "--threads", 3],
                        ["alone", "--neighbours", "1,0.7,0", "--threads", 1],      # 16 slices at a time
                        ["apart", "--neighbours", "1,0.7,0", "--threads", 2]):     # all at once
        qb("mbir", disc, "-o", tmp_path / f"{name}.npy", *common, *more)
    one, alone = ((tmp_path / f"{n}.npy").read_bytes() for n in ("one", "alone"))
    assert one == (tmp_path / "three.npy").read_bytes() and alone == (tmp_path / "apart.npy").read_bytes() and one != alone


def test_parameters_do_what_they_say(disc, tmp_path):
    def run(*more):
        out = tmp_path / "v.npy"
        report = qb_json("mbir", disc, "-o", out, "--center", "24.7", "--slices", "9:11", *instead(["--equits", 15], *more))
        return np.load(out), report["convergence"]
    plain, c = run()
    sharp, d = run("--sharpness", 2)
    assert d["sigma_x"] == pytest.approx(4 * c["sigma_x"]) and d["sigma_y"] == pytest.approx(c["sigma_y"])
    noisy, e = run("--snr-db", 20)
    assert e["snr_db"] == pytest.approx(20) and e["noise"] == c["noise"]
    assert e["sigma_y"] == pytest.approx(10 ** ((c["snr_db"] - 20) / 20) * c["sigma_y"])
    rough = [v[:, 20:28, 20:28].std() for v in (noisy, plain, sharp)]
    assert rough[0] < rough[1] < rough[2]
    for matrix, bound in (("floats", 0), ("bytes", 2e-3)):
        kept, _ = run("--matrix", matrix)
        assert np.abs(kept - plain).max() <= bound
    zero, f = run("--start", "0", "--equits", 60, "--stop", "0.01", "--snr-db", 25)
    same, g = run("--equits", 60, "--stop", "0.01", "--snr-db", 25)
    assert np.sqrt(((zero - same) ** 2).mean()) < 2e-5  # wherever it begins: 1 HU
    assert f["slabs"][0]["stopped"] == g["slabs"][0]["stopped"] == "tolerance"
    assert run("--no-positivity")[0].min() < 0
    np.save(tmp_path / "w.npy", np.ones((60, 20, 48), np.float32))
    given, _ = run("--weights", tmp_path / "w.npy")
    assert np.abs(given - plain).max() < 1e-5


@pytest.mark.parametrize("views, photons, snr_db, sharpness", few((48, 1000000, 30, 1), (48, 800, 27, 0.5), others=[(384, 800, 20, 1)]))
def test_few_or_noisy_views_beat_filtered_back_projection(views, photons, snr_db, sharpness, tmp_path):
    """An eighth of the views, a low dose, both: at most 0.6 of the error of the best window."""
    scan, truth = tmp_path / "s.h5", tmp_path / "t.npy"
    qb("simulate", "shepp-logan", "-o", scan, "--views", views, "--detector", "256,1", "--photons", photons, "--truth", truth)
    want = np.load(truth)

    def rmse(verb, *more):
        qb(verb, scan, "-o", tmp_path / "v.npy", "--center", "127.5", *more)
        return np.sqrt(((np.load(tmp_path / "v.npy") - want) ** 2).mean())
    fbp = min(rmse("fbp", "--filter", window) for window in ("ramp", "ramp:0.6", "hann", "hann:0.6", "hann:0.4"))
    assert rmse("mbir", "--weights", "transmission", "--snr-db", snr_db, "--sharpness", sharpness) < 0.6 * fbp


def test_a_proximal_map(disc, tmp_path):
    """Near its image where sigma_p is small, the data's where it is large; from there, or from where another run came to."""
    v = np.full((2, 48, 48), 0.01, np.float32)
    np.save(tmp_path / "v.npy", v)
    y, x = np.mgrid[:48, :48] - 23.5
    inside = np.hypot(x, y) <= 24

    def run(name, *more):
        report = qb_json("mbir", disc, "-o", tmp_path / name, "--center", "24.7", "--slices", "9:11", "--stop", "0", "--prox", tmp_path / "v.npy", *more)
        return np.load(tmp_path / name), report
    near, report = run("near.npy", "--start", "prox", "--sigma-p", "1e-6", "--equits", 2)
    assert report["convergence"]["sigma_p"] == 1e-6 and "sigma_x" not in report["convergence"]
    assert np.abs(near - v)[:, inside].max() < 1e-5 and (near[:, ~inside] == 0).all()
    far, report = run("far.npy", "--equits", 30)
    assert report["convergence"]["sigma_p"] == pytest.approx(2 * far[:, inside].mean(), rel=0.6)  # of a typical attenuation
    assert abs(far[:, 22:26, 22:26].mean() - 0.02) < 0.001
    one, report = run("one.npy", "--sigma-p", "0.002", "--equits", 30, "--threads", 1)  # slice by slice
    two, _ = run("two.npy", "--sigma-p", "0.002", "--equits", 30, "--threads", 2)
    side, _ = run("side.npy", "--sigma-p", "0.002", "--equits", 30, "--matrix", "floats")  # side by side
    assert (one == two).all() and (one != side).any() and np.abs(one - side).max() < 1e-5
    told = json.loads((tmp_path / "one.npy.json").read_text())["provenance"]["plan"]
    assert told["threads_share"] == "supervoxels"
    mid, _ = run("mid.npy", "--start", "prox", "--sigma-p", "0.002", "--snr-db", 25, "--equits", 30)
    same, report = run("same.npy", "--start", tmp_path / "mid.npy", "--sigma-p", "0.002", "--snr-db", 25, "--equits", 1)
    assert np.abs(same - mid).max() < 2e-6 and report["convergence"]["slabs"][0]["change"][0] < 1e-4
    told = json.loads((tmp_path / "same.npy.json").read_text())
    assert {"prox", "start"} <= told["provenance"]["content"].keys()
    out, base = tmp_path / "no.npy", [disc, "--center", "24.7", "-o", tmp_path / "no.npy"]
    fails(3, "mbir", *base, "--prox", tmp_path / "v.npy", says=["--prox", "2 x 48 x 48", "20 x 48 x 48"])
    fails(2, "mbir", *base, "--prox", tmp_path / "gone.npy", says=["--prox", "no such file"])
    fails(2, "mbir", *base, "--start", "prox", says=["--prox"])
    fails(2, "mbir", *base, "--sigma-p", "1", says=["--sigma-p"])
    fails(2, "mbir", *base, "--prox", tmp_path / "v.npy", "--sigma-x", "1", says=["--sigma-x", "--sigma-p"])
    for name, value in [("--p", "1.5"), ("--q", "1.7"), ("--threshold", "0.4"), ("--neighbours", "1,1,0")]:  # which it does not have
        fails(2, "mbir", *base, "--slices", "9:11", "--prox", tmp_path / "v.npy", name, value, says=[f"{name} {value}", "--prox"])
    qb("plan", "mbir", *base, "--slices", "9:11", "--prox", tmp_path / "v.npy", "--p", "1.2")  # as it is
    v[1, 2, 3] = np.nan
    np.save(tmp_path / "v.npy", v)
    fails(3, "mbir", *base, "--slices", "9:11", "--prox", tmp_path / "v.npy", says=["--prox", "voxel 1, 2, 3", "nan"])
    assert not out.exists()


def test_refusals(disc, tmp_path):
    out = tmp_path / "v.npy"
    base = [disc, "-o", out, "--center", "23.5"]
    fails(2, "mbir", *base, "--p", "1.8", "--q", "1.5", says=["--p 1.8", "--q 1.5"])
    fails(2, "mbir", *base, "--slices", "0:10:2", says=["adjacent", "A:B"])
    fails(2, "mbir", *base, "--weights", "nothing", says=["--weights nothing", "transmission_root"])
    fails(2, "mbir", *base, "--start", "-1", says=["--start -1", "from 0 to 1e6"])
    fails(2, "mbir", *base, "--neighbours", "0,0,0", says=["--neighbours"])
    fails(2, "mbir", *base, "--roi", "0.1", says=["--roi 0.1", "no voxel"])
    fails(2, "mbir", *base, "--size", "3000", "--max-ram", "60M", says=["60.0 MiB", "need"])
    fails(2, "mbir", *base, "--size", "1000", "--matrix", "floats", "--coarse", 0, "--max-ram", "400M", says=["400.0 MiB", "--matrix fly", "needs"])
    weights = np.ones((60, 20, 48), np.float32)
    for value, says in ((-1, "is -1"), (np.nan, "is nan")):
        weights[7, 3, 11] = value
        np.save(tmp_path / "w.npy", weights)
        fails(3, "mbir", *base, "--weights", tmp_path / "w.npy", "--sigma-y", "1", "--sigma-x", "0.01",
              says=["view 7", "slice 3", "column 11", says])
    np.save(tmp_path / "w.npy", np.zeros_like(weights))
    fails(3, "mbir", *base, "--weights", tmp_path / "w.npy", says=["all weights are zero"])
    np.save(tmp_path / "w.npy", weights[1:])
    fails(3, "mbir", *base, "--weights", tmp_path / "w.npy", says=["59 x 20 x 48", "60 views of 20 x 48"])
    lines = np.ones((9, 1, 16), np.float32)
    np.save(tmp_path / "l.npy", lines)
    fails(3, "mbir", tmp_path / "l.npy", "--quantity", "line_integral", "-o", out, says=["no angles"])
    assert not out.exists()


def test_numbers_that_are_none(tmp_path):
    lines = np.ones((9, 1, 16), np.float32)
    lines[2, 0, 5] = np.nan
    np.save(tmp_path / "l.npy", lines)
    report = qb_json("mbir", tmp_path / "l.npy", *LINES, "-o", tmp_path / "v.npy", "--center", "7.5")
    assert np.isfinite(np.load(tmp_path / "v.npy")).all() and any("mended" in w or "1 " in w for w in report["warnings"])


def test_slices_that_are_few_and_alone_descend_one_by_one(disc, tmp_path):
    """Whatever slices are beside them, they are the same bits; with a prior between them or a matrix that is kept, in vectors."""
    base = ("mbir", disc, "-o", tmp_path / "v.npy", "--center", "24.7", "--equits", 3)

    def share(*more):
        return qb_json(*base, "--dry-run", *more)["threads_share"]
    alone = ("--neighbours", "1,0.7,0")
    assert share("--slices", "3:4") == share("--slices", "3:6", *alone) == "supervoxels"
    assert share("--slices", "3:5") == share(*alone) == share("--slices", "3:4", "--matrix", "bytes") == "slices"
    got = {}
    for threads, slices in ((1, "4:5"), (2, "3:6")):  # what the data say of sigmas differs from slice to slice
        qb(*base, "--slices", slices, *alone, "--threads", threads, "--sigma-x", 0.01, "--sigma-y", 0.1)
        got[threads] = np.load(tmp_path / "v.npy")
    assert np.array_equal(got[1][0], got[2][1]) and not np.array_equal(got[2][0], got[2][1])


def finer(image, ny, nx):
    """Between the middles of voxels of twice the side, around the same middle; beyond the outermost as there."""
    for axis, n in ((1, ny), (2, nx)):
        at = np.clip((np.arange(n) - (n - 1) / 2) / 2 + (image.shape[axis] - 1) / 2, 0, image.shape[axis] - 1)
        first = at.astype(int)
        share = (at - first).reshape([-1 if a == axis else 1 for a in range(3)])
        second = np.minimum(first + 1, image.shape[axis] - 1)
        image = np.take(image, first, axis) * (1 - share) + np.take(image, second, axis) * share
    return image.astype(np.float32)


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    scan = tmp_path_factory.mktemp("sparse") / "foam.h5"
    qb("simulate", "foam", "-o", scan, "--views", 20, "--detector", "96,20", "--pixel-size", "1", "--photons", 20000)
    return scan


SPARSE = ["--center", "47.5", "--weights", "transmission", "--neighbours", "1,0.7,0", "--sigma-x", "0.002", "--sigma-y", "0.02"]


@pytest.mark.parametrize("slices", ["7:8", "0:20"])  # by SuperVoxels; in vectors, two groups
def test_coarser_voxels_first(sparse, tmp_path, slices):
    """What two levels come to is what a descent of each by itself comes to, begun with the image of the one before."""
    def run(name, *more):
        slab = qb_json("mbir", sparse, "-o", tmp_path / name, *instead(SPARSE, "--slices", slices, *more))["convergence"]["slabs"][0]
        return np.load(tmp_path / name), slab
    sigma = [["--sigma-x", "0.002", "--sigma-y", str(0.02 * 2 ** (level / 2))] for level in (1, 2)]
    first, four = run("four.npy", "--size", "24,23", "--voxel", 4, "--roi", 46 + 2, "--stop", 0.1, "--equits", 160, "--coarse", 0, *sigma[1])
    np.save(tmp_path / "start.npy", finer(first, 45, 47))
    then, two = run("two.npy", "--size", "47,45", "--voxel", 2, "--roi", 46 + 1, "--stop", 0.1, "--equits", 80, *sigma[0], "--start", tmp_path / "start.npy")
    np.save(tmp_path / "start.npy", finer(then, 90, 93))
    want, one = run("one.npy", "--size", "93,90", "--roi", 46, "--start", tmp_path / "start.npy")
    got, slab = run("got.npy", "--size", "93,90", "--roi", 46, "--coarse", 2)
    assert [(level["side"], level["stopped"]) for level in slab["coarse"]] == [(4, "tolerance"), (2, "tolerance")]
    assert [level["equits"] for level in slab["coarse"]] == [four["equits"][-1], two["equits"][-1]]
    assert np.abs(got - want).max() < 1e-6 and slab["equits"] == one["equits"]


def test_coarser_voxels_come_sooner_to_the_same(sparse, tmp_path):
    """A lower cost where it stops, after fewer equits though those before are counted; the same image where nothing moves any more."""
    wide = tmp_path / "wide.h5"
    qb("simulate", "foam", "-o", wide, "--views", 20, "--detector", "192,16", "--pixel-size", "1", "--photons", 20000)

    def run(scan, *more):
        slab = qb_json("mbir", scan, "-o", tmp_path / "v.npy", *instead(SPARSE, "--equits", 300, *more))["convergence"]["slabs"][0]
        return np.load(tmp_path / "v.npy"), slab
    for slices in ("3:4", "0:16"):
        (_, plain), (_, begun) = (run(wide, "--center", "95.5", "--slices", slices, *more) for more in (["--coarse", 0], ["--coarse", 2]))
        before = sum(level["equits"] / level["side"] ** 2 for level in begun["coarse"])
        assert begun["equits"][-1] + before < 0.7 * plain["equits"][-1] and begun["cost"][-1] < plain["cost"][-1]
    (want, plain), (got, begun) = (run(sparse, "--slices", "3:4", "--stop", "0.0005", *more) for more in (["--coarse", 0], ["--coarse", 3]))
    assert begun["cost"][-1] == pytest.approx(plain["cost"][-1], rel=1e-4) and np.sqrt(((got - want) ** 2).mean()) < 2e-5


def test_coarser_voxels_and_everything_else(sparse, disc, tmp_path):
    base = ["mbir", sparse, "--center", "47.5", "--equits", 3, "--coarse", 2]
    got = {}
    for name, *more in (["one", "--threads", 1, "--neighbours", "1,0.7,0"], ["two", "--threads", 2, "--neighbours", "1,0.7,0"],
                        ["joined", "--threads", 1], ["again", "--threads", 3], ["constant", "--start", "0.01"], ["found", "--center", "auto"]):
        report = qb_json(*instead(base, *more), "-o", tmp_path / f"{name}.npy")
        assert all(len(slab["coarse"]) == 2 for slab in report["convergence"]["slabs"])
        got[name] = (tmp_path / f"{name}.npy").read_bytes()
    assert got["one"] == got["two"] and got["joined"] == got["again"] and len({got[n] for n in ("one", "joined", "constant")}) == 3
    plain, begun = ([qb_json("plan", *base[:-2], *more, "-o", tmp_path / "v.npy") for _ in range(5)] for more in (["--coarse", 0], base[-2:]))
    plain, begun = (sorted(plans, key=lambda plan: plan["memory_bytes"])[2] for plans in (plain, begun))  # what a process holds before differs
    assert begun["memory_bytes"] - plain["memory_bytes"] == pytest.approx(20 * 96 * 96 * 4, abs=256 << 10)  # the image between
    assert begun["forecast"]["stages"]["mbir"] > plain["forecast"]["stages"]["mbir"] and begun["forecast_equits"] == plain["forecast_equits"] == 3
    usual, fewer = (qb_json("plan", *instead(base, *more, "--equits", 40), "-o", tmp_path / "v.npy") for more in (["--coarse", 0], []))
    assert fewer["forecast_equits"] < usual["forecast_equits"]
    image, out = tmp_path / "one.npy", ["-o", tmp_path / "no.npy"]
    fails(2, *base, *out, "--prox", image, says=["--coarse", "--prox"])
    fails(2, *base, *out, "--start", image, says=["--coarse", "--start"])
    fails(2, "mbir", disc, *out, "--coarse", 3, says=["--coarse 3", "48 x 48"])
    fails(2, *instead(base, "--coarse", 5), *out, says=["--coarse"])
    assert not (tmp_path / "no.npy").exists()


@slow
def test_on_a_device_from_images(tmp_path):
    """To begin with an image, on coarser voxels, pulled toward an image: as on the CPU."""
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    scan, begun = tmp_path / "s.h5", tmp_path / "begun.npy"
    qb("simulate", "foam", "-o", scan, "--views", 40, "--detector", "32,3", "--photons", 20000)
    base = ["mbir", scan, "--center", "15.5", "--weights", "transmission", "--snr-db", 20, "--stop", 0]
    apart = ["--neighbours", "1,0.7,0"]
    qb(*base, *apart, "-o", begun, "--equits", 4)

    def both(name, *more):
        reports, images = [], []
        for device in "cpu", "opencl":
            out = tmp_path / f"{name}-{device}.npy"
            reports.append(qb_json(*base, "-o", out, *more, "--device", device))
            images.append(np.load(out))
        assert np.sqrt(((images[0] - images[1]) ** 2).mean()) < 2e-5, name
        return reports[1], images[1]
    report, _ = both("start", *apart, "--start", begun, "--equits", 40)
    assert report["kernel"] == "icd_supervoxel.local"
    assert both("joined", "--start", begun, "--equits", 40)[0]["kernel"] == "icd_supervoxel.tiles"
    report, _ = both("coarse", *apart, "--coarse", 2, "--equits", 40)
    assert len(report["convergence"]["slabs"][0]["coarse"]) == 2
    report, pulled = both("prox", "--prox", begun, "--start", "prox", "--equits", 40)
    assert report["kernel"] == "icd_supervoxel.local"
    near = both("near", "--prox", begun, "--start", "prox", "--equits", 30, "--sigma-p", "1e-6")[1]
    want = np.load(begun)
    assert np.abs(near - want).max() < 1e-4 < np.abs(pulled - want).max()  # a strong pull leaves nothing else
    plan = qb_json("plan", *base, "-o", tmp_path / "v.npy", "--prox", begun, "--device", "opencl", "--why")
    assert all("pulled" in row["verdict"] for row in plan["why"] if row["kernel"] != "icd_supervoxel.local")


def test_progress_in_its_own_terms(disc, tmp_path):
    said = qb("mbir", disc, "-o", tmp_path / "v.npy", "--center", "23.5", "--slices", "3:4").stderr
    assert re.search(r"^mbir: 100 %, .* s left, \d+\.\d equits, change \S+ %, cost to fall \S+ %$", said, re.M)


def test_bench():
    r = qb_json("bench", "mbir", "--size", "48,48,16", "--views", 40, "--detector", 96, "--threads", 1)
    assert r["converged"] and 0 < r["rmse_hu"] < 10 and 0 < r["equits"] < 40 and r["slices"] == 16
    assert r["slices_per_second_and_core"] == pytest.approx(16 / (r["start_seconds"] + r["iteration_seconds"]), rel=0.01)
    assert r["matrix_seconds"] > 0 and "matrix_times_reference" not in r  # that is for the problem it was measured on
    assert r["threads_share"] == "slices"
    alone = qb_json("bench", "mbir", "--size", "48,48,1", "--views", 40, "--detector", 96, "--threads", 2)
    assert alone["converged"] and alone["threads_share"] == "supervoxels"
    fails(2, "bench", "mbir", "--geometry", "cone", says=["parallel"])


@pytest.mark.parametrize("where", few([], others=[["device", "opencl"]]))
def test_bench_of_a_suite(where):
    """Five bags, two at once: each close to its own image, and what is said of all follows from what is said of each."""
    if where and not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    def suite(cases):
        done = subprocess.run([Path(QB).parent / "tests" / "variants" / "bench_mbir", "cases", cases, "size", "40,40,2", "views", "60",
                               "detector", "80", *where], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    r = suite("5")
    assert (r["suite"], r["cases"], r["at_once"]) == ("baggage", 5, 2)
    assert r["converged"] and r["not_converged"] == [] and r["rmse_hu_worst"] < 10
    for name, kept in ("equits", "equits_by_case"), ("seconds_per_slice", "seconds_by_case"):
        values = np.array(r[kept])
        assert len(values) == 5 and (values > 0).all()
        assert [r[f"{name}_{k}"] for k in ("mean", "std", "worst")] == pytest.approx([values.mean(), values.std(), values.max()], abs=1e-12)
        assert r[f"{name}_worst_case"] == values.argmax() + 1
    assert r["equits_worst"] < 40 and len(set(r["equits_by_case"])) > 1
    again = suite("2")
    assert again["equits_by_case"] == r["equits_by_case"][:2]  # by seed: a shorter suite is the beginning of a longer one


@slow
def test_too_many_at_a_time(tmp_path):
    """SuperVoxels at once answer the same residual, here more of it than there is: the cost rises, fewer go together, and it falls to
    the CPU's. A slice's bits do not depend on its company."""
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    scan = tmp_path / "s.h5"
    qb("simulate", "baggage", "-o", scan, "--views", 120, "--detector", "192,2", "--size", 192, "--photons", 5000)
    base = ["mbir", scan, "--center", "middle", "--neighbours", "1,0.7,0", "--sigma-x", "0.0007", "--sigma-y", "0.001", "--stop", 0]

    def costs(name, *more):
        slab, = qb_json(*base, "-o", tmp_path / f"{name}.npy", *more)["convergence"]["slabs"]
        return slab["cost"]
    local = ["--device", "opencl", "--kernel", "icd_supervoxel.local", "--equits", 8]
    both, one, cpu = costs("both", *local), costs("one", *local, "--slices", "1:2"), costs("cpu", "--device", "cpu", "--equits", 12)
    assert max(b / a for a, b in zip(one, one[1:])) > 1.1
    assert both[-1] < 1.1 * cpu[-1] and np.array_equal(np.load(tmp_path / "both.npy")[1:], np.load(tmp_path / "one.npy"))


def test_on_a_device(tmp_path):
    """The same image within 1 HU, the same bits each time, and what a device does not do."""
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    scan = tmp_path / "s.h5"
    qb("simulate", "disc", "-o", scan, "--views", 40, "--detector", "24,3", "--photons", 20000)
    base = [scan, "--center", "11.5", "--neighbours", "1,0.7,0", "--snr-db", 25, "--equits", 16, "--stop", "0"]
    for name, *more in ["cpu"], ["one", "--device", "opencl"], ["two", "--device", "opencl", "--threads", 1]:
        report = qb_json("mbir", *base, "-o", tmp_path / f"{name}.npy", *more)
    assert report["kernel"] == "icd_supervoxel.local"  # for three slices that know nothing of each other
    for name in "tiles", "global":
        report = qb_json("mbir", *base, "-o", tmp_path / f"{name}.npy", "--device", "opencl", "--kernel", f"icd_supervoxel.{name}")
        assert report["kernel"] == f"icd_supervoxel.{name}"
        slab, = report["convergence"]["slabs"]
        assert all(b <= a * 1.0001 for a, b in zip(slab["cost"], slab["cost"][1:]))
    cpu, one, two, tiles, eight_bits = (np.load(tmp_path / f"{n}.npy") for n in ("cpu", "one", "two", "tiles", "global"))
    assert (one == two).all()
    assert all(np.sqrt(((image - cpu) ** 2).mean()) < 2e-5 for image in (one, tiles, eight_bits))  # 1 HU of water's 0.02/mm
    joined = qb_json("plan", "mbir", scan, "--center", "11.5", "-o", tmp_path / "no.npy", "--device", "opencl", "--why")
    assert joined["kernel"] == "icd_supervoxel.tiles"
    whys = {row["kernel"]: row["verdict"] for row in joined["why"]}
    assert all("know of each other" in whys[f"icd_supervoxel.{name}"] for name in ("local", "global"))
    out = tmp_path / "no.npy"
    fails(2, "mbir", *base, "-o", out, "--device", "opencl", "--matrix", "bytes", says=["--matrix"])
    fails(2, "mbir", *base, "-o", out, "--device", "cpu", "--kernel", "icd_supervoxel.tiles", says=["devices only"])
    fails(2, "mbir", *base, "-o", out, "--device", "opencl", "--kernel", "icd_supervoxel.avx2", says=["CPU only"])
    assert not out.exists()


@pytest.mark.parametrize("verb, more", [("mbir", []), ("sirt", []), ("cgls", []), ("mbir", ["--sod", 300, "--sdd", 500])])
def test_a_plan_tells_of_the_angles(tmp_path, verb, more):
    beam = ["--geometry", "cone", *more] if more else []
    qb("simulate", "ball", *beam, "--pixel-size", 1, "--views", 20, "--detector", "16,1", "-o", tmp_path / "s.h5")
    center = [] if more else ["--center", 7.5]
    plan = ["plan", verb, tmp_path / "s.h5", "-o", tmp_path / "v.npy", *more, *center]
    told = qb_json(*plan)["angles"]
    assert told.startswith("20 views") and ("degrees" in told)
    assert f"angles       {told}\n" in qb(*plan).stdout
