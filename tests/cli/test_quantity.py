# SPDX-License-Identifier: MIT
"""Values that cannot be what they are said to be: refused where that is certain, else warned of, with the right values beside."""
import json

import numpy as np
import pytest

from qbtest import fails, opencl, qb, qb_json, write_scan  # noqa: F401

N, ROWS, VIEWS, MU = 64, 4, 90, 0.02
AXIS = (N - 1) / 2
MORE = ["--angles", "0:180", "--center", AXIS, "--pixel-size", 1]
WAYS = {"fbp": [], "sirt": ["--iterations", 40], "cgls": ["--iterations", 10], "mbir": ["--equits", 10]}


def codes(done):
    return {line.rsplit("[", 1)[1][:-1] for line in done.stderr.splitlines() if line.startswith("warning: ") and line.endswith("]")}


@pytest.fixture(scope="module")
def lines():
    """Line integrals of a disc of radius 20 mm."""
    s = np.arange(N) - AXIS
    one = 2 * MU * np.sqrt(np.maximum(20.0 ** 2 - s ** 2, 0))
    return np.broadcast_to(one, (VIEWS, ROWS, N)).astype(np.float32).copy()


def inside(volume):
    """Mean within half the radius, of all slices."""
    x = np.arange(volume.shape[-1]) - (volume.shape[-1] - 1) / 2
    return volume[:, x[:, None] ** 2 + x ** 2 < 10 ** 2].mean(axis=1)


def run(folder, values, *how, verb="fbp", code=0):
    np.save(folder / "s.npy", values)
    return qb(verb, "s.npy", *MORE, "-o", "v.npy", *WAYS.get(verb, []), *how, cwd=folder, code=code)


# ---- values that no beam and no object makes ----

@pytest.mark.parametrize("verb", [*WAYS, "tv"])
@pytest.mark.parametrize("value", [3.4e38, -2e20, 1e5, -1e5])
def test_one_value_is_an_outlier(tmp_path, lines, verb, value):
    lines = lines.copy()
    lines[40, 2, 30] = value
    done = run(tmp_path, lines, verb=verb)
    assert "1 value is NaN, infinite or beyond what a beam makes, the first in view 40, row 2, column 30" in done.stderr
    assert "the first in view 40, row 2, column 30" in problems(tmp_path)["not-finite"]
    assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.01)


@pytest.mark.parametrize("scale", [1e-3, 1, 5e3])
def test_outliers_in_any_unit(tmp_path, lines, scale):
    """A hundred times what the views reach, or beyond what the logarithm of a number can be. Large units are no outliers."""
    few = scale * lines
    few[40, 2, 30], few[50, 1, 20] = 200 * max(1, scale), -200 * max(1, scale)
    assert "2 values are NaN" in run(tmp_path, few, "--quantity", "line_integral").stderr
    assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(scale * MU, rel=0.01)
    assert not codes(run(tmp_path, scale * lines, "--quantity", "line_integral"))
    assert "not-finite" not in problems(tmp_path, "--quantity", "line_integral")
    wire = np.zeros_like(lines)  # seen by few columns of each view
    wire[:, :, 40:42] = 5e4
    assert "not-finite" not in codes(run(tmp_path, wire + np.random.default_rng(1).normal(0, 1, wire.shape).astype("f4"), "--quantity", "line_integral"))


@pytest.mark.parametrize("verb", WAYS)
def test_a_number_far_below_zero(tmp_path, lines, verb):
    """As floats of counts and of transmissions; a little below 0 is noise."""
    for scale, how in (1, ["--quantity", "transmission"]), (20000, ["--quantity", "counts", "--air", f"0:8,0:{ROWS}"]):
        values = (scale * np.exp(-lines)).astype(np.float32)
        values[40, 2, 30] = -1e38
        done = run(tmp_path, values, *how, verb=verb)
        assert "1 value is NaN, infinite or beyond what a beam makes, the first in view 40, row 2, column 30" in done.stderr
        assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.01)
    values[40, 2, 30] = -100
    assert {"transmission-floor"} == codes(run(tmp_path, values, *how, verb=verb)) & {"transmission-floor", "not-finite"}


