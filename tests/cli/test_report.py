# SPDX-License-Identifier: MIT
"""--report: one page whose data are those of the run, which fetches nothing; and, where there is a Chromium, shows them."""
import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from qbtest import fails, qb

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    qb("simulate", "foam", "--detector", "60,20", "--views", "90", "--photons", "20000", "--pixel-size", "0.1", "-o", folder / "foam.h5")
    qb("fbp", folder / "foam.h5", "-o", folder / "v.npy", "--views", "0:80", "--center", "29.5", "--report", folder / "r.html")
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
    titles = [image["title"] for image in data["scans"]]
    assert titles == ["view 40 as stored", "view 40 as line integrals", "mean flat", "sinogram of row 10, all views, as stored"]
    lines = values(data["scans"][1])
    assert np.nanmax(lines) == pytest.approx(-np.log(np.nanmin(values(data["scans"][0]) / values(data["scans"][2]))), rel=0.05)
    assert "<svg" in data["drawing"] and len(text) < 500000


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


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_a_browser_shows_all_of_it(page, tmp_path):
    run = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=5000",
                          f"--user-data-dir={tmp_path}/profile", "--dump-dom", f"file://{page}"], capture_output=True, text=True, timeout=180)
    assert "CONSOLE" not in run.stderr
    for heading in ("Repeat it", "Warnings (1)", "Scan and volume", "Geometry", "Slices", "Histogram", "Projections", "Time of each stage"):
        assert f"<h2>{heading}</h2>" in run.stdout, heading
    assert len(re.findall("<canvas ", run.stdout)) == 7 and "window" in run.stdout and "NaN" not in re.sub("<script.*?</script>", "", run.stdout, flags=re.S)
