# SPDX-License-Identifier: MIT
"""--report: one page whose data are those of the run, which fetches nothing; and, where there is a Chromium, shows them."""
import base64
import json
import re
import shutil
import subprocess

import h5py
import numpy as np
import pytest

from qbtest import fails, qb

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    qb("simulate", "foam", "--detector", "60,20", "--views", "90", "--photons", "20000", "--pixel-size", "0.1", "-o", folder / "foam.h5")
    with h5py.File(folder / "foam.h5", "r+") as f:
        f["/exchange/data"][40, 3, 12] = 60000
    qb("fbp", folder / "foam.h5", "-o", folder / "v.npy", "--views", "0:80", "--center", "29.5", "--zingers", "5", "--rings", "all", "--report", folder / "r.html")
    return folder / "r.html"


def data_of(path):
    text = path.read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1]), text


def values(image):
    raw = np.frombuffer(base64.b64decode(image["data"]), "<u2").reshape(image["high"], image["wide"]).astype(float)
    raw[raw == 65535] = np.nan
    return image["low"] + raw / 65534 * (image["high_value"] - image["low"])


def test_the_page_has_what_was_done(page):
    data, text = data_of(page)
    volume = np.load(page.with_name("v.npy"))
    for image, slice_ in zip(data["slices"], (volume[10], volume[:, 30], volume[:, :, 30])):
        np.testing.assert_allclose(values(image), slice_, atol=(image["high_value"] - image["low"]) / 65534)
    assert [image["mm"] for image in data["slices"]] == pytest.approx([0.1] * 3)
    assert sum(data["histogram"]["counts"]) == pytest.approx(volume.size, rel=0.01)
    assert data["report"]["output"].endswith("v.npy") and data["plan"]["verb"] == "fbp" and "--report" in data["command"]
    assert [re.search(r"\[(.*)\]$", w)[1] for w in data["warnings"]] == ["angle-gap"]  # 20 degrees are missing
    assert "<svg" in data["drawing"] and len(text) < 800000 and data["page_seconds"] > 0
    assert list(data["codes"]) == ["angle-gap"] and len(data["codes"]["angle-gap"]) > 60


def test_a_picture_behind_each_step(page):
    """Stored numbers, the flat and the line integrals fit together; a step's picture is what qb convert makes with it."""
    data, _ = data_of(page)
    assert [image["title"] for image in data["fields"]] == ["mean flat", "mean dark"] and data["mask"]["words"] == ""
    assert [step["name"] for step in data["steps"]] == ["as stored", "line integrals", "zingers", "rings"]
    assert [image["title"] for image in data["steps"][2]["images"]] == ["view 40", "sinogram of row 10"]
    flat, dark = (values(image) for image in data["fields"])
    stored = values(data["steps"][0]["images"][0])
    lines = values(data["steps"][1]["images"][0])
    np.testing.assert_allclose(lines, -np.log((stored - dark) / (flat - dark)), atol=2e-3)
    for step, more in zip(data["steps"][1:], ([], ["--zingers", "5"], ["--zingers", "5", "--rings", "all"])):
        qb("convert", page.with_name("foam.h5"), "-o", page.with_name("l.npy"), "--views", "0:80", *more)
        want = np.load(page.with_name("l.npy"))
        for image, part in zip(step["images"], (want[40], want[:, 10])):
            np.testing.assert_allclose(values(image), part, atol=(image["high_value"] - image["low"]) / 65534)
    assert np.argwhere(abs(values(data["steps"][2]["images"][0]) - lines) > 0.1).tolist() == [[3, 12]]  # the zinger