@pytest.mark.parametrize("verb,how", [("fbp", []), ("cgls", []), ("sirt", []), ("tv", ["--nonneg"]), ("mbir", [])])
def test_the_sign_of_line_integrals(tmp_path, lines, verb, how):
    """A sign error is said by every method, with the mean; noise in air is none."""
    said = f"{100 * (lines > 0).mean():.3g} % of the line integrals looked at are negative, their mean is {-lines.mean():.3g}"
    assert said in run(tmp_path, -lines, *how, verb=verb).stderr
    assert said in problems(tmp_path)["negative-lines"]
    air = np.random.default_rng(3).normal(0, 0.1, lines.shape).astype(np.float32)
    for good in lines, lines + air, air:
        assert "negative-lines" not in codes(run(tmp_path, good, "--quantity", "line_integral", *how, verb=verb))


def test_a_refusal_is_said_once(tmp_path, lines):
    np.save(tmp_path / "s.npy", np.full_like(lines, np.nan))
    for verb in [*WAYS, "tv", "convert"]:
        how = [] if verb == "convert" else ["--center", AXIS, *WAYS.get(verb, [])]
        said = fails(3, verb, "s.npy", "--angles", "0:180", *how, "-o", "v.npy", cwd=tmp_path, says=["none of its 90 views can be used"])
        assert said.count("can be used") == 1 and "[scan-unusable]" not in said
    write_scan(tmp_path / "s.h5", lines, pixel=1, quantity="line_integral")
    assert fails(3, "fbp", "s.h5", "-o", "v.npy", cwd=tmp_path).count("no angles") == 1


@pytest.mark.parametrize("verb", WAYS)
def test_the_first_of_them_has_a_name(tmp_path, lines, verb):
    """In the order of view, row and column as stored, whatever thread meets it first."""
    lines = lines.copy()
    lines[41, 1, 5], lines[40, 2, 33], lines[40, 2, 30], lines[80, 0, 0], lines[3, 3, 3] = np.nan, np.inf, 3e38, -2e13, np.nan
    for how in [], ["--threads", 1], ["--threads", 3]:
        done = run(tmp_path, lines, "--device", "cpu", "--exclude", "2,3,50", *how, verb=verb)
        assert "4 values are NaN, infinite or beyond what a beam makes, the first in view 40, row 2, column 30:" in done.stderr


def test_devices_count_them_alike(tmp_path, lines, opencl):
    counts, values = lines.copy(), {}
    counts[40, 2, 30], counts[7, 0, 3], counts[9, 1, 5] = 3.4e38, -1e13, 90
    passed = np.where(abs(counts) > 1e10, np.sign(counts) * 2000, np.exp(-lines))
    for quantity, data in ("line_integral", counts), ("transmission", passed):
        for device in "cpu", opencl:
            done = run(tmp_path, data.astype(np.float32), "--quantity", quantity, "--device", device, "--accuracy", "high", "--json")
            values[device] = json.loads(done.stdout)["preparation"]["not_finite"]
        assert values["cpu"] == values[opencl] == 2, values


@pytest.mark.parametrize("garbled", ["byte order", "float64"])
@pytest.mark.parametrize("verb", ["fbp", "cgls"])
def test_bytes_of_another_type_are_refused(tmp_path, lines, verb, garbled):
    """Noise in the last bits, as all that is measured has."""
    data = lines + np.random.default_rng(1).normal(0, 0.01, lines.shape)
    wrong = data.astype(">f4").view("<f4") if garbled == "byte order" else np.ascontiguousarray(data.view("<f4").reshape(VIEWS, ROWS, 2 * N)[..., :N])
    np.save(tmp_path / "s.npy", wrong)
    fails(3, verb, "s.npy", *MORE, "-o", "v.npy", *WAYS[verb], cwd=tmp_path, says=["byte order", *(["cannot be line integrals"] if garbled == "float64" else [])])
    assert not (tmp_path / "v.npy").exists()


# ---- another quantity ----

