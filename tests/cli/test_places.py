# SPDX-License-Identifier: MIT
"""--shifts and --distortion, against the same scan without them, computed where the pixels really look."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, write_scan

COLUMNS, ROWS, VIEWS, AXIS = 96, 32, 120, 47.5
ANGLES = np.arange(VIEWS) * 180 / VIEWS
BLOBS = ((12, 5, 14, 9, 0.02), (-10, -8, 18, 7, 0.03), (2, -16, 16, 6, 0.025))  # x, y, row, width, height of Gaussians
CENTRE, FACTORS = (45.0, 17.0), (1.004, 5e-4, -2e-6)


def lines(column, row, views=slice(None)):
    """Line integrals of Gaussian blobs at any place of the detector: [view][row][column]; of single precision, exact."""
    t = np.deg2rad(ANGLES[views])[:, None, None]
    p = 0
    for x, y, z, width, height in BLOBS:
        s = column - AXIS - (x * np.cos(t) + y * np.sin(t))
        p = p + height * width * np.sqrt(2 * np.pi) * np.exp(-(s ** 2 + (row - z) ** 2) / (2 * width ** 2))
    return p


def places():
    return np.arange(COLUMNS)[None, None], np.arange(ROWS)[None, :, None]


def counts_of(p):
    """Counts without noise; the pixels' gains and darks differ, and stay with the pixels."""
    rng = np.random.default_rng(1)
    gain, dark = 1e5 * rng.uniform(0.8, 1.2, (ROWS, COLUMNS)), rng.uniform(90, 110, (ROWS, COLUMNS))
    return [a.astype("f4") for a in (dark + gain * np.exp(-p), (dark + gain)[None], dark[None])]


def scan_of(path, p):
    stacks = counts_of(p)
    return write_scan(path, stacks[0], ANGLES, *stacks[1:], pixel=1, quantity="counts")


def shifted(path):
    """A scan whose views have moved by up to 4 pixels in both directions, and the file that says so."""
    u, v = np.random.default_rng(2).uniform(-4, 4, (2, VIEWS))
    column, row = places()
    np.savetxt(path / "shifts.txt", np.stack([u, v], 1), header="u v")
    return scan_of(path / "moved.h5", lines(column - u[:, None, None], row - v[:, None, None])), path / "shifts.txt"


def turned(path):
    """The same whose views have besides been turned, by up to 2 degrees about the middle of 1 x 1 mm pixels."""
    u, v, turn = np.random.default_rng(4).uniform(-2, 2, (3, VIEWS))
    column, row = places()
    x, y = (a - b[:, None, None] - m for a, b, m in ((column, u, (COLUMNS - 1) / 2), (row, v, (ROWS - 1) / 2)))
    c, s = (f(np.deg2rad(turn))[:, None, None] for f in (np.cos, np.sin))
    np.savetxt(path / "turns.txt", np.stack([u, v, turn], 1), header="u v turn")
    return scan_of(path / "turned.h5", lines(c * x + s * y + (COLUMNS - 1) / 2, c * y - s * x + (ROWS - 1) / 2)), path / "turns.txt"


def found(column, row):
    """Where discorpy's backward model finds an ideal place."""
    x, y = column - CENTRE[0], row - CENTRE[1]
    r = np.hypot(x, y)
    factor = sum(k * r ** i for i, k in enumerate(FACTORS))
    return CENTRE[0] + x * factor, CENTRE[1] + y * factor


def ideal(column, row):
    """Its inverse, by Newton's steps without a derivative."""
    c, r = column + 0.0, row + 0.0
    for _ in range(60):
        at = found(c, r)
        c, r = c + column - at[0], r + row - at[1]
    return c, r


def distorted(path):
    column, row = np.meshgrid(np.arange(COLUMNS, dtype=float), np.arange(ROWS, dtype=float))
    c, r = ideal(column, row)
    assert np.hypot(c - column, r - row).max() > 1
    text = [f"xcenter = {CENTRE[0]}", f"ycenter = {CENTRE[1]}", *(f"factor{i} = {k}" for i, k in enumerate(FACTORS))]
    (path / "lens.txt").write_text("\n".join(text) + "\n")
    return scan_of(path / "bent.h5", lines(c[None], r[None])), path / "lens.txt"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("places")
    still = scan_of(path / "still.h5", lines(*places()))
    return path, still, {"shifts": shifted(path), "distortion": distorted(path), "turns": turned(path)}