def test_the_curve_of_the_axis_and_the_sums(tmp_path):
    """A full turn of a disc off the middle: opposite rays agree at the axis that was simulated, and all views see the same."""
    for geometry, verb in (([], "fbp"), (["--geometry", "cone", "--sod", "300", "--sdd", "500", "--detector-offset", "4px,0"], "fdk")):
        offset = ["--center-offset", "4"] if verb == "fbp" else []
        axis = 31.5 + (4 if verb == "fbp" else -4)
        qb("simulate", "shepp-logan", "--detector", "64,32", "--views", "180", "--angles", "0:360", "--pixel-size", "0.5", "--size", "50,50,32", *geometry, *offset,
           "-o", tmp_path / "s.h5")
        qb(verb, tmp_path / "s.h5", "-o", tmp_path / "v.npy", *geometry[2:], *(["--center", str(axis)] if verb == "fbp" else []),
           "--report", tmp_path / "r.html")
        data, _ = data_of(tmp_path / "r.html")
        curve = data["axis"]
        assert curve["used"] == pytest.approx(axis) and curve["cone"] == (verb == "fdk")
        assert curve["column"][int(np.argmin(curve["mismatch"]))] == pytest.approx(axis, abs=0.3)
        assert min(curve["mismatch"]) < 0.1 < max(curve["mismatch"])
        assert data["sums"]["swing"] < 0.01 and len(data["sums"]["sum"]) == 180


def test_half_acquisition_is_drawn_where_it_is(tmp_path):
    """The detector's ends lie 88 columns left and 39 columns right of the axis, and the volume is 176 pixels wide. Columns without a
    signal do not set the grey levels, and a view of few rows is high enough to be seen."""
    qb("simulate", "foam", "--detector", "128,2", "--views", "200", "--angles", "0:360", "--center-offset", "24", "--pixel-size", "1", "--photons", "5000",
       "--faults", "dead=2", "-o", tmp_path / "s.h5")
    qb("fbp", tmp_path / "s.h5", "--center", "87.5", "--rings", "dead", "-o", tmp_path / "v.npy", "--report", tmp_path / "r.html")
    data, text = data_of(tmp_path / "r.html")
    first = re.search(r'class="D" d="M([\d.]+) [\d.]+L([\d.]+)', data["drawing"])
    volume = re.search(r'class="v" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', data["drawing"])
    left, right, edge, wide = (float(x) for x in (*first.groups(), *volume.groups()))
    assert (right - left) / wide == pytest.approx(128 / 176, abs=0.02)
    assert (edge + wide / 2 - left) / (right - left) == pytest.approx(88 / 128, abs=0.02)
    assert data["steps"][1]["images"][0]["window"][1] < 5 < data["steps"][1]["images"][0]["high_value"]
    assert data["report"]["preparation"]["rings"].startswith("dead") and "min-height: 64px" in text