@pytest.mark.parametrize("verb", ["fbp", "mbir"])
@pytest.mark.parametrize("name,scale,right", [("transmissions", 1, ["--quantity", "transmission"]), ("counts", 4000.3, ["--quantity", "counts", "--air", f"0:8,0:{ROWS}"])])
def test_no_line_integrals(tmp_path, lines, verb, name, scale, right):
    values = (np.exp(-lines) * scale).astype(np.float32)
    np.save(tmp_path / "s.npy", values)
    fails(3, verb, "s.npy", *MORE, "-o", "v.npy", *WAYS[verb], cwd=tmp_path, says=[f"look like {name}", right[1]])
    assert "other-quantity" in codes(run(tmp_path, values, "--quantity", "line_integral", verb=verb))
    assert not codes(run(tmp_path, values, *right, verb=verb)) & {"other-quantity", "bright-air", "bright-object", "zingers"}
    assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.01)


@pytest.mark.parametrize("dtype,white", [(np.uint16, 65535), (np.uint8, 255), (np.float32, 65535)])
def test_counts_called_transmissions(tmp_path, lines, dtype, white):
    values = np.round(np.exp(-lines) * white).astype(dtype)
    np.save(tmp_path / "s.npy", values)
    said = fails(3, "fbp", "s.npy", *MORE, "-o", "v.npy", "--quantity", "transmission", cwd=tmp_path, says=["--quantity counts"])
    assert "warning" not in said
    run(tmp_path, values, "--quantity", "counts", "--air", f"0:8,0:{ROWS}")
    assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.03)  # of 8 bits


@pytest.mark.parametrize("verb", [*WAYS, "tv"])
def test_values_per_pixel_are_said(tmp_path, lines, verb):
    np.save(tmp_path / "s.npy", lines.astype(np.float32))
    how = ["--angles", "0:180", "--center", AXIS, "--quantity", "line_integral", "-o", "v.npy", *WAYS.get(verb, [])]
    assert codes(qb(verb, "s.npy", *how, cwd=tmp_path)) == {"no-pixel-size"}
    assert codes(qb(verb, "s.npy", *how, "--pixel-size", 1, cwd=tmp_path)) == set()
    how[how.index("v.npy")] = "none/v.npy"  # a name that cannot be is refused before anything is said
    assert "warning" not in fails(1, verb, "s.npy", *how, says=["none"], cwd=tmp_path)


def test_dark_flats(tmp_path, lines):
    values = (1.35 * np.exp(-lines)).astype(np.float32)
    done = run(tmp_path, values, "--quantity", "transmission")
    assert codes(done) == {"bright-air"} and "air is 1.35 times" in done.stderr
    assert not codes(run(tmp_path, values, "--quantity", "transmission", "--air", f"0:8,0:{ROWS}"))
    assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.01)


def test_a_negative_object(tmp_path, lines):
    assert "bright-object" in codes(run(tmp_path, np.exp(lines / 4).astype(np.float32), "--quantity", "transmission"))


def test_scaled_lines_leave_no_weight(tmp_path, lines):
    assert "opaque-rays" in codes(run(tmp_path, 100 * lines, "--weights", "transmission", verb="mbir"))
    assert "opaque-rays" not in codes(run(tmp_path, lines, "--weights", "transmission", verb="mbir"))


# ---- zingers ----

def test_zingers(tmp_path, lines):
    """As many as were put in, within their noise; a hot column is none; noise is none."""
    random = np.random.default_rng(3)
    values = random.poisson(2000 * np.exp(-lines)) / 2000
    values[:, 1, 20] *= 3
    clean = run(tmp_path, values.astype(np.float32), "--quantity", "transmission")
    assert "zingers" not in codes(clean)
    hits = random.random(values.shape) < 0.004
    done = run(tmp_path, np.where(hits, values + 4, values).astype(np.float32), "--quantity", "transmission")
    found, = [line for line in done.stderr.splitlines() if "[zingers]" in line]
    assert float(found.split("(zingers), ")[1].split()[0]) == pytest.approx(4000, rel=0.35)
    view, row, column = (int(found.split(f"{name} ")[-1].split()[0].rstrip(",:")) for name in ("view", "row", "column"))
    assert hits[view, row, column]


# ---- an object taller than the detector ----