INNER = (slice(None), slice(6, -6), slice(8, -8))


def converted(scan, *options):
    out = scan.parent / "out.h5"
    qb("convert", scan, *options, "-o", out)
    return read_h5(out)


@pytest.mark.parametrize("way", ["shifts", "distortion", "turns"])
def test_line_integrals_are_those_of_the_ideal_scan(made, way):
    scan, file = made[2][way]
    truth = lines(*places())
    wrong, right = (np.abs(converted(scan, *more)[INNER] - truth[INNER]).max() / truth.max()
                    for more in ([], ["--distortion" if way == "distortion" else "--shifts", file]))
    assert wrong > 0.015 and right < 1e-3


def test_no_rings_of_the_gains(made):
    """Behind the flat field: open beam stays open beam, to rounding."""
    path, _, moved = made
    scan = scan_of(path / "air.h5", np.zeros((VIEWS, ROWS, COLUMNS)))
    for option in [("--distortion" if way == "distortion" else "--shifts", moved[way][1]) for way in moved]:
        assert np.abs(converted(scan, *option)[INNER]).max() < 2e-6


@pytest.mark.parametrize("verb", ["fbp", "sirt", "cgls", "tv", "mbir"])
def test_every_method(made, verb):
    path, still, moved = made
    scan, file = moved["turns"]
    way = {"fbp": [], "mbir": ["--equits", 3, "--slices", "13:17"]}.get(verb, ["-g", "parallel", "--iterations", 6])
    a, b = path / f"{verb}-a.h5", path / f"{verb}-b.h5"
    qb(verb, still, "--center", AXIS, *way, "-o", a)
    qb(verb, scan, "--shifts", file, "--center", AXIS, *way, "-o", b)
    a, b = read_h5(a), read_h5(b)
    if verb != "mbir":
        a, b = a[10:-10], b[10:-10]
    middle = (slice(None), slice(24, 72), slice(24, 72))
    # Solvers see fewer columns of views that moved, whose outermost have no value.
    assert np.abs(a - b)[middle].max() < (1e-3 if verb == "fbp" else 0.05) * a.max()


def test_bits_and_bins(made):
    """Whatever is read at once; with bins, windows and mirrors the files mean the whole detector, and the stored image."""
    path, still, moved = made
    (scan, file), (bent, lens) = moved["turns"], moved["distortion"]
    whole = converted(scan, "--shifts", file)
    qb("fbp", scan, "--shifts", file, "--center", AXIS, "-o", path / "all.h5")
    qb("fbp", scan, "--shifts", file, "--center", AXIS, "--max-ram", "60M", "--threads", 1, "-o", path / "few.h5")
    assert np.array_equal(read_h5(path / "all.h5"), read_h5(path / "few.h5"))
    qb("fbp", scan, "--shifts", file, "--center", AXIS, "--slices", "14:16", "-o", path / "two.h5")
    assert np.abs(read_h5(path / "all.h5")[14:16] - read_h5(path / "two.h5")).max() < 1e-7
    assert np.array_equal(converted(scan, "--shifts", file, "--threads", 1), whole)
    for option, one in ((("--shifts", file), scan), (("--distortion", lens), bent)):
        for more, far in ((["--crop", "4:92,2:30"], 1e-3), (["--bin", 2], 0.015)):  # bins of pixels with other gains
            a, b = converted(one, *option, *more), converted(still, *more)
            assert np.abs(a - b)[INNER].max() < far * b.max(), (option, more)
    a, b = converted(bent, "--distortion", lens, "--rotate", 180), converted(still, "--rotate", 180)
    assert np.abs(a - b)[INNER].max() < 1e-3 * b.max()


