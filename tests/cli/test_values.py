# SPDX-License-Identifier: MIT
"""What single values of a scan say: darks that were subtracted already, faulty pixels, zingers, clipping, and what qb info finds of
the methods' findings. The truth is the attenuation of a disc of radius 20 mm."""
import json
import subprocess

import h5py
import numpy as np
import pytest

from qbtest import QB, qb, qb_json, write_scan

N, ROWS, VIEWS = 64, 4, 90
ANGLES = np.arange(VIEWS) * 180 / VIEWS
WAYS = {"fbp": [], "sirt": ["-g", "parallel", "--iterations", 100], "cgls": ["-g", "parallel", "--iterations", 12], "mbir": ["--equits", 10]}


def codes(done):
    return {line.rsplit("[", 1)[1][:-1] for line in done.stderr.splitlines() if line.startswith("warning: ") and line.endswith("]")}


def problems(scan, *how):
    return {problem.rsplit("[", 1)[1][:-1]: problem for problem in qb_json("info", scan, *how)["problems"]}


def disc(attenuation, radius=20.0):
    s = np.arange(N) - (N - 1) / 2
    return np.broadcast_to(2 * attenuation * np.sqrt(np.maximum(radius ** 2 - s ** 2, 0)), (VIEWS, ROWS, N))


def inside(path):
    volume = np.load(path)
    x = np.arange(N) - (N - 1) / 2
    return volume[:, x[:, None] ** 2 + x ** 2 < 10 ** 2].mean(axis=1)


def counted(attenuation=0.02, beam=50000, dark=100, seed=1):
    """Views, flats and darks with noise, as floats."""
    rng = np.random.default_rng(seed)
    views = rng.poisson(beam * np.exp(-disc(attenuation))) + rng.normal(dark, 4, (VIEWS, ROWS, N))
    flats = rng.poisson(beam, (10, ROWS, N)) + rng.normal(dark, 4, (10, ROWS, N))
    return np.round(views), np.round(flats), np.round(rng.normal(dark, 4, (5, ROWS, N)))


def test_darks_that_were_subtracted_already(tmp_path):
    views, flats, darks = counted(0.1, dark=1000)
    raw = write_scan(tmp_path / "raw.h5", views.astype("u2"), ANGLES, flats.astype("u2"), darks.astype("u2"), pixel=1)
    twice = write_scan(tmp_path / "twice.h5", (views - 1000).astype("f4"), ANGLES, (flats - 1000).astype("f4"), darks.astype("f4"), pixel=1)
    assert problems(raw) == {} and not codes(qb("fbp", raw, "-o", tmp_path / "v.npy"))
    assert "--darks none" in problems(twice)["darks-twice"]
    for verb, how in WAYS.items():
        assert "darks-twice" in codes(qb(verb, twice, *how, "-o", tmp_path / "w.npy"))
    done = qb("fbp", twice, "--darks", "none", "-o", tmp_path / "v.npy")
    assert not codes(done) and inside(tmp_path / "v.npy") == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("share", [0.004, 0.0015])
def test_a_little_clipping(tmp_path, share):
    """A detector of 12 bits whose brightest counts do not fit."""
    rng = np.random.default_rng(2)
    views = rng.poisson(3950 * np.exp(-disc(0.02)))
    top = int(np.quantile(views, 1 - share))
    clean = write_scan(tmp_path / "clean.h5", views.astype("u2"), ANGLES, rng.poisson(3950, (5, ROWS, N)).astype("u2"), np.zeros((2, ROWS, N), "u2"), pixel=1)
    scan = write_scan(tmp_path / "s.h5", np.minimum(views, top).astype("u2"), ANGLES, rng.poisson(3950, (5, ROWS, N)).astype("u2"), np.zeros((2, ROWS, N), "u2"), pixel=1)
    assert problems(clean) == {}
    said = problems(scan)["saturated"]
    assert f"largest value {top}" in said and float(said.split()[0]) == pytest.approx(100 * (views >= top).mean(), rel=0.3)
    assert said in qb("fbp", scan, "-o", tmp_path / "v.npy").stderr