@pytest.mark.parametrize("verb", ["cgls", "sirt"])
def test_an_object_taller_than_the_volume(tmp_path, verb):
    cone = ["--sod", 500, "--sdd", 800]
    for shape, rows in ("disc", 20), ("ball", 40):
        qb("simulate", shape, "--geometry", "cone", *cone, "--pixel-size", 8, "--detector", f"40,{rows}", "--views", 60, "-o", f"{shape}.h5", cwd=tmp_path)
    iterations = ["--iterations", 20 if verb == "cgls" else 100]
    assert "column-ends" not in codes(qb(verb, "ball.h5", *cone, "-o", "b.npy", *iterations, cwd=tmp_path))
    done = qb(verb, "disc.h5", *cone, "-o", "d.npy", *iterations, cwd=tmp_path)
    assert "column-ends" in codes(done)
    size = done.stderr.split("give --size ")[1].split()[0]
    again = qb(verb, "disc.h5", *cone, "-o", "e.npy", *iterations, "--size", size, cwd=tmp_path)
    assert "column-ends" not in codes(again)
    cut, whole = np.load(tmp_path / "d.npy"), np.load(tmp_path / "e.npy")
    middle = whole[:, 17:23, 17:23].mean(axis=(1, 2))
    nz, more = len(cut), (len(whole) - len(cut)) // 2
    assert abs(cut[0, 17:23, 17:23].mean() - MU) > 0.1 * MU
    inner = middle[more + 1:more + nz - 1] # rows at the detector's ends see slices that no other row sees
    assert inner.mean() == pytest.approx(MU, rel=0.02) and inner.max() < 1.1 * MU and middle[more:more + nz].max() < 1.5 * MU


# ---- volumes ----

