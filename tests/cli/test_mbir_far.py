# SPDX-License-Identifier: MIT
"""qb mbir of data some of whose values are far from all others: sigma_x and sigma_y stay as they were, and with them the image
elsewhere; what counts there is warned of, with its place."""
import json

import numpy as np
import pytest

from qbtest import fails, qb, qb_json

VIEWS, ROWS, COLUMNS = 60, 4, 48
LINES = ["--quantity", "line_integral", "--angles", "0:180", "--pixel-size", "1", "--center", (COLUMNS - 1) / 2, "--snr-db", 40]
RULES = {"unweighted": np.ones_like, "transmission": lambda y: np.exp(-y), "transmission_root": lambda y: np.exp(-y / 2),
         "emission": lambda y: 1 / (abs(y) + 0.1)}
COUNTS = [1, 10, VIEWS * ROWS * COLUMNS // 1000]


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    qb("simulate", "shepp-logan", "-o", folder / "s.h5", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1,
       "--photons", 50000)
    qb("convert", folder / "s.h5", "-o", folder / "s.npy", "--quantity", "counts")
    lines = np.load(folder / "s.npy")
    assert lines.shape == (VIEWS, ROWS, COLUMNS) and lines.max() < 12
    return lines


def spiked(lines, count, value):
    lines = lines.copy()
    at = np.random.default_rng(count).choice(lines.size, count, replace=False)
    lines.reshape(-1)[at] = value
    return lines, np.unravel_index(at.min(), lines.shape)


def run(folder, lines, *how):
    np.save(folder / "l.npy", lines)
    done = qb("mbir", folder / "l.npy", *LINES, "-o", folder / "v.npy", "--json", *how)
    return np.load(folder / "v.npy").astype(float), json.loads(done.stdout), done.stderr


def sigmas(lines, rule, snr_db=40, sharpness=0):
    """As svmbir finds them."""
    lines = lines.astype(float)
    met = lines > 0.05 * abs(lines).mean()
    rms = np.sqrt((RULES[rule](lines)[met] * lines[met] ** 2).sum() / met.sum())
    return 0.2 * 2**sharpness * lines[met].mean() / COLUMNS, rms * 10 ** (-snr_db / 20)


def assert_sigmas(report, want, rel):
    told = report["convergence"]
    assert (told["sigma_x"], told["sigma_y"]) == (pytest.approx(want[0], rel=rel), pytest.approx(want[1], rel=rel))


def hounsfield(a, b):
    return 50000 * np.sqrt(np.square(a - b).mean())


@pytest.mark.parametrize("rule", RULES)
def test_of_clean_data_nothing_is_left_out(clean, tmp_path, rule):
    for scale in 1, 40:  # of other units: no value counts by its size alone
        _, report, said = run(tmp_path, clean * np.float32(scale), "--equits", 1, *([] if scale > 1 else ["--weights", rule]))
        assert_sigmas(report, sigmas(clean * np.float32(scale), rule if scale == 1 else "unweighted"), 1e-5)
        assert "sigmas_without" not in report["convergence"] and "far" not in report["convergence"]["slabs"][0]
        assert "far from the others" not in said


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("rule", ["transmission", "transmission_root"])
def test_what_lets_nothing_through_weighs_nothing(clean, tmp_path, rule, count):
    """Not in the start either: its row is bridged there."""
    how = ["--weights", rule, "--stop", "0.01", "--equits", 60]
    want, _, _ = run(tmp_path, clean, *how)
    lines, _ = spiked(clean, count, 90)
    got, report, said = run(tmp_path, lines, *how)
    told = report["convergence"]
    assert_sigmas(report, sigmas(clean, rule), 2e-3)
    assert (told["sigmas_without"], told["sigmas_of"]) == (count, clean.size)
    assert (told["slabs"][0]["far"], told["slabs"][0]["far_that_count"]) == (count, 0)
    assert hounsfield(got, want) < 5  # of 1000: those rays are not there
    assert not any("far from the others" in w for w in report["warnings"])
    assert f"told without {count} of {clean.size} line integrals" in said and "they weigh nothing" in said
    first, _, _ = run(tmp_path, lines, "--weights", rule, "--equits", 1)
    begun, _, _ = run(tmp_path, clean, "--weights", rule, "--equits", 1)
    assert hounsfield(first, begun) < 10


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("value", [90, -90])
def test_what_counts_is_warned_of(clean, tmp_path, value, count):
    """An unweighted spike streaks its slice, which is the user's to mend; nothing else moves. Set to NaN, it is mended."""
    apart = ["--neighbours", "1,0.7,0", "--stop", "0.01", "--equits", 60]
    lines, (view, row, column) = spiked(clean, count, value)
    got, report, said = run(tmp_path, lines, *apart)
    assert_sigmas(report, sigmas(clean, "unweighted"), 2e-3)
    slab = report["convergence"]["slabs"][0]
    assert (slab["far"], slab["far_that_count"]) == (count, count)
    warned, = [w for w in report["warnings"] if "far from the others" in w]
    assert f"{count} of {clean.size} line integrals" in warned and "set them to NaN" in warned
    assert f"{value:.4g} (view {view}, slice {row}, column {column})" in warned and warned in said
    want, _, _ = run(tmp_path, clean, *apart)
    untouched = [s for s in range(ROWS) if (abs(lines[:, s]) < 45).all()]
    assert count > 1 or len(untouched) == ROWS - 1
    for s in untouched:  # but for a sigma that moved by a few values of so many
        assert hounsfield(got[s], want[s]) < 0.5
    mended, report, _ = run(tmp_path, np.where(abs(lines) > 45, np.nan, lines), *apart)
    assert hounsfield(mended, want) < 20 and "far" not in report["convergence"]["slabs"][0]


def test_a_weight_of_nothing_is_no_warning(clean, tmp_path):
    lines, (view, row, column) = spiked(clean, 1, -90)
    weights = np.ones_like(lines)
    weights[view, row, column] = 0
    np.save(tmp_path / "w.npy", weights)
    _, report, said = run(tmp_path, lines, "--weights", tmp_path / "w.npy", "--equits", 2)
    assert report["convergence"]["slabs"][0]["far_that_count"] == 0 and "they weigh nothing" in said
    assert_sigmas(report, sigmas(clean, "unweighted"), 2e-3)


def test_given_sigmas_warn_too(clean, tmp_path):
    lines, (view, row, column) = spiked(clean, 1, 90)
    _, report, _ = run(tmp_path, lines, "--sigma-x", 0.002, "--sigma-y", 0.03, "--equits", 1)
    assert any(f"90 (view {view}, slice {row}, column {column})" in w for w in report["warnings"])
    assert "sigmas_without" not in report["convergence"]


def test_emission_counts_them_little_but_counts(clean, tmp_path):
    lines, _ = spiked(clean, 10, 90)
    _, report, _ = run(tmp_path, lines, "--weights", "emission", "--equits", 1)
    assert report["convergence"]["slabs"][0]["far_that_count"] == 10
    assert_sigmas(report, sigmas(clean, "emission"), 2e-3)


@pytest.mark.parametrize("how", [[], ["--neighbours", "1,0.7,0"], ["--weights", "transmission"], ["--weights", "emission"]])
def test_numbers_that_are_next_to_nothing_are_told_as_such(clean, tmp_path, how):
    """Smaller than what 32 bits have squares for, nothing would move, or all overflow. A thousand times that is reconstructed."""
    want = None
    for scale in 1, 1e-12:
        got, _, _ = run(tmp_path, clean * np.float32(scale), *how[:2 if "--neighbours" in how else 0], "--equits", 6)
        want = got if want is None else want
        assert got / scale == pytest.approx(want, abs=1e-5 * want.max())
    for scale in 1e-16, 1e-20, 1e-40:
        np.save(tmp_path / "l.npy", clean * np.float32(scale))
        fails(3, "mbir", tmp_path / "l.npy", *LINES, "-o", tmp_path / "no.npy", *how, says=["next to nothing", "scale them"])
    assert not (tmp_path / "no.npy").exists()


def test_sigmas_that_are_next_to_nothing_are_refused(clean, tmp_path):
    np.save(tmp_path / "l.npy", clean)
    base = ["mbir", tmp_path / "l.npy", *LINES, "-o", tmp_path / "no.npy"]
    fails(2, *base, "--sigma-x", 1e-20, says=["--sigma-x 1e-20", "1e-17"])
    fails(2, *base, "--sigma-x", 1e-3, "--sigma-y", 1e-30, says=["--sigma-y 1e-30", "1e-17"])
    np.save(tmp_path / "p.npy", np.zeros((ROWS, COLUMNS, COLUMNS), np.float32))
    fails(2, *base, "--prox", tmp_path / "p.npy", "--sigma-p", 1e-20, says=["--sigma-p 1e-20"])


def test_of_a_thin_wire_nothing_is_left_out(tmp_path):
    """Nearly all rays meet nothing: those that do are not far from the others, but the object."""
    lines = np.zeros((VIEWS, 1, 400), np.float32)
    lines[:, :, 199:201] = 14
    np.save(tmp_path / "l.npy", lines)
    report = qb_json("mbir", tmp_path / "l.npy", *LINES[:-1], 199.5, "-o", tmp_path / "v.npy", "--equits", 2)
    assert report["convergence"]["sigma_x"] == pytest.approx(0.2 * 14 / 400, rel=1e-5) and "sigmas_without" not in report["convergence"]


def test_a_fan_begins_without_them_too(tmp_path):
    circle = ["--sod", 300, "--sdd", 500]
    qb("simulate", "disc", "--geometry", "cone", *circle, "--pixel-size", 1.4, "--detector", "96,1", "--views", 60, "-o", tmp_path / "s.h5")
    qb("convert", tmp_path / "s.h5", "-o", tmp_path / "s.npy")
    clean = np.load(tmp_path / "s.npy")
    lines, _ = spiked(clean, 3, 90)
    images = []
    for data in (clean, lines):
        np.save(tmp_path / "l.npy", data)
        qb("mbir", tmp_path / "l.npy", "--quantity", "line_integral", "--angles", "0:360", *circle, "--pixel-size", 1.4, "-o", tmp_path / "v.npy",
           "--weights", "transmission", "--equits", 1)
        images.append(np.load(tmp_path / "v.npy").astype(float))
    assert hounsfield(*images) < 10