def test_beams_that_diverge_and_views_that_are_left_out(made):
    """Moved by whole pixels the images are the same numbers elsewhere; views keep their own shifts."""
    path, *_ = made
    qb("simulate", "spheres", "-g", "cone", "--sod", 200, "--sdd", 300, "--detector", "64,48", "--pixel-size", 1, "--views",
       60, "-o", path / "cone.h5")
    images = read_h5(path / "cone.h5")
    u, v = np.random.default_rng(3).integers(-3, 4, (2, 60))
    moved = np.stack([np.roll(image, (b, a), (0, 1)) for image, a, b in zip(images, u, v)])
    write_scan(path / "moved-cone.h5", moved, np.arange(60) * 6, pixel=1, quantity="transmission")
    write_scan(path / "still-cone.h5", images, np.arange(60) * 6, pixel=1, quantity="transmission")
    np.savetxt(path / "whole.txt", np.stack([u, v], 1), fmt="%d", delimiter=",")
    how = ["--sod", 200, "--sdd", 300, "--views", "0:60:2", "--size", "32,32,16"]
    qb("fdk", path / "still-cone.h5", *how, "-o", path / "a.h5")
    qb("fdk", path / "moved-cone.h5", *how, "--shifts", path / "whole.txt", "-o", path / "b.h5")
    a, b = read_h5(path / "a.h5"), read_h5(path / "b.h5")
    assert np.abs(a - b).max() < 1e-3 * a.max()


@pytest.mark.parametrize("views", ["0:120", "0:120:2", "1:120:2", "0:120:3"])
def test_columns_that_shifts_bring_in_are_no_fault(tmp_path, views):
    """They are counted exactly: whatever views are chosen, no warning of values that are not finite."""
    u = np.random.default_rng(1).integers(-3, 4, VIEWS)
    np.savetxt(tmp_path / "u.txt", np.stack([u, 0 * u], 1))
    column, row = places()
    scan = scan_of(tmp_path / "s.h5", lines(column - u[:, None, None], row))
    said = qb("fbp", scan, "--shifts", tmp_path / "u.txt", "--center", AXIS, "--views", views, "-o", tmp_path / "v.npy").stderr
    assert "lie outside the detector" in said and "not-finite" not in said



def test_with_phase_and_zingers(made):
    """The chain is zingers, flat field, places, phase."""
    path, still, moved = made
    scan, file = moved["shifts"]
    phase = ["--paganin", "3px", "--zingers", 8]
    a, b = converted(still, *phase), converted(scan, "--shifts", file, *phase)
    assert np.abs(a - b)[:, 10:-10, 12:-12].max() < 3e-3 * a.max()


def test_center(made):
    _, still, moved = made
    scan, file = moved["turns"]
    there = qb_json("center", still)["column"]
    assert qb_json("center", scan, "--shifts", file)["column"] == pytest.approx(there, abs=0.03)
    assert there == pytest.approx(AXIS, abs=0.1)


def test_refusals(made):
    path, still, moved = made
    shifts = moved["shifts"][1]
    other = path / "other.txt"
    for text, says in (("xcenter = 900\nycenter = 17\nfactor0 = 1\n", "outside"), ("xcenter = 40\nycenter = 17\n", "no factors"),
                       ("xcenter = 40\nycenter = 17\nfactor0 = one\n", "line 3"),
                       ("xcenter = 40\nycenter = 17\nfactor0 = 1\nfactor1 = -0.02\n", "folds"),
                       ("xcenter = 40\nycenter = 17\nfactor0 = 1\nfactor1 = 0.1\n", "another detector")):
        other.write_text(text)
        assert says in fails(3, "info", still, "--distortion", other), text
    for text, says in (("1 2\n" * 7, "7 lines for the 120"), ("1\n" * VIEWS, "two numbers"), ("1 2 3 4\n" * VIEWS, "two numbers"), ("1 2 50\n" * VIEWS, "at most 45"),
                       ("60 0\n" * VIEWS, "are these pixels"), ("nan 0\n" * VIEWS, "two numbers")):
        other.write_text(text)
        assert says in fails(3, "info", still, "--shifts", other), text
    write_scan(path / "bare.h5", np.full((VIEWS, ROWS, COLUMNS), 1000, "u2"), ANGLES, pixel=1)
    fails(3, "fbp", path / "bare.h5", "--shifts", shifts, "--air", "0:3,0:4", "-o", path / "x.h5", says=["flat fields"])