def test_hounsfield_units_to_project(tmp_path):
    """Water of radius 20 voxels in air."""
    x = np.arange(N) - AXIS
    disc = x[:, None] ** 2 + x ** 2 < 20 ** 2
    np.save(tmp_path / "hu.npy", np.broadcast_to(np.where(disc, 0, -1000), (2, N, N)).astype(np.float32))
    how = ["--voxel", 1, "--geometry", "parallel", "--views", 8, "-o", "p.npy"]
    fails(3, "project", "hu.npy", *how, cwd=tmp_path, says=["Hounsfield", "--hu"])
    qb("project", "hu.npy", *how, "--hu", MU, cwd=tmp_path)
    assert np.load(tmp_path / "p.npy")[0, 0, N // 2] == pytest.approx(40 * MU, rel=0.03)


def test_nan_in_a_result(tmp_path):
    """A volume of nothing but NaN gets no name; some are told."""
    volume = np.ones((4, 16, 16), np.float32)
    volume[2, 8, 8] = np.nan
    how = ["--voxel", 1, "--geometry", "parallel", "--views", 5, "-o", "p.npy"]
    np.save(tmp_path / "some.npy", volume)
    np.save(tmp_path / "all.npy", np.full_like(volume, np.nan))
    done = qb("project", "some.npy", *how, cwd=tmp_path)
    bad = np.isnan(np.load(tmp_path / "p.npy")).sum()
    assert bad and f"{bad} rays" in done.stderr and {"nan-slices", "volume-not-finite"} <= codes(done)
    assert "warning: 1 of 1024 voxels of some.npy are NaN" in done.stderr
    (tmp_path / "p.npy").unlink()
    fails(3, "project", "all.npy", *how, cwd=tmp_path, says=["NaN", "p.npy"])
    assert not (tmp_path / "p.npy").exists()


# ---- qb info says the same ----

def problems(folder, *how):
    info = json.loads(qb("info", folder / "s.npy", "--angles", "0:180", "--pixel-size", 1, *how, "--json").stdout)
    return {problem.rsplit("[", 1)[1][:-1]: problem for problem in info["problems"]}


@pytest.mark.parametrize("case", ["dark flats", "negative", "zingers", "transmissions", "counts", "byte order", "outlier"])
def test_info_says_the_same(tmp_path, lines, case):
    random = np.random.default_rng(3)
    zingers = np.where(random.random(lines.shape) < 0.004, 5, 0) + random.poisson(2000 * np.exp(-lines)) / 2000
    swapped = (lines + random.normal(0, 0.01, lines.shape)).astype(">f4").view("<f4")
    lost = lines.copy()
    lost[0, 2, 30] = 2e12
    values, quantity, code, words = {
        "dark flats": (1.35 * np.exp(-lines), "transmission", "bright-air", "1.35 times"),
        "negative": (np.exp(lines / 4), "transmission", "bright-object", "brighter than open beam"),
        "zingers": (zingers, "transmission", "zingers", "the first in view"),
        "transmissions": (np.exp(-lines), "auto", "other-quantity", "look like transmissions"),
        "counts": (4000.3 * np.exp(-lines), "line_integral", "other-quantity", "look like counts"),
        "byte order": (swapped, "line_integral", "scan-unusable", "byte order"),
        "outlier": (lost, "line_integral", "not-finite", "the first in view 0, row 2, column 30")}[case]
    np.save(tmp_path / "s.npy", values.astype(np.float32))
    found = problems(tmp_path, "--quantity", quantity)
    assert code in found and words in found[code], found
    if case in ("dark flats", "negative", "zingers"):
        assert found[code].split(": ")[0] in run(tmp_path, values.astype(np.float32), "--quantity", quantity).stderr


def test_zingers_in_counts_without_flats(tmp_path, lines):
    random = np.random.default_rng(3)
    counts = random.poisson(20000 * np.exp(-lines))
    np.save(tmp_path / "s.npy", counts.astype(np.uint16))
    assert not set(problems(tmp_path)) & {"zingers", "bright-object", "bright-air", "other-quantity", "saturated"}
    np.save(tmp_path / "s.npy", np.where(random.random(lines.shape) < 0.004, 60000, counts).astype(np.uint16))
    assert "zingers" in problems(tmp_path)


# ---- counts that are cut off below their type's maximum ----

@pytest.mark.parametrize("verb", ["fbp", "sirt", "mbir"])
def test_clipped_counts(tmp_path, lines, verb):
    """Of noisy air at 60000 half is cut off there; the same beam without that, and counts without noise, are no such scan."""
    air = ["--air", f"0:8,0:{ROWS}"]
    noisy = np.random.default_rng(1).poisson(60000 * np.exp(-lines))
    clipped = np.minimum(noisy, 60000).astype(np.uint16)
    done = run(tmp_path, clipped, *air, verb=verb)
    found, = [line for line in done.stderr.splitlines() if "[saturated]" in line]
    assert "largest value 60000" in found
    assert float(found.split("warning: ")[1].split()[0]) == pytest.approx(100 * (clipped == 60000).mean(), rel=0.05)
    assert found.split("warning: ")[1] == problems(tmp_path)["saturated"]
    for good in (noisy - 10000).clip(0), np.round(50000 * np.exp(-lines)):
        assert "saturated" not in codes(run(tmp_path, good.astype(np.uint16), *air, verb=verb))
        assert "saturated" not in problems(tmp_path)


# ---- nothing to say ----

@pytest.mark.parametrize("phantom", ["shepp-logan", "disc", "ball", "spheres", "foam"])
def test_of_good_scans_nothing_is_said(tmp_path, phantom):
    tall = {"column-ends"} if phantom in ("disc", "foam") else set()  # cylinders
    for more in [], ["--photons", 20000], ["--photons", 500, "--seed", 2]:
        qb("simulate", phantom, "--size", 64, "--views", 60, "--detector", "64,8", *more, "-o", "s.h5", cwd=tmp_path)
        qb("simulate", phantom, "--views", 60, "--detector", "64,64", "--geometry", "cone", "--sod", 300, "--sdd", 500, "--pixel-size", 1, *more, "-o", "c.h5", cwd=tmp_path)
        for done, told in ((qb("fbp", "s.h5", "-o", "v.npy", cwd=tmp_path), set()), (qb("fdk", "c.h5", "--sod", 300, "--sdd", 500, "-o", "v.npy", cwd=tmp_path), set()),
                           (qb("cgls", "c.h5", "--sod", 300, "--sdd", 500, "--iterations", 2, "-o", "v.npy", cwd=tmp_path), tall)):
            assert codes(done) - {"transmission-floor", "center-doubt", "range-clamped"} == told, done.stderr


def test_counts_that_were_stored_as_signed(tmp_path, lines):
    """Above 32767 they become negative: refused with what they look like, right with --unsigned. Noise about a subtracted
    dark is none of that."""
    rng = np.random.default_rng(3)
    counts, flats = rng.poisson(50000 * np.exp(-lines) + 100), rng.poisson(np.full((5, ROWS, N), 50100.0))
    darks, angles = rng.poisson(np.full((5, ROWS, N), 100.0)).astype("u2"), np.arange(VIEWS) * 180 / VIEWS
    data, open_beam = counts.astype("u2"), flats.astype("u2")
    whole = write_scan(tmp_path / "whole.h5", data, angles, open_beam, darks, pixel=1)
    qb("fbp", whole, "--center", AXIS, "-o", tmp_path / "whole.npy")
    for name, flat in ("all", open_beam.view("i2")), ("data", open_beam):
        scan = write_scan(tmp_path / f"{name}.h5", data.view("i2"), angles, flat, darks.view(flat.dtype), pixel=1)
        for verb in WAYS:
            said = fails(3, verb, scan, *WAYS[verb], "-o", tmp_path / "v.npy", says=["look like uint16 read as int16; give --unsigned"])
            assert "exchanged" not in said
        [problem] = qb_json("info", scan)["problems"]
        assert "uint16 read as int16" in problem and "[scan-unusable]" in problem
        assert qb_json("info", scan, "--unsigned")["problems"] == []
        qb("fbp", scan, "--unsigned", "--center", AXIS, "-o", tmp_path / "v.npy")
        assert np.array_equal(np.load(tmp_path / "v.npy"), np.load(tmp_path / "whole.npy"))
        assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.01)
    fails(2, "fbp", whole, "--unsigned", "-o", tmp_path / "v.npy", says=["--unsigned is for signed integers, and these numbers are uint16"])
    about_dark = rng.normal(0, 200, data.shape).astype("i2")
    few = data // 2
    few[7, 1, 3] = 40000
    for data, said in (about_dark, False), (few.view("i2"), True):
        problems = qb_json("info", write_scan(tmp_path / "s.h5", data, angles, open_beam, darks))["problems"]
        assert any("[counts-negative]" in p for p in problems) == said, problems


