# SPDX-License-Identifier: MIT
"""qb view of a scan: flats, darks and mask; windows of a quantity; a server that was started again."""
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from browser import CHROMIUM, Browser
from qbtest import QB, fails, qb
from viewing import READY, SETTLED, Server

pytestmark = pytest.mark.skipif(not (Path(QB).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")
VIEWS, ROWS, COLUMNS = 40, 6, 32


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """With a pixel that is stuck and one whose flat is no brighter than its dark."""
    path = tmp_path_factory.mktemp("scan") / "s.h5"
    qb("simulate", "disc", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "-o", path, "--photons", "1000")
    with h5py.File(path, "r+") as file:
        exchange = file["exchange"]
        exchange["data"][:, 2, 5] = 777
        exchange["data_white"][:, 4, 9] = exchange["data_dark"][:, 4, 9] = 3
        return path, exchange["data_white"][:].mean(0), exchange["data_dark"][:].mean(0)


def test_flats_darks_and_mask(scan):
    path, flat, dark = scan
    server = Server(path)
    try:
        told = json.loads(server.get("/info")[1])
        which = {f["name"]: f["which"] for f in told["fields"]}
        assert list(which) == ["flat", "dark", "mask"] and told["volumes"][0]["shape"] == [VIEWS, ROWS, COLUMNS]
        for name, image in (("flat", flat), ("dark", dark)):
            got = server.values(f"/plane?axis=0&index=7&first=0,0&count={ROWS},{COLUMNS}&step=1&volume={which[name]}").reshape(ROWS, COLUMNS)
            keep = np.ones_like(image, bool)
            keep[2, 5] = keep[4, 9] = False
            assert np.allclose(got[keep], image[keep], rtol=1e-5)
            got = server.values(f"/plane?axis=1&index=3&first=0,0&count={VIEWS},{COLUMNS}&step=1&volume={which[name]}").reshape(VIEWS, COLUMNS)
            assert np.allclose(got, np.tile(image[3], (VIEWS, 1)), rtol=1e-5)
            assert np.allclose(server.values(f"/line?from=0,300,0&to=0,300,{100 * (COLUMNS - 1)}&count={COLUMNS}&volume={which[name]}"), image[3], rtol=1e-5)
        mask = server.values(f"/plane?axis=0&index=0&first=0,0&count={ROWS},{COLUMNS}&step=1&volume={which['mask']}").reshape(ROWS, COLUMNS)
        wrong = np.zeros((ROWS, COLUMNS))
        wrong[2, 5], wrong[4, 9] = 2, 3  # stuck, dead
        assert np.array_equal(mask, wrong)
        assert server.values(f"/value?at=3,4,9&volume={which['mask']}").tolist() == [3]
        assert server.get("/value?at=3,4,9&volume=2")[0] == server.get("/value?at=3,4,9&volume=6")[0] == server.get("/value?at=3,4,99")[0] == 400
    finally:
        assert server.end() == 0


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_fields_in_a_browser(scan, tmp_path):
    path, flat, _ = scan
    server, browser = Server(path), Browser(tmp_path)
    try:
        browser.open(server.address)
        browser.until(READY)
        assert browser.run("Array.from(document.getElementById('which').children, b => b.textContent)") == ["Views", "Flat", "Dark", "Mask"]
        browser.run("document.querySelector('#which [data-which=\"3\"]').click()")
        browser.until(SETTLED)
        got = np.array(browser.run("Array.from(views[0].sharp.values)"), float).reshape(ROWS, COLUMNS)
        assert np.allclose(got[3], flat[3], rtol=1e-5)
        browser.run("document.querySelector('#which [data-which=\"5\"]').click()")
        browser.until(SETTLED)
        browser.run("(() => { const v = views[0], [y, x] = v.place(2, 5); v.under(x, y); })()")
        browser.until("document.getElementById('value').textContent.includes('stuck')")
        assert browser.run("document.getElementById('said').textContent") == "" and browser.errors == []
    finally:
        browser.close()
        assert server.end() == 0


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_windows_of_a_quantity(tmp_path):
    values = np.linspace(-1000, 2000, 3 * 20 * 30, dtype="f4").reshape(3, 20, 30)
    browser = Browser(tmp_path)
    try:
        for quantity, units, button, window in [("Hounsfield", "HU", "soft tissue", [-160, 240]), ("Hounsfield", "HU", "bone", [-500, 1300]),
                                                ("attenuation", "1/mm", "from 0", [0, 0.995 * 3000 - 1000])]:
            np.save(tmp_path / "v.npy", values)
            (tmp_path / "v.npy.json").write_text(json.dumps({"writer": "quickbeam", "quantity": quantity, "units": units, "voxel_mm": [0.1, 0.1, 0.2]}))
            server = Server(tmp_path / "v.npy")
            browser.open(server.address)
            browser.until(READY)
            browser.run(f"[...document.querySelectorAll('#presets button')].find(b => b.textContent === '{button}').click()")
            assert np.allclose(browser.run("[state.low, state.high]"), window, atol=5)
            assert server.end() == 0
    finally:
        browser.close()


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_a_server_that_was_started_again_goes_on_where_it_was(scan, tmp_path):
    """Its new address is pasted into the page, or opened in the same tab."""
    path, _, _ = scan
    browser, server = Browser(tmp_path), Server(path)
    try:
        browser.open(server.address)
        browser.until(READY)
        browser.run("go(0, 5); choose_volume(3)")
        browser.until("location.hash.includes('at=5')")
        for pasted in True, False:
            server.process.kill()
            server.process.wait()
            browser.run("go(0, state.at[0] + 1)")
            browser.until("document.getElementById('said').textContent.includes('does not answer')")
            server = Server(path, "--port", server.port)
            browser.until("!!document.getElementById('again')")
            if pasted:
                browser.run(f"(() => {{ const i = document.getElementById('again'); i.value = {json.dumps(server.address)}; i.dispatchEvent(new Event('input')); }})()")
            else:
                browser.run(f"location.href = {json.dumps(server.address)}; 0")
            browser.until("document.getElementById('said').textContent === ''")
            browser.until(SETTLED)
            assert browser.run("state.which") == 3
        assert browser.run("state.at[0]") == 7
        browser.until(f"location.hash.startsWith('#{server.token}&at=7')")
    finally:
        browser.close()
        assert server.end() == 0


def test_what_is_no_scan(scan, tmp_path):
    path, _, _ = scan
    qb("fbp", path, "--center", 15.5, "-o", tmp_path / "v.h5")
    for words in (["view", tmp_path / "v.h5", "--reconstruct"], ["fbp", tmp_path / "v.h5", "-o", tmp_path / "w.h5"]):
        said = fails(3, *words)
        assert "this is a volume (the file says attenuation), no scan" in said and "give --angles" not in said.splitlines()[-1]
    said = fails(3, "view", path, "--reconstruct", "--transpose", "rows,views,columns")
    assert f"--transpose rows,views,columns makes views of {VIEWS} x {COLUMNS} pixels, and flats are {ROWS} x {COLUMNS}: give another order" in said