def test_zingers_are_no_details_of_the_object(tmp_path):
    """Baggage has gaps one pixel wide. Zingers put into it are found, and the place of the first is one of them."""
    qb("simulate", "baggage", "--size", 128, "--detector", "128,16", "--views", 200, "--photons", 50000, "-o", "s.h5", cwd=tmp_path)
    assert "zingers" not in problems(tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        hits = np.random.default_rng(4).random(file["exchange/data"].shape) < 2e-3
        file["exchange/data"][...] = np.where(hits, 60000, file["exchange/data"][:])
    said = problems(tmp_path / "s.h5")["zingers"]
    view, row, column = (int(said.split(f"{name} ")[-1].split()[0].rstrip(",:")) for name in ("view", "row", "column"))
    assert hits[view, row, column] and float(said.split("(zingers), ")[1].split()[0]) == pytest.approx(2000, rel=0.5)


def test_hot_pixels_are_named(tmp_path):
    views, flats, darks = counted()
    views[:, 1, 20] *= 1.3
    scan = write_scan(tmp_path / "s.h5", views.astype("f4"), ANGLES, flats.astype("f4"), darks.astype("f4"), pixel=1)
    assert "the first in row 1, column 20" in problems(scan)["hot-pixels"]
    assert codes(qb("fbp", scan, "-o", tmp_path / "v.npy")) == {"hot-pixels"}


# ---- pixels that hold one value ----

STUCK = {15: 0.1, 20: 1.3, 21: 1.3, 47: 0.55}  # column: transmission


def stuck_scan(folder, case):
    """A scan with stuck columns, and the same without; floats that were 16 bits, integers, transmissions, line integrals."""
    views, flats, darks = counted(seed=7)
    faulty = views.copy()
    for column, value in STUCK.items():
        faulty[:, :, column] = 65535 if column == 20 and case != "integers" else np.round(100 + 50000 * value)
    pair = []
    for name, data in ("whole", views), ("faulty", faulty):
        path, kind = folder / f"{name}.h5", "u2" if case == "integers" else "f4"
        if case in ("floats", "integers"):
            write_scan(path, data.astype(kind), ANGLES, flats.astype(kind), darks.astype(kind), pixel=1)
        else:
            passed = (data - 100) / 50000
            write_scan(path, (passed if case == "transmission" else -np.log(passed)).astype("f4"), ANGLES, pixel=1, quantity=case)
        pair.append(path)
    return pair


@pytest.mark.parametrize("case", ["floats", "integers", "transmission", "line_integral"])
def test_stuck_pixels_count_as_not_measured(tmp_path, case):
    whole, faulty = stuck_scan(tmp_path, case)
    assert "stuck-pixels" not in problems(whole)
    info = qb_json("info", faulty)
    [finding] = info["findings"]
    assert finding == {"code": "stuck-pixels", "what": "pixels", "which": "15, 20, 21, 47", "count": 4 * ROWS, "of": ROWS * N, "done": "not measured"}
    assert f"of rows 0-{ROWS - 1}: they count as not measured" in problems(faulty)["stuck-pixels"]
    for verb, how in WAYS.items():
        for scan in whole, faulty:
            done = qb(verb, scan, *how, "-o", tmp_path / f"{scan.stem}.npy")
            assert ("stuck-pixels" in codes(done)) == (scan is faulty) and "zingers" not in codes(done)
        a, b = np.load(tmp_path / "whole.npy"), np.load(tmp_path / "faulty.npy")
        assert inside(tmp_path / "faulty.npy") == pytest.approx(0.02, rel=0.03), verb  # a 16th of the columns is not there
        assert np.linalg.norm(a - b) < 0.12 * np.linalg.norm(a), verb


def test_stuck_pixels_below_the_dark_are_no_subtracted_darks(tmp_path):
    views, flats, darks = counted(seed=7)
    views[:, :, [12, 33]] = [20, 0]
    scan = write_scan(tmp_path / "s.h5", views.astype("u2"), ANGLES, flats.astype("u2"), darks.astype("u2"), pixel=1)
    assert set(problems(scan)) == {"stuck-pixels"}
    for verb, how in WAYS.items():
        assert "darks-twice" not in codes(qb(verb, scan, *how, "-o", tmp_path / "v.npy"))


def test_one_stuck_pixel(tmp_path):
    """Of one row alone; dead in the flats, too, or at the type's maximum, are other faults."""
    views, flats, darks = counted()
    views[:, 2, 40] = 20000
    flats[:, 1, 30] = views[:, 1, 30] = 0
    views[:, 1, 50] = 65535
    scan = write_scan(tmp_path / "s.h5", views.astype("u2"), ANGLES, flats.astype("u2"), darks.astype("u2"), pixel=1)
    assert problems(scan)["stuck-pixels"].startswith("1 pixel holds one value in all views, in columns 40 of rows 2: ")


@pytest.mark.parametrize("phantom", ["disc", "ball", "spheres", "foam", "shepp-logan", "baggage"])
def test_clean_scans_have_no_faulty_pixels(tmp_path, phantom):
    """Air without noise holds one value, too."""
    for more in [], ["--photons", 300], ["--detector", "40,8"], ["--detector", "160,8", "--size", "40,40,8", "--pixel-size", 1]:
        qb("simulate", phantom, *([] if "--size" in more else ["--size", 48]), "--views", 60, *more, "-o", "s.h5", cwd=tmp_path)
        assert not set(problems(tmp_path / "s.h5")) & {"stuck-pixels", "hot-pixels", "zingers", "darks-twice", "saturated"}


def test_rounded_air_is_not_stuck(tmp_path):
    """Counts of air that are rounded against flats of any level: line integrals near 0, each pixel's own."""
    flats = 50000 + 9000 * np.random.default_rng(3).random((6, 64))
    lines = np.tile(-np.log(np.round(flats) / flats), (60, 1, 1))
    lines[0, :, [9, 11]] = lines[:, :, 30:40] = 1
    np.save(tmp_path / "p.npy", (lines + 0.01 * (lines == 1) * np.arange(60)[:, None, None]).astype("f4"))
    told = qb_json("info", tmp_path / "p.npy", "--quantity", "line_integral", "--angles", "0:180")
    assert not any("stuck-pixels" in p for p in told["problems"])


# ---- axes in another order ----

def off_axis():
    """Line integrals of two discs, of which one turns about the axis."""
    t, s = np.radians(ANGLES)[:, None], np.arange(N) - (N - 1) / 2
    one = sum(2 * mu * np.sqrt(np.maximum(r ** 2 - (s - x * np.cos(t) - y * np.sin(t)) ** 2, 0)) for mu, r, x, y in ((0.02, 20, 2, -3), (0.03, 5, -8, 6)))
    return np.repeat(one[:, None], 8, axis=1).astype("f4")


def test_axes_in_another_order(tmp_path):
    lines = off_axis()
    np.save(tmp_path / "right.npy", lines)
    np.save(tmp_path / "xyt.npy", lines.transpose(2, 1, 0))
    how = ["--angles", "0:180", "--pixel-size", 1]
    assert "axes-order" not in problems(tmp_path / "right.npy", *how) and "axes-order" in problems(tmp_path / "xyt.npy", *how)
    assert "axes-order" in codes(qb("sirt", tmp_path / "xyt.npy", *how, "-g", "parallel", "--iterations", 3, "-o", tmp_path / "v.npy"))


ORDERS = {
    (0, 2, 1): ("[view][column][row]", "store [view][row][column]"), (2, 0, 1): ("[column][view][row]", "store [view][row][column]"),
    (1, 2, 0): ("[row][column][view]", "store [view][row][column]"), (2, 1, 0): ("[column][row][view]", "store [view][row][column]"),
    (1, 0, 2): ("[row][view][column]", "give --as sinogram")}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("phantom, angles", [("spheres", "0:180"), ("baggage", "0:360")])
def test_every_order_of_axes_is_named(tmp_path, order, phantom, angles):
    qb("simulate", phantom, "--detector", "96,40", "--views", 120, "--angles", angles, "-o", tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5") as file:
        np.save(tmp_path / "y.npy", file["exchange/data"][...].transpose(order))
    how = ["--angles", angles, "--quantity", "transmission", "--pixel-size", 1]
    looks = "look like %s: %s" % ORDERS[order]
    assert looks in problems(tmp_path / "y.npy", *how)["axes-order"]
    assert looks in qb("fbp", tmp_path / "y.npy", *how, "--center", "middle", "-o", tmp_path / "v.npy").stderr
    done = subprocess.run([QB, "fbp", tmp_path / "y.npy", *map(str, how), "-o", tmp_path / "v.npy"], capture_output=True, text=True)
    assert looks in done.stderr and done.returncode in (0, 3)  # no axis was found, or one that is none


def test_sinograms_read_as_projections(tmp_path):
    """An object that tapers: each row holds another mass, the same in all views."""
    lines = off_axis() * (1 + np.arange(8)[None, :, None]).astype("f4")
    lines = np.repeat(lines, 4, axis=1)
    np.save(tmp_path / "right.npy", lines)
    np.save(tmp_path / "sinograms.npy", lines.transpose(1, 0, 2))
    how = ["--angles", "0:180", "--pixel-size", 1]
    for name, more, wrong in (("right", [], False), ("sinograms", [], True), ("sinograms", ["--as", "sinogram"], False), ("right", ["--as", "sinogram"], True)):
        assert ("axes-order" in problems(tmp_path / f"{name}.npy", *how, *more)) == wrong
        done = qb("fbp", tmp_path / f"{name}.npy", *how, *more, "--center", "middle", "-o", tmp_path / "v.npy")
        assert ("axes-order" in codes(done)) == wrong


def test_fields_and_angles_tell_the_order_of_axes(tmp_path):
    views, flats, darks = (frames[:, :ROWS - 1].astype("u2") for frames in counted())
    turned = views.transpose(2, 1, 0)
    for name, fields in ("fields", (flats, darks)), ("all", (flats.transpose(2, 1, 0), darks.transpose(2, 1, 0))):
        scan = write_scan(tmp_path / f"{name}.h5", turned, ANGLES, *fields, pixel=1)
        assert "as of axes (x, y, theta): store [view][row][column]" in qb("fbp", scan, "-o", tmp_path / "v.npy", code=3).stderr
    scan = write_scan(tmp_path / "lines.h5", off_axis().transpose(2, 1, 0), ANGLES, pixel=1, quantity="line_integral")
    assert "store [view][row][column] in place of (x, y, theta)" in qb("fbp", scan, "-o", tmp_path / "v.npy", code=3).stderr


@pytest.mark.parametrize("case", ["line integrals", "transmissions"])
def test_a_sinogram_of_columns_and_views(tmp_path, case):
    """As scikit-image's radon makes it."""
    sinogram = off_axis()[:, 0]
    values, how = (sinogram, []) if case == "line integrals" else (np.exp(-sinogram), ["--quantity", "transmission"])
    how += ["--angles", "0:180", "--pixel-size", 1]
    np.save(tmp_path / "radon.npy", values.T)
    np.save(tmp_path / "right.npy", values)
    assert "columns look like views: transpose it" in qb("fbp", tmp_path / "radon.npy", *how, "-o", tmp_path / "v.npy", code=3).stderr
    assert "columns look like views" not in qb("fbp", tmp_path / "right.npy", *how, "-o", tmp_path / "v.npy", code=3).stderr
    how += ["--as", "sinogram"]
    assert "axes-order" in problems(tmp_path / "radon.npy", *how) and problems(tmp_path / "right.npy", *how) == {}
    assert not codes(qb("fbp", tmp_path / "right.npy", *how, "--center", (N - 1) / 2, "-o", tmp_path / "v.npy"))


# ---- qb info finds what the methods find ----

def test_info_sees_truncation(tmp_path):
    """Both sides are cut; one side is, which a full turn makes up for."""
    for name, more, said in (("both", ["--detector", "64,4"], True), ("whole", ["--detector", "128,4"], False),
                             ("half", ["--detector", "80,4", "--center-offset", "-30"], True),
                             ("full", ["--detector", "80,4", "--center-offset", "-30", "--angles", "0:360"], False)):
        qb("simulate", "disc", "--size", "100,100,4", "--pixel-size", 1, *more, "--views", 180, "-o", f"{name}.h5", cwd=tmp_path)
        assert ("row-ends" in problems(tmp_path / f"{name}.h5")) == said, name
        assert "taller_than_detector" not in qb_json("info", tmp_path / f"{name}.h5")


def test_info_sees_a_tall_object(tmp_path):
    cone = ["--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 4, "--views", 60]
    for shape, rows, tall in ("disc", 20, True), ("ball", 80, False):
        qb("simulate", shape, *cone, "--detector", f"64,{rows}", "-o", "s.h5", cwd=tmp_path)
        info = qb_json("info", tmp_path / "s.h5")
        assert info["problems"] == [] and info.get("taller_than_detector") == ("at both ends" if tall else None)


def test_info_sees_opaque_rays(tmp_path):
    np.save(tmp_path / "s.npy", (100 * disc(0.02)).astype("f4"))
    assert "opaque-rays" in problems(tmp_path / "s.npy", "--angles", "0:180", "--pixel-size", 1)
    np.save(tmp_path / "s.npy", disc(0.02).astype("f4"))
    assert problems(tmp_path / "s.npy", "--angles", "0:180", "--pixel-size", 1) == {}


def test_how_many_views_were_looked_at(tmp_path):
    """Of large compressed scans not all are, and that is said; a good small one is looked at throughout."""
    small = write_scan(tmp_path / "small.h5", np.ones((20, 4, 8), "f4"), np.arange(20) * 9.0, quantity="transmission")
    assert qb_json("info", small)["looked_views"] == 20
    with h5py.File(tmp_path / "large.h5", "w") as file:
        file.create_dataset("exchange/data", (400, 512, 512), "f4", chunks=(1, 512, 512), compression="gzip", fillvalue=1)
        one = np.exp(-np.broadcast_to(np.linspace(0, 1, 512), (512, 512))).astype("f4")
        for view in range(400):
            file["exchange/data"][view] = one
        file["exchange/data"].attrs["quantity"] = "transmission"
        file["exchange/theta"] = np.arange(400) * 0.45
    looked = qb_json("info", tmp_path / "large.h5")["looked_views"]
    assert 3 < looked < 400
    done = qb("fbp", tmp_path / "large.h5", "--slices", "0:1", "--center", 255.5, "--json", "-o", tmp_path / "v.npy")
    assert json.loads(done.stdout)["looked_views"] == looked and f"{looked} of 400 views were looked at" in done.stderr


# ---- views of another gain ----

GAINS = slice(30, 60)


def plate(views, width=30.0, thickness=2.0, columns=N):
    """Line integrals of a flat ellipse, which look quite otherwise edge-on."""
    turn = np.arange(views)[:, None] * np.pi / views
    s, reach = np.arange(columns) - (columns - 1) / 2, (width * np.sin(turn)) ** 2 + (thickness * np.cos(turn)) ** 2
    lines = 0.02 * 2 * width * thickness * np.sqrt(np.maximum(reach - s ** 2, 0)) / reach
    return np.repeat(lines[:, None], ROWS, axis=1)


@pytest.mark.parametrize("verb", [*WAYS, "info", "convert", "center"])
def test_views_of_another_gain(tmp_path, verb):
    """A third of the views is 1.3 times as bright; --air auto makes up for that."""
    views, flats, darks = counted()
    views[GAINS] = (views[GAINS] - 100) * 1.3 + 100
    scan = write_scan(tmp_path / "s.h5", views.astype("u4"), ANGLES, flats.astype("u4"), darks.astype("u4"), pixel=1)
    words = "views 30-59 (30 of 90) are 1.3 times as bright"
    if verb == "info":
        assert words in problems(scan)["view-gains"]
        return
    out = [] if verb == "center" else ["-o", tmp_path / "v.npy"]
    done = qb(verb, scan, *WAYS.get(verb, []), *out)
    assert words in done.stderr and "bright-air" not in codes(done)
    assert "view-gains" not in codes(qb(verb, scan, *WAYS.get(verb, []), "--air", "auto", *out))
    if verb == "fbp":
        assert inside(tmp_path / "v.npy") == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("case", ["line integrals", "transmissions", "no air", "one view", "the last views"])
def test_other_gains_are_seen_in_any_numbers(tmp_path, case):
    lines = disc(0.02) + np.random.default_rng(3).normal(0, 0.005, (VIEWS, ROWS, N))
    if case == "line integrals":
        lines[GAINS] *= 1.3
        scan = write_scan(tmp_path / "s.h5", lines.astype("f4"), ANGLES, pixel=1, quantity="line_integral")
        assert "views 30-59 (30 of 90) are 1.3 times those" in problems(scan)["view-gains"]
        return
    passed = np.exp(-lines)
    which = {"one view": slice(30, 31), "the last views": slice(60, 90)}.get(case, GAINS)
    passed[which] *= 0.8
    if case == "no air":
        passed = passed[:, :, 16:-16]
    scan = write_scan(tmp_path / "s.h5", passed.astype("f4"), ANGLES, pixel=1, quantity="transmission")
    named = {"one view": "views 30 (1", "the last views": "views 60-89 (30"}.get(case, "views 30-59 (30")
    assert f"{named} of 90) are 0.8" in problems(scan)["view-gains"]


@pytest.mark.parametrize("views", [12, 30, 90])
@pytest.mark.parametrize("photons", [0, 100, 10000])
def test_a_turning_plate_is_no_other_gain(tmp_path, views, photons):
    lines, angles = plate(views), np.arange(views) * 180 / views
    for cut in (0, 20):
        passed = np.exp(-lines)[:, :, cut:N - cut]
        if photons:
            passed = np.maximum(np.random.default_rng(views).poisson(photons * passed), 1) / photons
        for quantity, data in ("transmission", passed), ("line_integral", -np.log(passed)):
            scan = write_scan(tmp_path / "s.h5", data.astype("f4"), angles, pixel=1, quantity=quantity)
            assert "view-gains" not in problems(scan)
    kept = np.r_[0:views // 3, views // 2:views]  # a gap
    scan = write_scan(tmp_path / "s.h5", np.exp(-lines[kept]).astype("f4"), angles[kept], pixel=1, quantity="transmission")
    assert "view-gains" not in problems(scan)