@pytest.mark.parametrize("field", ["flats", "darks"])
def test_a_few_fields_that_were_stored_as_signed(tmp_path, lines, field):
    """A single value of all frames is found; fields are refused where it is many; --unsigned is right."""
    rng = np.random.default_rng(4)
    fields = {"flats": rng.poisson(30000.0, (5, ROWS, N)), "darks": rng.poisson(100.0, (5, ROWS, N))}
    data, angles = rng.poisson(29900 * np.exp(-lines) + 100).astype("i2"), np.arange(VIEWS) * 180 / VIEWS
    fields[field][2, 1, 30] = 45000
    scan = write_scan(tmp_path / "s.h5", data, angles, *(fields[name].astype("u2").view("i2") for name in ("flats", "darks")), pixel=1)
    for verb in WAYS:
        assert f"{field} reach -20536: they look like uint16 read as int16; give --unsigned [counts-negative]" in qb(verb, scan, *WAYS[verb], "-o", tmp_path / "v.npy").stderr
    assert "counts-negative" not in qb("fbp", scan, "--unsigned", "--center", AXIS, "-o", tmp_path / "v.npy").stderr
    assert inside(np.load(tmp_path / "v.npy")) == pytest.approx(MU, rel=0.01)
    fields[field][:, :, 20:] = 45000
    scan = write_scan(tmp_path / "s.h5", data, angles, *(fields[name].astype("u2").view("i2") for name in ("flats", "darks")), pixel=1)
    fails(3, "fbp", scan, "-o", tmp_path / "v.npy", says=[field, "give --unsigned"])


def test_one_warning_is_said_once(tmp_path, lines):
    np.save(tmp_path / "s.npy", lines)
    for verb in WAYS:
        how = WAYS[verb] if verb in ("fbp", "mbir") else [*WAYS[verb], "-g", "parallel"]
        said = [line for line in qb(verb, "s.npy", "--angles", "0:180", *how, "-o", "v.npy", cwd=tmp_path).stderr.splitlines() if line.startswith("warning: ")]
        assert len(said) == len(set(said)), said
