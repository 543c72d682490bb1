# SPDX-License-Identifier: MIT
"""qb live: a scan that grows while it is looked at, from a folder of TIFFs and from an HDF5 file."""
import json
import os
import struct
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from browser import CHROMIUM, Browser
from qbtest import PATIENCE, QB, fails, qb
from viewing import READY, Server

pytestmark = pytest.mark.skipif(not (Path(QB).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")
VIEWS, ROWS, COLUMNS = 40, 6, 48


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """A scan as arrays of counts, and its volume."""
    folder = tmp_path_factory.mktemp("live")
    qb("simulate", "foam", "-o", folder / "s.h5", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--photons", 50000, "--pixel-size", 0.5)
    qb("fbp", folder / "s.h5", "-o", folder / "v.npy", "--center", 23.5)
    with h5py.File(folder / "s.h5") as file:
        exchange = file["exchange"]
        return {name: exchange[name][:] for name in ("data", "data_white", "data_dark")}, np.load(folder / "v.npy"), folder / "s.h5"


def put(path, image):
    """A whole 16-bit TIFF of one strip, as detectors write: under another name first."""
    rows, columns = image.shape
    entries = [(256, 4, columns), (257, 4, rows), (258, 3, 16), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 4, rows), (279, 4, 2 * image.size)]
    words = struct.pack("<2sHI", b"II", 42, 8 + 2 * image.size) + image.astype("<u2").tobytes() + struct.pack("<H", len(entries))
    words += b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries) + struct.pack("<I", 0)
    path.with_suffix(".part").write_bytes(words)
    os.rename(path.with_suffix(".part"), path)


@pytest.fixture
def folder(scan, tmp_path):
    arrays, _, _ = scan
    for name in ("frames", "flats", "darks"):
        (tmp_path / name).mkdir()
    for name, key in (("flats", "data_white"), ("darks", "data_dark")):
        for k, image in enumerate(arrays[key]):
            put(tmp_path / name / f"f_{k:03d}.tif", image)
    return tmp_path


def live(folder, *more, **how):
    return Server(folder / "frames", "--angles", f"0:180:{VIEWS}", "--pixel-size", "0.5", "--flats", folder / "flats", "--darks", folder / "darks", *more, verb="live", **how)


def told(server, **wanted):
    """What /live says, once it says what is wanted."""
    end = time.monotonic() + 120
    while True:
        now = json.loads(server.get("/live")[1])
        if all(now[k] == v for k, v in wanted.items()):
            return now
        assert time.monotonic() < end, (now, wanted)
        time.sleep(0.05)


def middle(server, axis=0, index=3):
    shape = [n for k, n in enumerate((ROWS, COLUMNS, COLUMNS)) if k != axis]
    return server.values(f"/plane?axis={axis}&index={index}&first=0,0&count={shape[0]},{shape[1]}&step=1").reshape(shape)


def test_a_folder_that_grows(scan, folder):
    arrays, volume, _ = scan
    for k in range(10):
        put(folder / "frames" / f"p_{k + 5:04d}.tif", arrays["data"][k])
    server = live(folder)
    try:
        first = told(server, seen=10)
        assert first["expected"] == VIEWS and first["dropped"] == first["late"] == 0 and first["age"] < PATIENCE
        early = middle(server)
        assert np.isfinite(early).all() and np.corrcoef(early.ravel(), volume[3].ravel())[0, 1] < 0.95
        for k in (11, 12):  # view 10 is late
            put(folder / "frames" / f"p_{k + 5:04d}.tif", arrays["data"][k])
        assert told(server, seen=12)["dropped"] == 1
        assert np.isfinite(middle(server)).all()  # with a view that is missing
        put(folder / "frames" / "p_0015.tif", arrays["data"][10])
        told(server, seen=13, dropped=0, late=1)
        (folder / "frames" / "notes.txt").write_text("no image")
        (folder / "frames" / f"p_{13 + 5:04d}.tif").write_bytes(b"II*\0 not yet whole")
        for k in range(14, VIEWS):
            put(folder / "frames" / f"p_{k + 5:04d}.tif", arrays["data"][k])
        told(server, seen=VIEWS - 1)
        put(folder / "frames" / f"p_{13 + 5:04d}.tif", arrays["data"][13])
        told(server, seen=VIEWS, dropped=0)
        for axis in range(3):
            whole = middle(server, axis)
            assert np.allclose(whole, np.take(volume, 3, axis), atol=2e-5 * abs(volume).max() + 1e-7), axis
        moved = server.values("/plane?axis=0&index=3&first=0,0&count=48,48&step=1&center=20").reshape(48, 48)
        assert not np.allclose(moved, whole[:1], atol=1e-4)
    finally:
        assert server.end() == 0


def test_on_a_device(scan, folder):
    if not any(d["device"] == "opencl:0" for d in json.loads(qb("devices", "--json").stdout)["devices"]):
        pytest.skip("no OpenCL here")
    arrays, volume, _ = scan
    for k in range(VIEWS):
        put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][k])
    server = live(folder, "--device", "opencl:0")
    try:
        told(server, seen=VIEWS)
        assert np.allclose(middle(server), volume[3], atol=1e-4 * abs(volume).max() + 1e-7)
    finally:
        assert server.end() == 0


