# SPDX-License-Identifier: MIT
"""What the output cannot take is found early or counted: folders, ranges of integers, older slices."""
import numpy as np
import pytest

from qbtest import fails, leftovers, qb, qb_json, read_h5, read_stack, write_scan

CENTER = ["--center", "23.5"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "s.h5"
    qb("simulate", "spheres", "--detector", "48,12", "--pixel-size", "0.5", "--views", "60", "-o", path)
    return path


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    path = tmp_path_factory.mktemp("limits") / "c.h5"
    qb("simulate", "spheres", "--geometry", "cone", "--sod", "500", "--sdd", "800", "--pixel-size", "1.6", "--detector", "40,24",
       "--views", "60", "-o", path)
    return path


@pytest.mark.parametrize("verb", ["fbp", "fdk"])
def test_a_preview_that_cannot_be_written_is_known_before_the_work(scan, cone, tmp_path, verb):
    args = ["fbp", scan, *CENTER] if verb == "fbp" else ["fdk", cone, "--sod", "500", "--sdd", "800"]
    for dry in ([], ["--dry-run"]):
        fails(3, *args, "-o", tmp_path / "v.h5", "--preview", tmp_path / "none" / "v.png", *dry, says=["none"])
        assert leftovers(tmp_path) == []
    fails(2, *args, "-o", tmp_path / "v.h5", "--preview", tmp_path, says=["folder"])
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("verb", ["fbp", "fdk"])
@pytest.mark.parametrize("dtype,low,high", [("uint16", 0.002, 0.015), ("uint8", 0.0, 0.01), ("uint16", -1, 1)])
def test_clamped_values_are_counted(scan, cone, tmp_path, verb, dtype, low, high):
    args = ["fbp", scan, *CENTER] if verb == "fbp" else ["fdk", cone, "--sod", "500", "--sdd", "800"]
    qb(*args, "-o", tmp_path / "f.h5")
    values = read_h5(tmp_path / "f.h5").astype(float)
    step = (high - low) / (255 if dtype == "uint8" else 65535)
    outside = ((values < low - step / 2) | (values > high + step / 2)).sum()
    options = [*args, "-o", tmp_path / "i.h5", "--dtype", dtype, "--range", f"{low},{high}"]
    report = qb_json(*options)
    assert abs(report["clamped_values"] - outside) <= max(2, 1e-4 * outside)
    said = qb(*options).stderr
    assert ("clamped" in said) == (outside > 0)
    if outside:
        assert f"{report['clamped_values']} of {values.size} values" in said


def test_hounsfield_beyond_float16(scan, tmp_path):
    """0.02 /mm with water of 1e-6 /mm is 2e7 HU; half floats end at 65504."""
    args = ["fbp", scan, *CENTER, "--hu", "1e-6"]
    qb(*args, "-o", tmp_path / "f.h5")
    values = read_h5(tmp_path / "f.h5")
    report = qb_json(*args, "-o", tmp_path / "h.h5", "--dtype", "float16")
    assert abs(report["clamped_values"] - (np.abs(values) >= 65520).sum()) <= 2 and report["clamped_values"] > 100
    assert np.isfinite(read_h5(tmp_path / "h.h5")).all()
    assert qb_json("fbp", scan, *CENTER, "-o", tmp_path / "h.h5", "--dtype", "float16")["clamped_values"] == 0
    said = qb("fbp", scan, *CENTER, "-o", tmp_path / "n.npy", "--dtype", "float16", "--outside", "nan").stderr
    gone = np.isnan(np.load(tmp_path / "n.npy")).sum()
    assert f"{gone} of " in said and "as --outside nan says" in said and "warning" not in said and gone > 0


@pytest.mark.parametrize("name", ["v", "v/part_%04d.tif"])
def test_old_slices_do_not_stay_among_new_ones(scan, tmp_path, name):
    out = tmp_path / name
    (tmp_path / "v").mkdir()
    qb("fbp", scan, *CENTER, "-o", out)
    before = {p.name: p.read_bytes() for p in (tmp_path / "v").iterdir()}
    said = fails(2, "fbp", scan, *CENTER, "--slices", "0:5", "-o", out, says=["7 images of an older series", "remove them"])
    assert "0 to 4" in said
    assert {p.name: p.read_bytes() for p in (tmp_path / "v").iterdir()} == before
    qb("fbp", scan, *CENTER, "--filter", "hann", "-o", out)  # all are replaced
    assert len(list((tmp_path / "v").iterdir())) == 12


def test_a_series_may_be_written_in_pieces(scan, tmp_path):
    qb("fbp", scan, *CENTER, "-o", f"{tmp_path}/whole/")
    for part in ("0:5", "5:9", "9:12"):
        qb("fbp", scan, *CENTER, "--slices", part, "-o", f"{tmp_path}/parts/")
    assert np.allclose(read_stack(tmp_path / "whole"), read_stack(tmp_path / "parts"), atol=1e-6)


@pytest.mark.parametrize("kind", ["h5", "mha", "npy", "tif", "raw"])
@pytest.mark.parametrize("dtype", ["uint16", "uint8"])
def test_compare_knows_what_integers_stand_for(scan, tmp_path, kind, dtype):
    a, b = tmp_path / "a.h5", tmp_path / f"b.{kind}"
    qb("fbp", scan, *CENTER, "-o", a)
    qb("fbp", scan, *CENTER, "-o", b, "--dtype", dtype, "--range", "-0.01,0.04")
    step = 0.05 / (65535 if dtype == "uint16" else 255)
    d = qb_json("compare", b, a)
    assert d["max_abs"] <= 0.51 * step and abs(d["slope"] - 1) < 0.01


def test_compare_leaves_counts_alone(tmp_path):
    data = np.arange(2 * 3 * 4, dtype=np.uint16).reshape(2, 3, 4)
    write_scan(tmp_path / "a.h5", data)
    write_scan(tmp_path / "b.h5", data + 5)
    assert qb_json("compare", tmp_path / "b.h5", tmp_path / "a.h5")["max_abs"] == 5


def test_warnings_come_once(tmp_path):
    """--center auto prepares the scan too, but need not say so twice."""
    rng = np.random.default_rng(3)
    angles = np.arange(90) * 2.0
    x = np.arange(64) - 33.0
    thickness = np.sqrt(np.maximum(0, 20 ** 2 - (x[None] - 6 * np.cos(np.deg2rad(angles))[:, None]) ** 2))
    counts = 20000 * np.exp(-0.03 * thickness)[:, None, :] * (1 + 0.2 * rng.random((90, 1, 1)))
    scan = write_scan(tmp_path / "s.h5", np.repeat(counts, 4, 1).astype(np.uint16), angles, pixel=0.1)
    said = qb("fbp", scan, "--center", "auto", "--air", "0:4,0:4", "-o", tmp_path / "v.h5").stderr
    warnings = [line for line in said.splitlines() if line.startswith("warning")]
    assert warnings and len(warnings) == len(set(warnings)), said
    assert "no flats" in said


@pytest.mark.parametrize("name", ["a" * 300 + ".h5", "a" * 250 + ".npy"])
def test_a_name_that_is_too_long_is_known_before_the_work(scan, tmp_path, name):
    """The second one for the notes beside it alone, NAME.npy.json."""
    for job in (["fbp", scan, *CENTER], ["simulate", "disc", "--detector", "16,1"]):
        fails(2, *job, "-o", tmp_path / name, says=["too long", "shorter"])
    assert not list(tmp_path.iterdir())