def test_a_mask_is_shown_by_kind(tmp_path):
    qb("simulate", "disc", "--detector", "40,16", "--views", "30", "--photons", "5000", "-o", tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r+") as f:
        f["/exchange/data_white"][:, 5, 7] = f["/exchange/data_dark"][0, 5, 7]  # dead in the flats
        f["/exchange/data"][:, 2, 30:32] = 1234  # stuck
    qb("fbp", tmp_path / "s.h5", "-o", tmp_path / "v.npy", "--center", "19.5", "--report", tmp_path / "r.html")
    data, _ = data_of(tmp_path / "r.html")
    assert data["mask"]["dead"] == 1 and data["mask"]["stuck"] == 2 and data["mask"]["pixels"] == 640
    picture = values(data["fields"][-1])
    assert data["fields"][-1]["kinds"] and np.argwhere(picture > 0).tolist() == [[2, 30], [2, 31], [5, 7]]


def test_movements_of_views_are_a_step_and_curves(page, tmp_path):
    """Before it the line integrals as they were; behind it those that qb convert makes; curves are the file."""
    moved = np.random.default_rng(1).uniform(-2, 2, (90, 3))
    np.savetxt(tmp_path / "moved.txt", moved)
    scan, how = page.with_name("foam.h5"), ["--shifts", tmp_path / "moved.txt"]
    qb("fbp", scan, *how, "--center", "29.5", "-o", tmp_path / "v.npy", "--report", tmp_path / "r.html")
    qb("convert", scan, *how, "-o", tmp_path / "lines.npy")
    data, _ = data_of(tmp_path / "r.html")
    np.testing.assert_allclose(data["moved"], moved.T, rtol=1e-9)
    assert [step["name"] for step in data["steps"]] == ["as stored", "line integrals", "shifts and turns of views"]
    before, after = (step["images"][0] for step in data["steps"][1:])
    lines = np.load(tmp_path / "lines.npy")[45]
    near = 2 * (after["high_value"] - after["low"]) / 65534
    np.testing.assert_allclose(values(after), np.where(np.isnan(values(after)), np.nan, lines), atol=near)
    assert np.nanmax(abs(values(before) - values(after))) > 0.05


def test_nothing_is_fetched(page):
    _, text = data_of(page)
    assert set(re.findall(r"https?://[^\s\"'<\\]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|iframe|img|script[^>]+src)", text)


def test_a_cone_and_names_that_would_end_the_script(tmp_path):
    scan = tmp_path / "a<!--<script>b.h5"
    qb("simulate", "ball", "--geometry", "cone", "--sod", "300", "--sdd", "500", "--detector", "40,32", "--pixel-size", "0.5", "--views", "60",
       "-o", scan)
    qb("fdk", scan, "--sod", "300", "--sdd", "500", "-o", tmp_path / "v.h5", "--dtype", "uint16", "--range", "0,0.03", "--report", tmp_path / "r.html")
    data, _ = data_of(tmp_path / "r.html")
    assert data["plan"]["input"] == str(scan) and len(data["slices"]) == 3
    assert values(data["slices"][0])[16:24, 16:24].mean() == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize("words, file", [("there is no folder", "none/r.html"), ("ends in .html", "r.txt"), ("is a folder", "folder.html")])
def test_refused_before_any_work(page, tmp_path, words, file):
    (tmp_path / "folder.html").mkdir()
    assert words in fails(3 if "no folder" in words else 2, "fbp", page.with_name("foam.h5"), "-o", tmp_path / "v.npy",
                          "--report", tmp_path / file)
    assert not (tmp_path / "v.npy").exists()


PROBE = """<script>
addEventListener("load", () => setTimeout(() => {
  const shown = [...document.querySelectorAll("canvas, svg")].filter(e => { const b = e.getBoundingClientRect(); return b.width > 20 && b.height > 10; }).length;
  const blank = [...document.querySelectorAll("canvas")].filter(c => new Set(c.getContext("2d").getImageData(0, 0, c.width, c.height).data).size < 3).length;
  document.body.dataset.probe = JSON.stringify({ shown, blank, all: document.querySelectorAll("canvas, svg").length, wide: document.documentElement.scrollWidth, window: innerWidth });
}, 500));
</script>"""


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
@pytest.mark.parametrize("size", ["1280,900", "500,900"])
def test_a_browser_shows_all_of_it(page, tmp_path, size):
    """No script error, every picture visible and not of one grey, and nothing wider than the window, also on a phone."""
    (tmp_path / "p.html").write_text(page.read_text() + PROBE)
    run = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000",
                          f"--window-size={size}", f"--user-data-dir={tmp_path}/profile", "--dump-dom", f"file://{tmp_path}/p.html"],
                         capture_output=True, text=True, timeout=180)
    assert "CONSOLE" not in run.stderr
    for heading in ("Repeat it", "Warnings (1)", "Scan and volume", "Geometry", "Slices", "Histogram", "Flats and mask", "Projections",
                    "Preparation", "Axis and consistency", "Time and memory"):
        assert re.search(rf"<h2[^>]*>{re.escape(heading)}</h2>", run.stdout), heading
    told = json.loads(re.search(r'data-probe="([^"]*)"', run.stdout)[1].replace("&quot;", '"'))
    assert told["shown"] == told["all"] >= 3 + 2 + 8 + 4 and told["blank"] == 0 and told["wide"] <= told["window"]
    assert "NaN" not in re.sub("<script.*?</script>", "", run.stdout, flags=re.S)