def test_a_detector_that_begins_anew(scan, folder):
    arrays, volume, _ = scan
    for k in range(VIEWS):
        put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][k])
    server = live(folder)
    try:
        told(server, seen=VIEWS)
        before = middle(server)
        for path in sorted((folder / "frames").iterdir()):
            path.unlink()
        told(server, seen=0, restarts=1)
        assert np.array_equal(middle(server), before)  # the last good picture stays
        for k in range(VIEWS):
            put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][VIEWS - 1 - k])
        told(server, seen=VIEWS, dropped=0)
        other = middle(server)  # the other way round: mirrored, and turned by one view
        assert np.linalg.norm(other - before) > 0.3 * np.linalg.norm(before)
        assert np.corrcoef(other.ravel(), before.ravel())[0, 1] < 0.9
    finally:
        assert server.end() == 0


def test_a_sample_that_turns_on(scan, folder):
    arrays, volume, _ = scan
    for k in range(VIEWS):
        put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][k])
    server = live(folder, "--rolling")
    try:
        told(server, seen=VIEWS)
        assert np.allclose(middle(server), volume[3], atol=2e-5 * abs(volume).max() + 1e-7)
        flat, dark = (arrays[name].mean(axis=0) for name in ("data_white", "data_dark"))
        for k in range(VIEWS, VIEWS + 15):  # half a turn later a view is its mirror image
            mirrored = ((arrays["data"][k - VIEWS] - dark) / (flat - dark))[:, ::-1]
            put(folder / "frames" / f"p_{k:04d}.tif", np.clip(np.round(mirrored * (flat - dark) + dark), 0, 65535))
        now = told(server, seen=VIEWS + 15)
        assert now["window"] == VIEWS and now["expected"] == 0
        assert np.corrcoef(middle(server).ravel(), volume[3].ravel())[0, 1] > 0.999
    finally:
        assert server.end() == 0


@pytest.mark.parametrize("swmr", [False, True])
def test_a_file_that_grows(scan, tmp_path, swmr):
    arrays, volume, _ = scan
    path = tmp_path / "growing.h5"
    angles = np.arange(VIEWS) * 180 / VIEWS
    with h5py.File(path, "w", libver="latest") as file:
        exchange = file.create_group("exchange")
        data = exchange.create_dataset("data", (4, ROWS, COLUMNS), "u2", maxshape=(None, ROWS, COLUMNS), chunks=(1, ROWS, COLUMNS))
        data[:] = arrays["data"][:4]
        for name in ("data_white", "data_dark"):
            exchange[name] = arrays[name]
        exchange["theta"] = angles
        if swmr:
            file.swmr_mode = True
            server = live_file(path)
            try:
                told(server, seen=4)
                for k in range(4, VIEWS):
                    data.resize(k + 1, 0)
                    data[k] = arrays["data"][k]
                    data.flush()
                told(server, seen=VIEWS)
                assert np.allclose(middle(server), volume[3], atol=2e-5 * abs(volume).max() + 1e-7)
            finally:
                assert server.end() == 0
    if swmr:
        return
    server = live_file(path)
    try:
        told(server, seen=4)
        with h5py.File(path, "r+", libver="latest") as file:
            file["exchange/data"].resize(VIEWS, 0)
            file["exchange/data"][4:] = arrays["data"][4:]
        told(server, seen=VIEWS)
        assert np.allclose(middle(server), volume[3], atol=2e-5 * abs(volume).max() + 1e-7)
    finally:
        assert server.end() == 0


