# SPDX-License-Identifier: MIT
"""qb view: planes in any direction are the linear interpolation of the voxels."""
import json
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from qbtest import QB, qb
from viewing import READY, SETTLED, Server

pytestmark = pytest.mark.skipif(not (Path(QB).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")
SHAPE = (24, 40, 56)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A value that is linear in z, y and x, which interpolation leaves as it is."""
    path = tmp_path_factory.mktemp("oblique") / "v.npy"
    z, y, x = np.indices(SHAPE)
    np.save(path, (1 + 0.5 * z - 0.25 * y + 0.125 * x).astype("f4"))
    path.with_suffix(".npy.json").write_text(json.dumps({"writer": "quickbeam", "quantity": "attenuation", "units": "1/mm", "voxel_mm": [0.1, 0.1, 0.2]}))
    made = Server(path)
    yield made
    assert made.end() == 0


def words(v):
    return ",".join(f"{x:.9g}" for x in v)


def wanted(at, down, right, count):
    i, j = np.indices(count)
    place = [at[k] + i * down[k] + j * right[k] for k in range(3)]
    inside = np.all([(p >= -0.5) & (p <= n - 0.5) for p, n in zip(place, SHAPE)], axis=0)
    z, y, x = (np.clip(p, 0, n - 1) for p, n in zip(place, SHAPE))
    return np.where(inside, 1 + 0.5 * z - 0.25 * y + 0.125 * x, np.nan)


@pytest.mark.parametrize("at, down, right, count", [
    ((3, 4, 5), (0.3, 0.2, 0.1), (0, 0.4, 0.5), (20, 30)), ((-5, -5, -5), (0.5, 0.7, 0.1), (0.1, -0.2, 0.9), (60, 70)), ((12, 20, 28), (0, 0, 0), (0, 0, 0), (3, 3)),
    ((23.4, 39.4, 55.4), (-1, 0, 0), (0, 0, -1), (24, 56)), ((0, 0, 0), (1e6, 0, 0), (0, 1e6, 0), (3, 3))])
def test_planes(server, at, down, right, count):
    got = server.values(f"/oblique?at={words(at)}&down={words(down)}&right={words(right)}&count={count[0]},{count[1]}").reshape(count)
    assert np.allclose(got, wanted(at, down, right, count), rtol=1e-5, equal_nan=True)


@pytest.mark.parametrize("query", ["", "at=1,2,3", "at=1,2,3&down=1,0,0&right=0,1,0&count=5000,1", "at=1,2,3&down=1,0,0&right=0,1,0&count=0,1", "at=1,2,nan&down=1,0,0&right=0,1,0&count=2,2",
                                   "at=1,2,3&down=1,0,1e99&right=0,1,0&count=2,2", "at=1,2,3&down=1,0&right=0,1,0&count=2,2", "at=1,2,3&down=1,0,0&right=0,1,0&count=2,2&volume=1"])
def test_planes_that_make_no_sense(server, query):
    assert server.get(f"/oblique?{query}")[0] == 400


CONE = ["--sod", 300, "--sdd", 500, "--pixel-size", 0.5]
SCANS = {"half a turn": ("fbp", ["--center", 31.5]), "axis to one side": ("fbp", ["--center", 20, "--angles", "0:360"]), "hann": ("fbp", ["--center", 31.5, "--filter", "hann:0.5"]),
         "leaning": ("fbp", ["--center", 31.5, "--tilt", 3]), "cone": ("fdk", CONE[:4]), "leaning cone": ("fdk", [*CONE[:4], "--tilt", "3,2,0", "--filter", "hann:0.5"]),
         "cone to one side": ("fdk", [*CONE[:4], "--detector-offset", "4,1"])}


@pytest.mark.parametrize("name", SCANS)
def test_computed_from_a_scan(tmp_path, name):
    """Where points are voxels, they are those of the volume; where they are not, about what lies between."""
    verb, more = SCANS[name]
    qb("simulate", "foam", "-o", tmp_path / "s.h5", "--views", 90, "--detector", "64,20", "--photons", 20000, *(["--geometry", "cone", *CONE] if verb == "fdk" else []))
    qb(verb, tmp_path / "s.h5", *more, "-o", tmp_path / "v.npy")
    volume = np.load(tmp_path / "v.npy")
    made = Server(tmp_path / "s.h5", "--reconstruct", *more, "--device", "cpu")
    try:
        assert json.loads(made.get("/info")[1])["volumes"][0]["reconstruct"]["oblique"]
        n = volume.shape[1]
        got = made.values(f"/oblique?at=2,0,0&down=1,0,0&right=0,1,1&count=15,{n}").reshape(15, n)
        assert np.abs(got - volume[2:17, np.arange(n), np.arange(n)]).max() < 2e-4 * np.abs(volume).max()
        got = made.values(f"/oblique?at=0.5,3,0&down=1,0,0&right=0,0,1&count=19,{n}").reshape(19, n)
        far = np.abs(got - 0.5 * (volume[:-1, 3] + volume[1:, 3])).max() / np.abs(volume).max()
        assert far < (2e-4 if verb == "fbp" else 0.1)  # values of cones are no straight lines between slices
        got = made.values("/oblique?at=-3,-3,-3&down=1,0,0&right=0,1,1&count=4,4").reshape(4, 4)
        assert np.isnan(got[:3]).all() and np.isnan(got[:, :3]).all() and np.isfinite(got[3, 3])
        assert made.get("/oblique?at=2,0,0&down=1,0,0&right=0,1,1&count=15,5000")[0] == 400
        changed = made.values(f"/oblique?at=2,0,0&down=1,0,0&right=0,1,1&count=15,{n}&filter=cosine").reshape(15, n)
        assert np.abs(changed - volume[2:17, np.arange(n), np.arange(n)]).max() > 1e-2 * np.abs(volume).max()
    finally:
        assert made.end() == 0


@pytest.mark.parametrize("verb", ["fbp", "fdk"])
def test_computed_from_binned_pixels(tmp_path, verb):
    """Of large scans, as drafts are."""
    cone = ["--sod", 3000, "--sdd", 5000, "--pixel-size", 0.5]
    scan, more = (["--center-offset", 7], ["--center", 307.5]) if verb == "fbp" else (["--geometry", "cone", *cone], cone[:4])
    qb("simulate", "foam", "-o", tmp_path / "s.h5", "--views", 200, "--detector", "602,8", *scan)
    qb(verb, tmp_path / "s.h5", *more, "-o", tmp_path / "v.npy")
    volume, made = np.load(tmp_path / "v.npy"), Server(tmp_path / "s.h5", "--reconstruct", *more, "--device", "cpu")
    try:
        n = 300
        got = made.values(f"/oblique?at=1,0.5,2.5&down=0.02,2,0&right=0,0,2&count={n},{n - 1}").reshape(n, n - 1)
        z = np.clip(np.round(1 + 0.02 * np.arange(n)), 0, 7).astype(int)
        y, x = 2 * np.arange(n), 2 * np.arange(n - 1) + 2
        near = 0.25 * sum(volume[z[:, None], y[:, None] + a, x[None] + b] for a in (0, 1) for b in (0, 1))
        assert np.corrcoef(got.ravel(), near.ravel())[0, 1] > 0.97
        shifted = np.roll(near, 2, axis=1)
        assert np.corrcoef(got.ravel(), shifted.ravel())[0, 1] < np.corrcoef(got.ravel(), near.ravel())[0, 1] - 0.01
    finally:
        assert made.end() == 0


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_in_a_browser(server, tmp_path):
    browser = Browser(tmp_path)
    try:
        browser.open(server.address)
        browser.until(READY)
        browser.press("o", 79, "o")
        browser.until("views.length === 4")
        browser.until(SETTLED)
        part = browser.run("(() => { const p = views[3].sharp; return { at: p.at, down: p.down, right: p.right, n: p.n, values: Array.from(p.values, v => v === v ? v : null) }; })()")
        got = np.array(part["values"], float).reshape(part["n"], part["n"])
        assert np.allclose(got, wanted(part["at"], part["down"], part["right"], (part["n"], part["n"])), rtol=1e-4, atol=1e-4, equal_nan=True) and np.isfinite(got).any()
        unit = np.array([0.2, 0.1, 0.1])
        down, right = np.array(part["down"]) * unit, np.array(part["right"]) * unit
        assert abs(down @ right) < 1e-6 and np.linalg.norm(down) == pytest.approx(np.linalg.norm(right), rel=1e-4)
        assert right[1] / right[2] == pytest.approx(np.tan(np.radians(30)), rel=1e-4) and down[0] / np.linalg.norm(down) == pytest.approx(np.sin(np.radians(60)), rel=1e-4)
        browser.run("go(0, 3)")  # the plane follows the crosshair
        browser.until(f"{SETTLED} && Math.abs(views[3].sharp.at[0] - {part['at'][0]} + 9) < 1e-6")
        browser.until("location.hash.includes('oblique=30,60')")
        browser.open(browser.run("location.href"))
        browser.until(READY)
        browser.until(f"views.length === 4 && {SETTLED}")
        browser.run("document.getElementById('csv'); views[3].canvas.focus(); current() === views[3]") and browser.run("save_png(); save_csv()")
        browser.press("Enter", 13)
        assert browser.run("document.getElementById('main').dataset.only") == "3"
        browser.press("o", 79, "o")
        assert browser.run("views.length") == 3 and browser.run("document.getElementById('said').textContent") == "" and browser.errors == []
    finally:
        browser.close()
