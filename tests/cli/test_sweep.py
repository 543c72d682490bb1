# SPDX-License-Identifier: MIT
"""--sweep OPTION=VALUES: a slice for each value, the same as a run with that value makes, with a table whose numbers are known."""
import json
import os

import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, read_png, read_tiff

CENTER = 50


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "foam.h5"
    qb("simulate", "foam", "--detector", "96,6", "--views", "150", "--photons", "20000", "--pixel-size", "1", "--center-offset", CENTER - 47.5, "-o", path)
    return path


@pytest.fixture(scope="module")
def cone(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "cone.h5"
    qb("simulate", "spheres", "--geometry", "cone", "--sod", "300", "--sdd", "500", "--pixel-size", "1", "--detector", "40,24", "--views", "60",
       "-o", path)
    return path


def numbers(image, zero=0.0):
    """Gradient over deviation, noise, positivity and mean within the ellipse, by their definitions."""
    ny, nx = image.shape
    y, x = np.mgrid[:ny, :nx]
    within = np.abs(x - (nx - 1) / 2) <= nx / 2 * np.sqrt(np.clip(1 - ((y - (ny - 1) / 2) / (ny / 2)) ** 2, 0, None))
    within[[0, -1]] = within[:, [0, -1]] = False
    v = image.astype(float) - zero
    gy, gx = np.gradient(v)
    mixed = np.abs(v[:-1, :-1] - v[:-1, 1:] - v[1:, :-1] + v[1:, 1:]) / 2
    return [np.sqrt((gx ** 2 + gy ** 2)[within].mean()) / v[within].std(), 1.4826 * np.median(mixed[within[:-1, :-1]]),
            abs(v[within].sum()) / np.abs(v[within]).sum(), v[within].mean() + zero]


def starred(said):
    return [line.split()[1] for line in said.splitlines() if line.startswith("* ")]


def test_the_axis_has_the_fewest_values_below_zero(scan, tmp_path):
    report = qb_json("fbp", scan, "-o", tmp_path / "s", "--sweep", f"center={CENTER - 4}:{CENTER + 4}:1")
    assert max(report["slices"], key=lambda row: row["positivity"])["value"] == report["axis"]["nearest"] == str(CENTER)
    assert starred(qb("fbp", scan, "-o", tmp_path / "s", "--center", f"{CENTER - 4}:{CENTER + 4}:1").stdout) == [str(CENTER)]
    assert sorted(os.listdir(tmp_path / "s")) == [f"center_{c:05d}.tif" for c in range(46, 55)] + ["contact_sheet.png"]


def test_the_axis_is_marked_where_slices_do_not_tell_it(tmp_path):
    """A cone and a full turn: slices four and more columns off have fewer values below zero. An axis outside the sweep is named, no value marked."""
    for verb, beam, middle in (("fdk", ["--geometry", "cone", "--sod", 300, "--sdd", 500], 63.5), ("fbp", ["--angles", "0:360"], 47.5)):
        qb("simulate", "baggage", *beam, "--detector", f"{2 * middle + 1:.0f},16", "--views", 120, "--pixel-size", 1, "--photons", 1000,
           "--center-offset", 2, "--seed", 3, "-o", "s.h5", cwd=tmp_path)
        sweep = [verb, "s.h5", *(beam[2:] if verb == "fdk" else []), "-o", "s", "--slices", "8:9", "--center"]
        assert starred(qb(*sweep, f"{middle - 4}:{middle + 6}:2", cwd=tmp_path).stdout) == [f"{middle + 2:g}"]
        outside = qb(*sweep, f"{middle - 4}:{middle}:4", cwd=tmp_path).stdout
        assert not starred(outside) and float(outside.split("finds column ")[1].split(",")[0]) == pytest.approx(middle + 2, abs=0.5)


@pytest.mark.parametrize("more, zero", [([], 0), (["--hu", "0.02"], -1000)])
def test_the_table_is_of_the_files(scan, tmp_path, more, zero):
    report = qb_json("fbp", scan, "-o", tmp_path / "s", "--center", "auto", "--sweep", "filter=hann:{0.4:1:0.3}", *more)
    assert [row["value"] for row in report["slices"]] == ["hann:0.4", "hann:0.7", "hann:1.0"]
    for row in report["slices"]:
        want = numbers(np.squeeze(read_tiff(row["file"])), zero)
        np.testing.assert_allclose([row[k] for k in ("sharpness", "noise", "positivity", "mean")], want, rtol=1e-5)
    assert report["slices"][0]["noise"] < report["slices"][2]["noise"] and report["slices"][0]["sharpness"] < report["slices"][2]["sharpness"]


CASES = [("fbp", "rings=sort,wavelet", ["--center", CENTER]), ("fbp", "tilt=-1,0.5", ["--center", CENTER]), ("fbp", "zingers=4:6:2", ["--center", CENTER]),
         ("fbp", "paganin={1.5:2:0.5}px", ["--center", CENTER]),
         ("mbir", "snr-db=25:35:10", ["--center", CENTER, "--equits", 2]),
         ("tv", "lambda=0.01,0.1", ["--center", CENTER, "--iterations", 20]), ("sirt", "iterations=3:6:3", ["--center", CENTER])]


@pytest.mark.parametrize("verb, asked, more", CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_a_slice_is_what_a_run_makes(scan, tmp_path, verb, asked, more):
    """The middle slice of six, number 3; a method without --slices makes a volume of that slice alone."""
    one = ["--slices", "3:4"] if verb in ("fbp", "mbir") else ["--size", "96,96,1", "--offset", "0,0,0.5"]
    report = qb_json(verb, scan, "-o", tmp_path / "s", "--sweep", asked, *more)
    name = asked.split("=")[0]
    assert report["kind"] == "sweep" and report["option"] == name and len(report["slices"]) == 2
    for row in report["slices"]:
        qb(verb, scan, "-o", tmp_path / "one.h5", f"--{name}", row["value"], *more, *one)
        assert (np.squeeze(read_tiff(row["file"])) == np.squeeze(read_h5(tmp_path / "one.h5"))).all(), row["value"]


def test_cones_too(cone, tmp_path):
    """fdk makes the slice alone; an iterative method needs the whole volume, whose middle slice is taken."""
    for verb, asked, more, one in (("fdk", "sod=280:320:20", ["--sdd", 500], ["--slices", "12:13"]),
                                   ("fdk", "detector-offset={-1:1:2},0", ["--sod", 300, "--sdd", 500], ["--slices", "12:13"]),
                                   ("cgls", "iterations=2:4:2", ["--sod", 300, "--sdd", 500], [])):
        report, name = qb_json(verb, cone, "-o", tmp_path / "s", "--sweep", asked, *more), asked.split("=")[0]
        for row in report["slices"]:
            qb(verb, cone, "-o", tmp_path / "one.h5", f"--{name}", row["value"], *more, *one)
            volume = read_h5(tmp_path / "one.h5")
            assert (np.squeeze(read_tiff(row["file"])) == volume[len(volume) // 2]).all(), (asked, row["value"])
            (tmp_path / row["file"]).unlink()


def test_what_all_values_warn_of_is_said_once(scan, tmp_path):
    axis = ["--center", CENTER]
    said = qb("fbp", scan, "-o", tmp_path / "s", "--sweep", "filter=ramp,hann", *axis, "--views", "0:100")
    assert said.stderr.count("[limited-angle]") == said.stderr.count("warning:") == 1
    report = qb_json("fbp", scan, "-o", tmp_path / "s", "--sweep", "views=0:150,0:100", *axis)
    assert report["warnings"] == [] and report["slices"][0]["warnings"] == [] and "[limited-angle]" in report["slices"][1]["warnings"][0]


def test_a_plan_says_how_many(scan, tmp_path):
    plan = ["plan", "fbp", scan, "-o", tmp_path / "s", "--center", CENTER, "--sweep", "zingers=4:8:1"]
    assert "5 jobs like this, --zingers 4 to 8" in qb(*plan).stdout
    assert qb_json(*plan)["sweep"] == {"option": "zingers", "values": ["4", "5", "6", "7", "8"]}
    assert not (tmp_path / "s").exists()


def test_labels_are_of_a_font(scan, tmp_path):
    """With a font grey edges, without one dots: both say which slice it is."""
    sheets = []
    for font in ("", "/none"):
        qb("fbp", scan, "-o", tmp_path / "s", "--sweep", "center=49,50", env={**os.environ, "QB_FONT": font})
        sheets.append(read_png(tmp_path / "s" / "contact_sheet.png")[8:30, 8:200])
    assert len(np.unique(sheets[1])) == 2 and (sheets[1] == 0).sum() > 100
    if "letters of pictures: built in" in qb("--version").stdout and any(map(os.path.exists, ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",))):
        assert len(np.unique(sheets[0])) > 10 and (sheets[0] < 80).sum() > 60


@pytest.mark.parametrize("words, asked", [
    ("OPTION=A:B:STEP", "center"), ("no option --centre", "centre=1:2:1"), ("changes no slice", "output=a,b"), ("A <= B", "center=5:4:1"),
    ("at most 1000 values", "center=0:90:0.01"), ("is not closed", "filter=hann:{0.2:1:0.2"), ("is empty", "rings=sort,,all"), ("--zingers", "zingers=1,x"),
    ("changes no slice", "slices=0:1"), ("changes no slice", "device=cpu,opencl"), ("changes no slice", "compress=gzip,none"), ("give --size", "size=80,90"), ("at most", "center=0:9:0")])
def test_refused(scan, tmp_path, words, asked):
    assert words in fails(2, "fbp", scan, "-o", tmp_path / "s", "--sweep", asked)
    assert not list(tmp_path.iterdir())


def test_refused_with_others(scan, tmp_path):
    job = ["fbp", scan, "--sweep", "center=49,50"]
    assert "contact sheet" in fails(2, *job, "-o", tmp_path / "s", "--preview", tmp_path / "p.png")
    assert "contact sheet" in fails(2, *job, "-o", tmp_path / "s", "--report", tmp_path / "p.html")
    assert "looks like a file" in fails(2, *job, "-o", tmp_path / "s.h5")
    assert "two sweeps" in fails(2, *job, "-o", tmp_path / "s", "--center", "1:2:1")
    assert not list(tmp_path.iterdir())


def test_a_file_says_its_value(scan, tmp_path):
    report = qb_json("fbp", scan, "-o", tmp_path / "s", "--sweep", "center=49,50", "--dtype", "uint16")
    told = json.loads((tmp_path / "s" / "center_00049.tif.json").read_text()) if (tmp_path / "s" / "center_00049.tif.json").exists() else None
    text = json.dumps(told) if told else (tmp_path / "s" / "center_00049.tif").read_bytes().decode("latin-1")
    assert '"center"' in text and "--sweep center=49,50" in text and len(report["slices"]) == 2


def test_what_all_values_share_is_made_once(scan, tmp_path):
    """The scan is opened once and its axis looked for once, which the first job finds as a run alone does."""
    found = qb_json("center", scan)["column"]
    qb_json("fbp", scan, "-o", tmp_path / "sw", "--sweep", "filter=hann:{0.4:0.8:0.2}")
    for cut in "0.4", "0.6", "0.8":
        name = next((tmp_path / "sw").glob(f"filter_*{cut}.tif"))
        qb("fbp", scan, "--center", found, "--slices", "3:4", "--filter", f"hann:{cut}", "-o", tmp_path / "one.h5")
        one, many = read_h5(tmp_path / "one.h5")[0], read_tiff(name)
        assert np.abs(np.squeeze(many) - one).max() < 1e-4 * np.abs(one).max()


def test_filters_of_the_output(scan, tmp_path):
    """--denoise and --clip hold for the slices of a sweep, and may be its option."""
    job = ["fbp", scan, "--center", 49, "--device", "cpu"]
    qb(*job, "--denoise", "median:5", "--clip", "0,0.02", "-o", tmp_path / "v.npy")
    volume = np.load(tmp_path / "v.npy")
    want = volume[len(volume) // 2]
    qb(*job, "--denoise", "median:5", "--clip", "0,0.02", "--sweep", "center=49,50", "-o", tmp_path / "a")
    np.testing.assert_allclose(np.squeeze(read_tiff(tmp_path / "a" / "center_00049.tif")), want, rtol=0, atol=1e-6)
    qb(*job, "--denoise", "gaussian:2", "--clip", "0,0.02", "--sweep", "denoise=median:3,median:5", "-o", tmp_path / "b")
    np.testing.assert_allclose(np.squeeze(read_tiff(tmp_path / "b" / "denoise_median-5.tif")), want, rtol=0, atol=1e-6)