def live_file(path):
    return Server(path, "--angles", f"0:180:{VIEWS}", "--pixel-size", "0.5", verb="live")


def test_the_address_comes_before_the_first_view(scan, folder):
    arrays, _, _ = scan
    server = live(folder, waits=False)
    try:
        assert json.loads(server.get("/info")[1])["waiting"] == f"waiting for the first views from {folder}/frames"
        assert server.get("/live")[0] == 503
        assert server.get("/")[0] == 200
        for k in range(3):
            put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][k])
        server.wait_for_views()
        told(server, seen=3)
    finally:
        assert server.end() == 0
    other = Server(folder / "flats" / "..", "--angles", f"0:180:{VIEWS}", verb="live", waits=False)  # a folder without images, at first
    put(folder / "p_0000.tif", arrays["data"][0])
    assert other.process.wait(timeout=PATIENCE) == 3 and "give --flats" in other.process.stderr.read()
    last = live(folder, waits=False)
    assert last.end() == 0  # also while it waits


def test_what_it_refuses(scan, folder):
    arrays, _, _ = scan
    assert "no such folder" in fails(3, "live", folder / "none", "--angles", "0:180:9")
    assert "give tcp://HOST:PORT" in fails(2, "live", "udp://127.0.0.1:9", "--angles", "0:180:9")
    put(folder / "frames" / "p_0.tif", arrays["data"][0])
    time.sleep(0.3)  # else it may be written still, and is waited for
    assert "give --angles" in fails(2, "live", folder / "frames", "--quantity", "transmission")
    assert "give --flats" in fails(3, "live", folder / "frames", "--angles", "0:180:9")
    assert "do not fit memory" in fails(2, "live", folder / "frames", "--angles", "0:180:1000000", "--quantity", "transmission", "--max-ram", "200M")


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_in_a_browser(scan, folder, tmp_path):
    arrays, _, _ = scan
    server, browser = live(folder, waits=False), Browser(tmp_path)
    try:
        browser.open(server.address)
        browser.until("document.getElementById('said')?.textContent.startsWith('waiting for the first views')")
        for k in range(5):
            put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][k])
        browser.until(READY)
        assert browser.run("document.getElementById('said').textContent") == ""
        browser.until("document.getElementById('sub').textContent.startsWith('5 views of 40')")
        for k in range(5, VIEWS):
            put(folder / "frames" / f"p_{k:04d}.tif", arrays["data"][k])
        browser.until("document.getElementById('sub').textContent.startsWith('40 views of 40')")
        browser.until("views.every(v => !v.flying && v.sharp && v.sharp.key === v.wish().key)")
        shown = np.array(browser.run("Array.from(views[0].sharp.values)"), "f4").reshape(COLUMNS, COLUMNS)
        assert np.array_equal(shown, middle(server, 0, ROWS // 2))
        # The window follows the slices until the user sets it.
        every = np.array(browser.run("views.flatMap(v => Array.from(v.sharp.values))"), "f4")
        assert np.allclose(browser.run("[state.low, state.high]"), np.quantile(every, [0.005, 0.995]), atol=0.02 * np.ptp(every))
        assert np.allclose(browser.run("[volumes[0].histogram.low, volumes[0].histogram.high]"), [every.min(), every.max()])
        browser.run("set_window(0, 1), learn_histogram()")
        assert browser.run("[state.low, state.high]") == [0, 1]
        assert browser.errors == [] and browser.run("document.getElementById('use').hidden")
    finally:
        browser.close()
        assert server.end() == 0
