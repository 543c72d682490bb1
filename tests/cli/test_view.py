# SPDX-License-Identifier: MIT
"""qb view: what the server gives, to whom, and what a browser shows of it."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from qbtest import PATIENCE, QB, fails, qb
from viewing import READY, SETTLED, Server, stays_as_it_is

pytestmark = pytest.mark.skipif(not (Path(QB).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")
SHAPE = (24, 40, 56)


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """Random values of which some were not measured, as an array and as a file of ours."""
    folder = tmp_path_factory.mktemp("view")
    values = np.random.default_rng(5).normal(0.02, 0.005, SHAPE).astype("f4")
    values[3, 5:9, 7] = np.nan
    np.save(folder / "v.npy", values)
    (folder / "v.npy.json").write_text(json.dumps({"writer": "quickbeam", "quantity": "attenuation", "units": "1/mm", "voxel_mm": [0.1, 0.1, 0.2]}))
    return folder / "v.npy", values


@pytest.fixture(scope="module")
def server(volume):
    made = Server(volume[0])
    yield made
    assert made.end() == 0


def mean_of(plane, step):
    rows, columns = (-(-n // step) for n in plane.shape)
    return np.array([[np.nanmean(plane[r * step:(r + 1) * step, c * step:(c + 1) * step]) for c in range(columns)] for r in range(rows)])


def test_planes_are_the_values_of_the_file(server, volume):
    _, values = volume
    for axis in range(3):
        index = SHAPE[axis] // 3
        plane = np.take(values, index, axis)
        rows, columns = plane.shape
        got = server.values(f"/plane?axis={axis}&index={index}&first=0,0&count={rows},{columns}&step=1").reshape(plane.shape)
        assert np.array_equal(got, plane, equal_nan=True)
        got = server.values(f"/plane?axis={axis}&index={index}&first=2,3&count=4,5&step=1").reshape(4, 5)
        assert np.array_equal(got, plane[2:6, 3:8], equal_nan=True)
        for step in (2, 3, 7):
            count = -(-rows // step), -(-columns // step)
            got = server.values(f"/plane?axis={axis}&index={index}&first=0,0&count={count[0]},{count[1]}&step={step}").reshape(count)
            assert np.allclose(got, mean_of(plane, step), rtol=1e-5)


def test_a_step_beyond_the_plane(server, volume):
    _, values = volume
    got = server.values(f"/plane?axis=0&index=3&first=0,0&count=1,1&step={1 << 40}")
    assert got == pytest.approx(np.nanmean(values[3]), rel=1e-5)


@pytest.mark.parametrize("change", ["shrinks", "goes", "takes another shape"])
def test_a_file_that_changes(tmp_path, change):
    """The page and the terminal say it, and no value of the new file is taken for one of the old file."""
    path, ask = tmp_path / "v.npy", "/plane?axis=0&index=0&first=0,0&count=64,64&step=1"
    np.save(path, np.ones((8, 64, 64), "f4"))
    made = Server(path)
    assert made.get(ask)[0] == 200
    if change == "shrinks":
        os.truncate(path, 20000)
    elif change == "goes":
        path.unlink()
    else:
        np.save(path, np.zeros((20, 80, 80), "f4"))
    for _ in range(3):
        status, body, _ = made.get(ask)
        assert status == 500 and f"v.npy {'was moved or removed' if change == 'goes' else 'has changed'} since it was opened".encode() in body
    made.process.send_signal(signal.SIGINT)
    assert made.process.stderr.read().count("start qb view again") == 1 and made.process.wait() == 0


def test_slices_beyond_any_detector(tmp_path):
    """Of 40,000 x 40,000 pixels: no mask is made, for which all of them would be read."""
    head = np.lib.format.header_data_from_array_1_0(np.empty(0, "<u2"))
    with open(tmp_path / "v.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {**head, "shape": (2, 40000, 40000)})
        file.truncate(file.tell() + 2 * 2 * 40000 ** 2)
    made = Server(tmp_path / "v.npy")
    told = json.loads(made.get("/info")[1])
    assert told["volumes"][0]["shape"] == [2, 40000, 40000] and told["fields"] == []
    assert made.values("/plane?axis=0&index=1&first=30000,30000&count=10,10&step=1").tolist() == [0] * 100
    assert len(made.values("/plane?axis=0&index=1&first=0,0&count=105,105&step=384&draft=1")) == 105 ** 2
    assert made.end() == 0


@pytest.mark.parametrize("how, what", [("mean", np.nanmean), ("max", np.nanmax), ("min", np.nanmin)])
def test_thick_planes(server, volume, how, what):
    _, values = volume
    for axis in range(3):
        part = what(np.take(values, range(2, 9), axis), axis=axis)
        got = server.values(f"/plane?axis={axis}&index=2&thick=7&how={how}&first=0,0&count={part.shape[0]},{part.shape[1]}&step=1")
        assert np.allclose(got.reshape(part.shape), part, rtol=1e-5)


def test_single_values_and_lines(server, volume):
    _, values = volume
    assert server.values("/value?at=3,6,7").tolist() != server.values("/value?at=3,6,8").tolist()
    assert np.isnan(server.values("/value?at=3,6,7")[0]) and server.values("/value?at=23,39,55")[0] == values[23, 39, 55]
    got = server.values("/line?from=1000,500,0&to=1000,500,5500&count=111")
    assert np.allclose(got[::2], values[10, 5, :], rtol=1e-6)
    assert np.allclose(got[1::2], (values[10, 5, 1:] + values[10, 5, :-1]) / 2, rtol=1e-5)


def test_what_is_told_of_the_file(server, volume):
    _, values = volume
    (told,) = json.loads(server.get("/info")[1])["volumes"]
    assert told["shape"] == list(SHAPE) and told["voxel"] == [0.1, 0.1, 0.2] and told["volume"] and told["units"] == "1/mm"
    level = dict(zip(told["shares"], told["levels"]))
    assert level[0.5] == pytest.approx(np.nanmedian(values), abs=3e-4) and level[0] < level[0.005] < level[0.5] < level[0.995] < level[1]
    assert 0.98 < sum(told["histogram"]["counts"]) / (24 * 24 * SHAPE[2]) <= 1  # of 24 rows of 24 images


@pytest.mark.parametrize("query", [
    "axis=3&index=0&first=0,0&count=1,1&step=1", "axis=0&index=24&first=0,0&count=1,1&step=1", "axis=0&index=0&first=0,0&count=41,1&step=1",
    "axis=0&index=0&first=40,0&count=1,1&step=1", "axis=0&index=0&first=0,0&count=1,1&step=0", "axis=0&index=0&first=0,0&count=0,1&step=1",
    "axis=0&index=-1&first=0,0&count=1,1&step=1", "axis=0&index=0&first=0&count=1,1&step=1", "axis=0&index=0&thick=25&first=0,0&count=1,1&step=1",
    "axis=0&index=0&first=0,0&count=1,1&step=1&how=median", "axis=0&index=0&first=0,0&count=1,1&step=1&volume=1", "", "axis=0x&index=0",
    "axis=0&index=18446744073709551616&first=0,0&count=1,1&step=1", "axis=0&index=0&first=0,0&count=99999999,99999999&step=1"])
def test_planes_that_there_are_not(server, query):
    status, body, _ = server.get(f"/plane?{query}")
    assert status == 400 and len(body) > 10


def test_other_requests_that_make_no_sense(server):
    for path, status in [("/value", 400), ("/value?at=24,0,0", 400), ("/line?from=0,0,0&to=2400,0,0&count=9", 400), ("/line?from=0,0,0&to=0,0,9&count=1", 400),
                         ("/../etc/passwd", 404), ("/" + "x" * 300, 404), ("/nothing", 404)]:
        assert server.get(path)[0] in (status, 400, 404), path
    for path, method in [("/plane?" + "a=1&" * 400, "GET"), ("/info", "POST"), ("/info", "DELETE"), ("/" + "x" * 5000, "GET")]:
        with contextlib.suppress(http.client.RemoteDisconnected, ConnectionResetError):  # it may hang up, too
            assert server.get(path, method=method)[0] in (400, 404, 405, 414)
    assert server.get("/info")[0] == 200


def test_only_who_has_the_token_and_comes_from_here(server):
    assert server.get("/info", Authorization="Bearer " + "0" * 32)[0] == 401
    assert server.get("/info", Authorization="Bearer " + server.token[:-1])[0] == 401
    assert server.get("/info", Authorization="")[0] == 401
    assert server.get("/", Authorization="")[0] == 200  # the page alone says nothing
    assert server.get("/info", Origin="http://elsewhere.example")[0] == 403
    assert server.get("/info", Origin=f"http://127.0.0.1:{server.port}")[0] == 200
    for host, status in [("elsewhere.example", 403), (f"localhost:{server.port}", 200), (f"127.0.0.1:{server.port}", 200)]:
        assert server.get("/info", Host=host)[0] == status


def test_the_page_runs_nothing_but_its_own(server):
    _, page, headers = server.get("/")
    policy = headers["content-security-policy"]
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert "default-src 'none'" in policy and "unsafe" not in policy and headers["x-content-type-options"] == "nosniff"
    assert page.count(f'nonce="{nonce}"'.encode()) == 2 and b"NONCE" not in page and len(page) < 300_000
    assert b"http://" not in page.replace(b"http://www.w3.org", b"") and b"https://" not in page


def test_many_at_once_and_some_that_leave(server, volume):
    _, values = volume

    def one(k):
        got = server.values(f"/plane?axis=0&index={k % 24}&first=0,0&count=40,56&step=1").reshape(40, 56)
        return np.array_equal(got, values[k % 24], equal_nan=True)

    for _ in range(20):  # that do not wait for the answer
        server.leave("/plane?axis=2&index=1&first=0,0&count=24,40&step=1")
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        assert all(pool.map(one, range(100)))


def test_nothing_is_lost_in_the_long_run(server):
    """Thousands of requests; then the processor has nothing to do."""
    stays_as_it_is(server, lambda k: f"/plane?axis={k % 3}&index={k % 24}&first=0,0&count=24,40&step=1", 3000)


def test_the_address_as_json(volume):
    made = subprocess.Popen([QB, "view", volume[0], "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert json.loads(made.stdout.readline())["address"].startswith("http://127.0.0.1:")
    made.send_signal(signal.SIGTERM)
    assert made.wait(timeout=PATIENCE) == 0 and made.stdout.read() == ""


def test_what_it_refuses(volume, tmp_path):
    path, _ = volume
    np.save(tmp_path / "other.npy", np.zeros((3, 4, 5), "f4"))
    assert "24 x 40 x 56 values and" in fails(3, "view", path, tmp_path / "other.npy")
    assert "wants the number of an address" in fails(2, "view", path, "--listen", "localhost")
    assert "none.npy" in fails(3, "view", tmp_path / "none.npy")
    other = Server(path)
    try:
        assert "give another --port" in fails(1, "view", path, "--port", other.port)
    finally:
        assert other.end() == 0


def test_a_scan_and_a_difference(tmp_path):
    qb("simulate", "disc", "--views", "12", "--detector", "32,4", "-o", tmp_path / "s.h5", "--photons", "1000")
    scan = Server(tmp_path / "s.h5")
    (told,) = json.loads(scan.get("/info")[1])["volumes"]
    assert told["shape"] == [12, 4, 32] and not told["volume"]
    assert scan.end() == 0
    a, b = (np.random.default_rng(k).normal(size=(2, 3, 4)).astype("f4") for k in (1, 2))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    both = Server(tmp_path / "a.npy", tmp_path / "b.npy")
    assert both.values("/value?at=1,2,3").tolist() == [a[1, 2, 3], b[1, 2, 3]]
    assert both.values("/plane?axis=0&index=1&first=0,0&count=3,4&step=1&volume=1").tolist() == b[1].ravel().tolist()
    assert both.end() == 0


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
class TestBrowser:
    @pytest.fixture(scope="class")
    def page(self, server, tmp_path_factory):
        browser = Browser(tmp_path_factory.mktemp("browser"))
        browser.open(server.address)
        browser.until(READY)
        yield browser
        browser.close()

    def settle(self, page):
        page.until(SETTLED)

    def centre(self, page, axis):
        return page.run(f"(() => {{ const b = views[{axis}].canvas.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2, b.width, b.height]; }})()")

    def test_what_is_drawn_are_the_values(self, page, volume):
        _, values = volume
        self.settle(page)
        for axis in range(3):
            drawn = page.run(f"Array.from(views[{axis}].sharp.values, v => v === v ? v : null)")
            plane = np.take(values, SHAPE[axis] // 2, axis)
            assert np.array_equal(np.array([np.nan if v is None else v for v in drawn], "f4"), plane.ravel(), equal_nan=True)
        low, high = page.run("[state.low, state.high]")
        assert low < np.nanmedian(values) < high
        grey = page.run("(() => { const v = views[0], [y, x] = v.place(10, 20); return Array.from(v.canvas.getContext('2d').getImageData(Math.round(x * devicePixelRatio), Math.round(y * devicePixelRatio), 1, 1).data); })()")
        assert abs(grey[0] - np.clip((values[12, 10, 20] - low) / (high - low) * 255, 0, 255)) <= 4

    def test_mouse(self, page, volume):
        x, y, wide, high = self.centre(page, 0)
        page.mouse("mousePressed", x + wide / 4, y)
        page.mouse("mouseReleased", x + wide / 4, y)
        at = page.run("state.at")
        assert at[0] == 12 and abs(at[1] - 20) <= 1 and abs(at[2] - 41.5) <= 1.5
        page.mouse("mouseMoved", x, y, button="none")
        page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=120)
        assert page.run("state.at[0]") == 13
        self.settle(page)  # the mouse has not moved, but the slice under it has
        label, value = page.run("document.getElementById('value').textContent").split(": ")
        z, row, column = (int(word.split()[1]) for word in label.split(", "))
        assert z == 13 and (value == "not measured" if np.isnan(volume[1][z, row, column]) else float(value.split()[0]) == pytest.approx(volume[1][z, row, column], rel=1e-5))
        page.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-300, modifiers=2)
        assert page.run("views[0].zoom") == pytest.approx(np.e, rel=1e-6)
        self.settle(page)
        page.run("choose_tool('line')")
        page.run("fit_all()")
        self.settle(page)
        page.drag(x - wide / 4, y, x + wide / 4, y)
        page.until("profile && profile.length > 10")
        assert float(page.run("document.getElementById('length').textContent").split()[1]) == pytest.approx(2.8, rel=0.03)  # half of 56 voxels of 0.1 mm
        page.run("remove_line(); choose_tool('window')")
        span = page.run("state.high - state.low")
        page.drag(x, y, x + 60, y)
        assert page.run("state.high - state.low") == pytest.approx(span * np.exp(60 / 200), rel=1e-3)
        page.run("preset(0.005); choose_tool('point')")

    def test_touch(self, page):
        """One finger sets the point; two that part zoom."""
        page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        page.run("fit_all()")
        x, y, wide, _ = self.centre(page, 0)

        def touch(kind, *at):
            page.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": a, "y": y, "id": k} for k, a in enumerate(at)])
        touch("touchStart", x + wide / 8)
        touch("touchEnd")
        assert abs(page.run("state.at[2]") - 34.5) <= 1.5  # an eighth of 56 columns from the middle
        touch("touchStart", x - 40)
        touch("touchStart", x - 40, x + 40)
        touch("touchMove", x - 80, x + 80)
        touch("touchEnd")
        assert page.run("views[0].zoom") == pytest.approx(2, rel=0.01)
        page.run("fit_all(); go(0, 12); go(1, 20); go(2, 28)")
        page.call("Emulation.setTouchEmulationEnabled", enabled=False)

    def test_keyboard_alone(self, page):
        page.run("views[0].canvas.focus()")
        at = page.run("state.at")
        page.press("ArrowRight", 39)
        page.press("ArrowUp", 38)
        page.press(".", 190, ".")
        assert page.run("state.at") == [at[0] + 1, at[1] + 1, at[2] + 1]
        page.press("End", 35)
        assert page.run("state.at[0]") == 23
        page.press("Home", 36)
        assert page.run("state.at[0]") == 0
        page.press("Enter", 13)
        assert page.run("document.getElementById('main').dataset.only") == "0"
        page.press("Enter", 13)
        page.press("l", 76, "l")
        assert page.run("state.tool") == "line"
        page.press("p", 80, "p")
        page.press("f", 70, "f")
        assert page.run("state.up") is False
        page.press("f", 70, "f")
        page.press("?", 191, "?")
        assert page.run("document.getElementById('keys').open") is True
        page.run("document.getElementById('keys').close()")

    def test_every_choice_draws(self, page):
        for name in page.run("Object.keys(COLOURS)"):
            page.run(f"document.getElementById('colours').value = {json.dumps(name)}; document.getElementById('colours').dispatchEvent(new Event('change'))")
        for k in range(page.run("THICK.length")):
            page.run(f"document.getElementById('thick').value = {k}; document.getElementById('thick').dispatchEvent(new Event('change'))")
            self.settle(page)
        page.run("document.getElementById('thick').value = 0; document.getElementById('thick').dispatchEvent(new Event('change')); document.getElementById('theme').click(); document.getElementById('theme').click()")
        self.settle(page)
        assert page.run("document.getElementById('said').textContent") == "" and page.errors == []

    def test_a_link_restores_the_view(self, page, server, tmp_path):
        page.run("go(0, 5); go(1, 6); go(2, 7); set_window(0.01, 0.03); views[0].zoom_at(50, 50, 3)")
        page.until("location.hash.includes('at=5,6,7') && location.hash.includes('window=0.01,0.03')")
        link, middle = page.run("location.href"), page.run("views[0].centre()")
        page.open(link)
        page.until(READY)
        assert page.run("[...state.at, state.low, state.high]") == [5, 6, 7, 0.01, 0.03]
        assert page.run("views[0].zoom") == pytest.approx(3) and page.run("views[0].centre()") == pytest.approx(middle, rel=1e-4)

    def test_a_wrong_token_is_said(self, page, server):
        page.open(server.address[:-4] + "0000")
        page.until("document.getElementById('said')?.textContent.includes('token')")
        page.open(server.address)
        page.until(READY)
        page.errors.clear()

    def test_at_the_width_of_a_phone_and_of_4k(self, page):
        for width, height in [(390, 844), (3840, 2160), (1280, 860)]:
            page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            self.settle(page)
            assert page.run("document.documentElement.scrollWidth") <= width
            assert page.run("views.every(v => v.canvas.width > 100 && v.canvas.height > 100)")
        page.call("Emulation.clearDeviceMetricsOverride")
        assert page.errors == []


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_two_volumes_side_by_side(tmp_path):
    a, b = (np.random.default_rng(k).normal(size=(6, 40, 50)).astype("f4") for k in (1, 2))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    server, browser = Server(tmp_path / "a.npy", tmp_path / "b.npy"), Browser(tmp_path)
    there = "views.length === 6 && views.slice(3).every(v => !v.flying && v.sharp && v.sharp.key === v.wish().key)"
    try:
        browser.open(server.address)
        browser.until(READY)
        browser.run("toggle_oblique(10, 20); document.getElementById('pair').value = 1; document.getElementById('pair').dispatchEvent(new Event('change'))")
        browser.until(there)
        browser.run("go(1, 7)")
        browser.until(f"{there} && views[5].slider.value === '7'")
        for column, wanted in enumerate((a, b, a - b)):
            assert np.array_equal(np.array(browser.run(f"Array.from(views[{3 + column}].sharp.values)"), "f4").reshape(6, 50), wanted[:, 7])
        assert browser.run("views[5].range()[0] === -views[5].range()[1] && views[3].range()[0] === state.low")
        browser.run("views[4].zoom_at(10, 10, 3)")  # columns are linked
        assert browser.run("views.slice(3).every(v => v.zoom === 3 && String(v.middle) === String(views[4].middle))")
        browser.until("location.hash.includes('pair=1')")
        browser.open(browser.run("location.href"))
        browser.until(READY)
        browser.until(there)
        for width, height in [(1280, 800), (390, 844), (3840, 2160)]:
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            assert browser.run("document.documentElement.scrollWidth") <= width
        browser.run("pair(null)")
        browser.until(f"views.length === 3 && {SETTLED}")
        assert browser.run("document.getElementById('said').textContent") == "" and browser.errors == []
    finally:
        browser.close()
        assert server.end() == 0


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_a_server_that_ends_and_odd_volumes(tmp_path):
    browser = Browser(tmp_path)
    try:
        for name, values, said in [("nan", np.full((3, 4, 5), np.nan, "f4"), "nan.npy: every value that was looked at is NaN or infinite."),
                                   ("constant", np.full((3, 4, 5), 7, "f4"), "constant.npy: every value that was looked at is 7."), ("single", np.ones((1, 1, 1), "f4"), "single.npy: every value that was looked at is 1."),
                                   ("slice", np.random.default_rng(1).normal(size=(1, 30, 40)).astype("f4"), "")]:
            np.save(tmp_path / f"{name}.npy", values)
            server = Server(tmp_path / f"{name}.npy")
            browser.open(server.address)
            browser.until(READY)
            browser.until("views.every(v => !v.flying && v.sharp)")
            assert browser.run("document.getElementById('said').textContent") == said
            assert server.end() == 0
        assert browser.errors == []
        browser.run("go(1, 3)")
        browser.until("document.getElementById('said').textContent.includes('does not answer')")
    finally:
        browser.close()


def test_malformed_messages(server):
    """Whatever is sent, the server goes on; nothing of a file is told without the token."""
    draw = random.Random(7)
    good = f"GET /plane?axis=0&index=3&first=0,0&count=4,4&step=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()
    for turn in range(150):
        words = bytearray(good)
        for _ in range(draw.randrange(1, 8)):
            at = draw.randrange(len(words))
            words[at:at + draw.randrange(3)] = draw.choice([b"", b"\0", b"\r\n", b"%", b"%zz", b"&", b"=", b":" * 40, b"9" * 30, bytes(draw.randrange(256) for _ in range(5)), b"A" * 9000])
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=5) as link:
            link.sendall(bytes(words))
            if turn % 3:
                link.shutdown(socket.SHUT_WR)
                link.settimeout(0.3)
                reply = link.recv(4096)
                assert not reply or reply.startswith(b"HTTP/1.")
    assert server.get("/info")[0] == 200


def test_a_slow_link_holds_up_nobody(tmp_path):
    """One client does not read its 16 MB; ten others get theirs."""
    values = np.random.default_rng(2).normal(size=(2, 2048, 2048)).astype("f4")
    np.save(tmp_path / "v.npy", values)
    server = Server(tmp_path / "v.npy")
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(f"GET /plane?axis=0&index=0&first=0,0&count=2048,2048&step=1 HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
            with concurrent.futures.ThreadPoolExecutor(10) as pool:
                got = pool.map(lambda k: server.values(f"/plane?axis=0&index=1&first={k},0&count=1,2048&step=1"), range(100))
                assert all(np.array_equal(row, values[1, k]) for k, row in enumerate(got))
            size, reply = 0, slow.makefile("rb")
            while reply.readline() != b"\r\n":
                continue
            while size < values[0].nbytes:
                size += len(reply.read(1 << 20))
    finally:
        assert server.end() == 0


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_a_server_that_was_killed_and_started_again(volume, tmp_path):
    browser, server = Browser(tmp_path), Server(volume[0])
    try:
        browser.open(server.address)
        browser.until(READY)
        server.process.kill()
        server.process.wait()
        browser.run("go(0, 5)")
        browser.until("document.getElementById('said').textContent.includes('does not answer')")
        again = Server(volume[0], "--port", server.port)  # with another token, which the page cannot know
        try:
            browser.until("document.getElementById('said').textContent.includes('Open the address')")
            browser.open(again.address)
            browser.until(READY)
            browser.until(SETTLED)
        finally:
            assert again.end() == 0
    finally:
        browser.close()
