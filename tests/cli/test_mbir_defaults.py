# SPDX-License-Identifier: MIT
"""What qb mbir does without options: sigma_y by the noise of the line integrals (--snr-db auto), at least as good as
filtered back-projection by any window, and near the best that any --snr-db gives; coarser voxels first where views are few or cover
a part of the half turn; stopped once the cost hardly falls any more, or with a warning that says how far it still falls."""
import h5py
import numpy as np
import pytest

from qbtest import few, qb, qb_json, slow

WINDOWS = [f"{name}:{cut}" for name in ("hann", "hamming", "shepp-logan", "cosine") for cut in (1, 0.7, 0.5)]


def inside(image):
    """Voxels of the circle that every view sees."""
    n = image.shape[-1]
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    return image.reshape(n, n)[x * x + y * y <= n * n / 4].astype(float)


def simulate(folder, phantom, n, views, photons, *more):
    scan, truth = folder / "scan.h5", folder / "truth.npy"
    qb("simulate", phantom, "-o", scan, "--truth", truth, "--size", n, "--detector", f"{n},1", "--views", views,
       *(["--photons", photons] if photons else []), "-q", *more)
    return scan, inside(np.load(truth))


def error_of(folder, truth, *command):
    report = qb_json(*command, "--center", "middle", "-o", folder / "v.npy")
    return np.sqrt(np.square(inside(np.load(folder / "v.npy")) - truth).mean()), report


@pytest.mark.parametrize("views,photons", [(90, 20000), (48, 20000), (90, 800)])
def test_better_than_any_window(views, photons, tmp_path):
    scan, truth = simulate(tmp_path, "shepp-logan", 256, views, photons)
    best = min(error_of(tmp_path, truth, "fbp", scan, "--filter", window)[0] for window in WINDOWS)
    assert error_of(tmp_path, truth, "mbir", scan)[0] <= 0.65 * best


@pytest.mark.parametrize("phantom,views,photons", few(("foam", 90, 300), ("shepp-logan", 120, 0), others=[("spheres", 180, 2000), ("foam", 48, 20000)]))
def test_near_the_best_of_all_ratios(phantom, views, photons, tmp_path):
    scan, truth = simulate(tmp_path, phantom, 128, views, photons)
    ratios = {db: error_of(tmp_path, truth, "mbir", scan, "--snr-db", db)[0] for db in (17, 20, 23, 26, 29, 32, 36, 40)}
    assert error_of(tmp_path, truth, "mbir", scan)[0] < 1.12 * min(ratios.values())


@pytest.mark.parametrize("photons", [300, 30000])
@pytest.mark.parametrize("order", ["as measured", "mixed"])
def test_noise_is_measured(photons, order, tmp_path):
    """The simulator's photons say what it is: the variance of a line integral y is exp(y) / photons."""
    scan, _ = simulate(tmp_path, "shepp-logan", 128, 180, photons)
    with h5py.File(scan, "r+") as file:
        e = file["exchange"]
        dark = e["data_dark"][:, 0].mean(0)
        clean = -np.log(np.clip((e["data"][:, 0] - dark) / (e["data_white"][:, 0].mean(0) - dark), 1e-6, None))
        if order == "mixed":
            new = np.random.default_rng(1).permutation(180)
            e["data"][:], e["theta"][:] = e["data"][:][new], e["theta"][:][new]
    met = clean > 0.05 * abs(clean).mean()
    report = qb_json("mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy")["convergence"]
    assert report["noise"] == pytest.approx(np.sqrt(np.exp(clean[met]).mean() / photons), rel=0.15)
    given = qb("mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy", "--snr-db", f"{report['snr_db']:.6f}").stderr
    assert "signal-to-noise" in given
    same = qb_json("mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy", "--snr-db", f"{report['snr_db']:.9f}")["convergence"]
    assert same["sigma_y"] == pytest.approx(report["sigma_y"], rel=1e-6)


def test_sharpness_leaves_sigma_y(tmp_path):
    """It is the data's, so both knobs still do something of their own; so it is when sigma_x is given."""
    scan, _ = simulate(tmp_path, "foam", 64, 60, 1000)
    own, sharp, given = (qb_json("mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy", *more)["convergence"]
                         for more in ([], ["--sharpness", 1], ["--sigma-x", 0.001]))
    assert own["sigma_y"] == sharp["sigma_y"] == given["sigma_y"] and sharp["sigma_x"] == pytest.approx(2 * own["sigma_x"])
    said = qb("mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy", "--snr-db", "auto").stderr
    assert f"--snr-db auto: {own['snr_db']:.3g} dB" in said and f"noise of a line integral {own['noise']:.3g}" in said


FAN = ["--sod", 410.66, "--sdd", 553.74, "--pixel-size", 0.7]


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    """A fan over 90 degrees."""
    folder = tmp_path_factory.mktemp("limited")
    scan, truth = folder / "scan.h5", folder / "truth.npy"
    qb("simulate", "foam", "-o", scan, "--truth", truth, "--geometry", "cone", "--detector", "160,1", *FAN, "--angles", "75:165:90", "--views", 90,
       "--photons", 50000, "--seed", 3, "-q")
    return scan, inside(np.load(truth))


def of_fan(folder, truth, verb, scan, *more):
    report = qb_json(verb, scan, *FAN, *more, "-o", folder / "v.npy")
    return np.sqrt(np.square(inside(np.load(folder / "v.npy")) - truth).mean()), report


def test_limited_angles(limited, tmp_path):
    scan, truth = limited
    others = [of_fan(tmp_path, truth, "fdk", scan, "--allow-limited", "--filter", window)[0] for window in ("ramp", "hann", "hann:0.6")]
    others += [of_fan(tmp_path, truth, "sirt", scan, "--iterations", n)[0] for n in (20, 50, 100)]
    error, report = of_fan(tmp_path, truth, "mbir", scan)
    slab, = report["convergence"]["slabs"]
    assert error < 0.92 * min(others)
    assert [level["side"] for level in slab["coarse"]] == [4, 2] and slab["stopped"] == "tolerance" and slab["remaining"] < 0.005
    assert [w[-15:] for w in report["warnings"]] == ["[limited-angle]"]


@slow
def test_what_has_not_converged_is_said(limited, tmp_path):
    """As before: 40 equits from filtered back-projection. The forecast is within a factor of four of what the cost falls after it."""
    scan, truth = limited
    _, report = of_fan(tmp_path, truth, "mbir", scan, "--coarse", 0)
    slab, = report["convergence"]["slabs"]
    limited_to, warned = report["warnings"]
    assert "[limited-angle]" in limited_to
    assert slab["stopped"] == "equits" and "[mbir-not-converged]" in warned and f"another {100 * slab['remaining']:.2g} %" in warned
    _, report = of_fan(tmp_path, truth, "mbir", scan, "--coarse", 0, "--stop", 0, "--equits", 1000)
    cost, = (s["cost"] for s in report["convergence"]["slabs"])
    falls = slab["cost"][-1] / cost[-1] - 1
    assert 0.02 < falls and falls / 1.5 < slab["remaining"] < 4 * falls


@pytest.mark.parametrize("views,levels", [(96, 0), (16, 2), (15, 2)])
def test_few_views_begin_coarsely(views, levels, tmp_path):
    """And come to the same cost as those that take their time, in fewer equits."""
    scan, truth = simulate(tmp_path, "foam", 96, views, 5000)
    _, own = error_of(tmp_path, truth, "mbir", scan)
    _, slow = error_of(tmp_path, truth, "mbir", scan, "--coarse", 0, "--stop", 0.01, "--equits", 400)
    own, slow = own["convergence"]["slabs"][0], slow["convergence"]["slabs"][0]
    assert len(own.get("coarse", [])) == levels and own["stopped"] == "tolerance"
    assert own["cost"][-1] < 1.005 * slow["cost"][-1]
    assert sum(level["equits"] / level["side"] ** 2 for level in own.get("coarse", [])) + own["equits"][-1] < 25


@pytest.mark.parametrize("way", [[], ["--neighbours", "1,0.7,0"], ["--neighbours", "1,0.7,0", "--matrix", "floats"]])
def test_ways_of_descending_stop_alike(way, tmp_path):
    """One slice by SuperVoxels, slices side by side, together or each by itself: the tolerance is the cost's, too."""
    scan = tmp_path / "scan.h5"
    qb("simulate", "foam", "-o", scan, "--detector", "64,4", "--views", 90, "--photons", 5000, "-q")
    for stop, most in (5, 12), (0.05, 60):
        report = qb_json("mbir", scan, "--center", "middle", "-o", tmp_path / "v.npy", *way, "--stop", stop, "--equits", 100)
        slab, = report["convergence"]["slabs"]
        assert slab["stopped"] == "tolerance" and slab["remaining"] < stop / 100 and slab["equits"][-1] < most
        assert slab["change"][-1] < stop / 100


@pytest.mark.parametrize("beam, more, covered", [("parallel", ("--angles", "0:60"), "60 of 180"), ("cone", ("--angles", "0:100"), "100 of 18"),
                                                 ("cone", ("--angles", "0:360"), ""), ("parallel", ("--angles", "0:170"), "")])
def test_what_few_angles_cannot_tell_is_said(tmp_path, beam, more, covered):
    circle = ["--sod", 300, "--sdd", 500] if beam == "cone" else []
    qb("simulate", "disc", "--geometry", beam, *circle, "--detector", "32,3", "--pixel-size", 1, "--views", 60, *more, "--photons", 20000, "-o", tmp_path / "s.h5")
    for verb, how in (("sirt", ["--iterations", 2]), ("mbir", ["--equits", 2, *([] if beam == "cone" else ["--center", 15.5])])):
        said = qb(verb, tmp_path / "s.h5", *circle, *how, "-o", tmp_path / "v.npy").stderr
        assert ("[limited-angle]" in said) == bool(covered) and covered in said, (verb, said)
