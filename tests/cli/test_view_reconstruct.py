# SPDX-License-Identifier: MIT
"""qb view --reconstruct: slices that are computed when they are looked at are those of the command that it prints."""
import json
import shlex
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from qbtest import QB, devices, fails, qb, slow
from viewing import READY, SETTLED, Server, stays_as_it_is

pytestmark = pytest.mark.skipif(not (Path(QB).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")
ROWS, COLUMNS = 20, 64
CONE = ["--sod", 300, "--sdd", 500, "--pixel-size", 0.5]


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reconstruct")
    common = ["--views", 90, "--detector", f"{COLUMNS},{ROWS}", "--photons", 20000, "--seed", 4]
    qb("simulate", "foam", "-o", folder / "parallel.h5", *common)
    qb("simulate", "foam", "-o", folder / "cone.h5", "--geometry", "cone", *CONE, *common)
    return {"fbp": [folder / "parallel.h5", "--center", "31.5"], "fdk": [folder / "cone.h5", *CONE[:4]]}


@pytest.fixture(scope="module", params=["fbp", "fdk"])
def server(scans, request):
    made = Server(*scans[request.param], "--reconstruct", "-o", scans[request.param][0].parent / f"{request.param}.npy")
    made.method = request.param
    yield made
    assert made.end() == 0


@pytest.fixture
def opencl():
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    return "opencl:0"


def volume_of(server, changes):
    """What the printed command makes."""
    status, command, _ = server.get("/command?" + changes)
    assert status == 200, command
    words = shlex.split(command.decode())
    assert words[:2] == ["qb", server.method]
    subprocess.run([QB, *words[1:]], check=True, capture_output=True)
    return np.load(words[words.index("--output") + 1])


def plane(server, axis, index, changes="", shape=(ROWS, COLUMNS, COLUMNS)):
    rows, columns = (n for k, n in enumerate(shape) if k != axis)
    got = server.values(f"/plane?axis={axis}&index={index}&first=0,0&count={rows},{columns}&step=1&{changes}")
    return got.reshape(rows, columns)


CHANGES = {"fbp": ["", "center=30.25", "tilt=0.7", "rings=sort&filter=hann:0.6&pad=zero"],
           "fdk": ["", "detector-offset=1.5,0", "tilt=1.2,0,0", "rings=all:snr=2&filter=cosine"]}


def test_planes_are_the_command_s_volume(server):
    for changes in CHANGES[server.method]:
        volume = volume_of(server, changes)
        assert volume.shape == (ROWS, COLUMNS, COLUMNS)
        for axis in range(3):
            for index in (0, volume.shape[axis] // 3, volume.shape[axis] - 1):
                got = plane(server, axis, index, changes)
                assert np.array_equal(got, np.take(volume, index, axis)), (changes, axis, index)
        value, = server.values(f"/value?at=7,20,30&{changes}")
        assert all(server.values(f"/value?at=7,20,30&axis={axis}&{changes}")[0] == value for axis in range(3))
        assert value == volume[7, 20, 30]
        got = server.values(f"/line?from=700,2000,0&to=700,2000,6300&count=64&{changes}")
        assert np.array_equal(got, volume[7, 20])


def test_planes_of_a_fan(tmp_path):
    """One detector row: one slice, and lines of it."""
    qb("simulate", "shepp-logan", "-o", tmp_path / "fan.h5", "--geometry", "cone", *CONE, "--views", 60, "--detector", f"{COLUMNS},1")
    made = Server(tmp_path / "fan.h5", *CONE[:4], "--reconstruct", "-o", tmp_path / "fan.npy")
    made.method = "fdk"
    try:
        for changes in ("", "detector-offset=1.5,0&filter=hann:0.6"):
            volume = volume_of(made, changes)
            assert volume.shape == (1, COLUMNS, COLUMNS)
            for axis, index in ((0, 0), (1, 20), (2, 40)):
                assert np.array_equal(plane(made, axis, index, changes, volume.shape), np.take(volume, index, axis)), (changes, axis)
    finally:
        assert made.end() == 0


def test_nothing_is_lost_while_sliders_move(server):
    moves = {"fbp": "center={0}.25&tilt=0.{1}", "fdk": "detector-offset={1},0&filter=hann:0.{0}"}[server.method]
    stays_as_it_is(server, lambda k: f"/plane?axis={k % 3}&index={k % ROWS}&first=0,0&count={ROWS},{COLUMNS}&step=1&" + moves.format(30 + k % 3, 1 + k % 5), {"fbp": 400, "fdk": 150}[server.method])


def test_parts_are_means(server):
    whole = plane(server, 0, 7)
    got = server.values("/plane?axis=0&index=7&first=8,16&count=5,6&step=4").reshape(5, 6)
    assert np.allclose(got, whole[8:28, 16:40].reshape(5, 4, 6, 4).mean(axis=(1, 3)), rtol=1e-5)


@pytest.mark.parametrize("change", ["filter=/etc/passwd", "filter=secret", "filter=hann:x", "center=auto", "center=nan", "center=1e999", "pad=wide", "pad=",
                                    "rings=all:snr=", "rings=all:file=x", "paganin=none:3", "paganin=25um:1", "tilt=1,,2", "center=" + "1" * 80])
def test_values_that_no_control_gives(server, change):
    other = {"fbp": ("detector-offset",), "fdk": ("center",)}[server.method]
    status, body, _ = server.get(f"/command?{change}")
    assert status == (200 if change.startswith(other) else 400), body
    assert server.get("/command?output=/tmp/x&like=y&config=z")[1] == server.get("/command")[1]  # no other option is taken


def test_what_cannot_be_computed_is_said(server):
    status, body, _ = server.get("/plane?axis=0&index=1&first=0,0&count=64,64&step=1&rings=all:snr=1000")
    assert status == 400 and b"snr" in body
    assert server.get("/plane?axis=0&index=20&first=0,0&count=64,64&step=1")[0] == 400


def test_what_nobody_waits_for_is_not_computed(scans):
    """Of thirty pictures that are asked for and left, few are made before the one that is waited for."""
    made = Server(*scans["fbp"], "--reconstruct", "--size", "1500,1500")
    ask = "/plane?axis=0&index=1&first=0,0&count=100,100&step=15&tilt=%s"
    try:
        shares = []
        for attempt in range(4):  # other work on the machine may hold up one or two
            begin = time.monotonic()
            made.values(ask % (0.5 + attempt / 1000))
            one = time.monotonic() - begin
            for k in range(30):
                made.leave(ask % (1 + attempt + k / 100))
            begin = time.monotonic()
            made.values(ask % (0.7 + attempt / 1000))
            shares.append((time.monotonic() - begin) / one)
        assert min(shares) < 15, shares
    finally:
        assert made.end() == 0


def test_a_draft_looks_like_the_slice(tmp_path):
    """Beyond 512 columns slices are first made of binned pixels, and the axis stays where it is."""
    qb("simulate", "foam", "-o", tmp_path / "s.h5", "--views", 300, "--detector", "602,7", "--center-offset", 7)
    made = Server(tmp_path / "s.h5", "--reconstruct", "--center", 307.5)
    try:
        told, = json.loads(made.get("/info")[1])["volumes"]
        each = told["reconstruct"]["bin"]
        assert each == 2 and told["shape"] == [7, 602, 602]
        for axis, (rows, columns) in enumerate([(602, 602), (7, 602), (7, 602)]):
            count = -(-rows // each), -(-columns // each)
            ask = f"/plane?axis={axis}&index={(4, 301, 301)[axis]}&first=0,0&count={count[0]},{count[1]}&step={each}"
            sharp, draft = made.values(ask), made.values(ask + "&draft=1")
            assert np.corrcoef(sharp, draft)[0, 1] > 0.97, axis
            off = made.values(ask + "&draft=1&center=290")
            assert np.corrcoef(sharp, off)[0, 1] < np.corrcoef(sharp, draft)[0, 1] - 0.02, axis
        for _ in range(200):  # once the line integrals are kept
            if json.loads(made.get("/progress")[1])["views"]["share"] == 1:
                break
            time.sleep(0.1)
        draft = made.values(ask + "&draft=1&filter=shepp-logan")
        assert np.corrcoef(sharp, draft)[0, 1] > 0.97
        times = []
        for k in range(5):
            begin = time.monotonic()
            made.values(f"/plane?axis=0&index=3&first=0,0&count=301,301&step=2&draft=1&center={306 + k}")
            times.append(time.monotonic() - begin)
        print(f"draft of a slice after a slider: {sorted(times)[2]:.3f} s")
    finally:
        assert made.end() == 0


@pytest.mark.parametrize("more", [[], ["--angles", "0:360", "--center", "20"], ["--bin", "2"]], ids=["half a turn", "axis to one side", "binned"])
def test_planes_of_a_device(scans, tmp_path, opencl, more):
    """Filtered rows stay there; the values are those of the CPU's volume."""
    common = [scans["fbp"][0], *(more if "--center" in more else ["--center", "31.5", *more])]
    qb("fbp", *common, "-o", tmp_path / "v.npy", "--device", "cpu")
    volume = np.load(tmp_path / "v.npy")
    made = Server(*common, "--reconstruct", "--device", opencl)
    try:
        for attempt in range(200):  # the lines are made in the background; the CPU computes meanwhile
            if attempt and json.loads(made.get("/progress")[1])["views"]["share"] == 1:
                break
            time.sleep(0.05)
            plane(made, 0, attempt % volume.shape[0], shape=volume.shape)
        time.sleep(0.3)
        for changes in "", "filter=hann:0.6", "center=30", "":
            for axis in range(3):
                index = volume.shape[axis] // 3
                got = plane(made, axis, index, changes, volume.shape)
                if not changes:
                    assert np.abs(got - np.take(volume, index, axis)).max() < 2e-4 * np.abs(volume).max(), axis
                elif axis == 0:
                    assert np.abs(got - volume[index]).max() > 1e-2 * np.abs(volume).max()
        assert json.loads(made.get("/progress")[1])["device"]["planes"] >= 9
    finally:
        assert made.end() == 0


def test_the_command_runs_where_it_may(scans, tmp_path):
    made = Server(*scans["fbp"], "--reconstruct", "--allow-run", "-o", tmp_path / "run.npy")
    try:
        assert made.get("/run?center=/etc")[0] == 400
        assert made.get("/run?center=30.25")[0] == 200
        for _ in range(600):
            run = json.loads(made.get("/progress")[1])["run"]
            if not run["running"]:
                break
            time.sleep(0.05)
        assert run["words"] == f"{tmp_path}/run.npy is written"
        first = np.load(tmp_path / "run.npy")
        made.method = "fbp"
        assert np.array_equal(first, volume_of(made, "center=30.25"))
        told = json.loads((tmp_path / "run.npy.json").read_text())
        assert made.get("/command?center=30.25")[1].decode() in json.dumps(told)
    finally:
        assert made.end() == 0
    other = Server(*scans["fbp"], "--reconstruct")
    try:
        assert other.get("/run?center=30.25")[0] == 403
    finally:
        assert other.end() == 0


@slow
def test_a_slice_by_tv(scans, tmp_path):
    """Of its own row: what qb tv makes of that row. The other planes, and tv of none, are those of qb fbp."""
    path, other, few = tmp_path / "few.h5", ["--rings", "sort"], (5, COLUMNS, COLUMNS)
    qb("convert", scans["fbp"][0], "--crop", f"0:{COLUMNS},5:10", "-o", path)  # five rows, of which all are computed twice
    made = Server(path, "--reconstruct", "--center", 31.5, *other, "--filter", "hann", "-o", tmp_path / "all.npy", "--allow-run")
    made.method = "tv"
    try:
        for value in ("0.5", "auto"):
            qb("tv", path, "--crop", f"0:{COLUMNS},2:3", "--center", 31.5, *other, "--lambda", value, "-o", tmp_path / "v.npy", "--device", "cpu")
            wanted = np.load(tmp_path / "v.npy")[0]
            assert np.array_equal(plane(made, 0, 2, f"lambda={value}"), wanted)
        usual = plane(made, 0, 2)
        assert np.array_equal(plane(made, 0, 2, "lambda=none"), usual) and np.abs(usual - wanted).max() > 1e-3
        assert np.array_equal(plane(made, 1, 7, "lambda=0.5", few), plane(made, 1, 7, shape=few))
        assert made.get(f"/plane?axis=0&index=1&first=0,0&count={COLUMNS},{COLUMNS}&step=1&lambda=0.5&tilt=1")[0] == 400
        assert b"neighbours" in made.get(f"/plane?axis=0&index=1&first=0,0&count={COLUMNS},{COLUMNS}&step=1&lambda=0.5&paganin=50")[1]
        assert made.get("/command?lambda=-1e")[0] == 400
        words = shlex.split(made.get("/command?center=30&lambda=0.5&filter=ramp")[1].decode())
        assert words[1] == "tv" and "--filter" not in words and "sort" in words
        assert made.get("/run?center=30&lambda=0.5&filter=ramp")[0] == 200
        while (run := json.loads(made.get("/progress")[1])["run"])["running"]:
            time.sleep(0.05)
        assert run["words"].endswith("all.npy is written")
        first = np.load(tmp_path / "all.npy")
        assert np.array_equal(first, volume_of(made, "center=30&lambda=0.5&filter=ramp"))
    finally:
        assert made.end() == 0


def test_a_scan_without_an_axis(tmp_path):
    """Views of noise: the axis is the middle column, which the page and the terminal say."""
    draw = np.random.default_rng(1)
    np.save(tmp_path / "noise.npy", draw.random((40, 4, 48), "f4"))
    made = Server(tmp_path / "noise.npy", "--angles", "0:180", "--reconstruct")
    try:
        note = json.loads(made.get("/info")[1])["volumes"][0]["note"]
        assert "no rotation axis was found" in note and "middle column, 23.5: move it on the page" in note
        assert b"--center 23.5" in made.get("/command?")[1]
        assert note in next(line for line in made.process.stderr if "middle column" in line)
    finally:
        assert made.end() == 0


def test_what_it_refuses(scans, tmp_path):
    path = scans["fbp"][0]
    assert "leave --slices out" in fails(2, "view", path, "--reconstruct", "--slices", "2:3")
    assert "--size object" in fails(2, "view", path, "--reconstruct", "--size", "object")
    assert "leave --dtype out" in fails(2, "view", path, "--reconstruct", "--dtype", "uint16")
    assert "give --reconstruct" in fails(2, "view", path, "--filter", "hann")
    assert "--allow-run is for --reconstruct" in fails(2, "view", path, "--allow-run")
    assert "has no option --sweep" in fails(2, "view", path, "--reconstruct", "--sweep", "pad=zero,edge")
    assert "none.h5" in fails(3, "view", tmp_path / "none.h5", "--reconstruct")


@pytest.mark.skipif(not CHROMIUM, reason="no chromium")
def test_in_a_browser(server, tmp_path):
    browser = Browser(tmp_path)
    try:
        browser.open(server.address)
        browser.until(READY)
        browser.until(SETTLED)
        before = browser.run("Array.from(views[0].sharp.values)")
        name, value = {"fbp": ("center", "30.25"), "fdk": ("detector-offset", "1.5")}[server.method]
        browser.run(f"(() => {{ const c = control_list.find(c => c.name === '{name}'); c.number.value = '{value}'; c.number.dispatchEvent(new Event('input')); }})()")
        browser.run("(() => { const c = control_list.find(c => c.name === 'filter'); c.word.value = 'hann'; c.slider.value = 0.6; c.slider.dispatchEvent(new Event('input')); })()")
        browser.until(SETTLED)
        after = np.array(browser.run("Array.from(views[0].sharp.values)"), "f4")
        assert np.abs(after - before).max() > 1e-3
        changes = browser.run("changes().slice(1)")
        assert changes == {"fbp": "center=30.25", "fdk": "detector-offset=1.5,0"}[server.method] + "&filter=hann:0.6"
        assert np.array_equal(after.reshape(COLUMNS, COLUMNS), plane(server, 0, ROWS // 2, changes))
        browser.run("(() => { const make = URL.createObjectURL.bind(URL); URL.createObjectURL = blob => { saved = blob; return make(blob); }; })(); document.getElementById('csv').click()")
        head, *lines = browser.run("saved.text()").splitlines()
        assert head.startswith("# ") and np.array_equal(np.array([line.split(",") for line in lines], "f4"), after.reshape(COLUMNS, COLUMNS))
        browser.run(f"state.line = {{ axis: 0, from: [20, 0], to: [20, {COLUMNS - 1}], slice: state.at.slice() }}; show_line()")
        browser.until("profile && profile.length > 2")
        browser.run("document.getElementById('linecsv').click()")
        head, *lines = browser.run("saved.text()").splitlines()
        assert head.startswith("# distance in ") and np.array_equal(np.array([lines[0].split(",")[1], lines[-1].split(",")[1]], "f4"), after.reshape(COLUMNS, COLUMNS)[20, [0, -1]])
        browser.run("document.getElementById('lineoff').click()")
        browser.run("document.getElementById('use').click()")
        browser.until("!document.getElementById('used').hidden")
        assert browser.run("document.getElementById('command').textContent").encode() == server.get("/command?" + changes)[1]
        browser.run("navigator.clipboard.writeText = async text => { copied = text; }; document.getElementById('copy').click()")
        browser.until("document.getElementById('copy').textContent === 'Copied' && copied === document.getElementById('command').textContent")
        browser.until("decodeURIComponent(location.hash).includes('filter=hann:0.6')")
        browser.open(browser.run("location.href"))
        browser.until(READY)
        assert browser.run("changes().slice(1)") == changes
        for k in range(40):  # a slider that is dragged
            browser.run(f"(() => {{ const c = control_list.find(c => c.name === 'tilt'); c.slider.value = {k / 20}; c.slider.dispatchEvent(new Event('input')); }})()")
        browser.until(SETTLED)
        browser.run("document.getElementById('back').click()")
        browser.until(SETTLED)
        assert browser.run("changes()") == "" and np.allclose(browser.run("Array.from(views[0].sharp.values)"), before)
        browser.run("toggle_oblique(20, 70)")
        browser.until(f"views.length === 4 && {SETTLED}")
        assert browser.run("views[3].sharp.values.some(v => v > 0.01)")
        browser.run("toggle_oblique()")
        assert browser.run("document.getElementById('said').textContent") == "" and browser.errors == []
        for width, height in [(3840, 2160), (390, 844), (390, 200)]:
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
            assert browser.run("document.documentElement.scrollWidth") <= width
        browser.run("views[0].zoom = 0.2; changed(views[0])")  # a picture of means, and under the cursor a value of the volume
        browser.until(f"{SETTLED} && views[0].sharp.step > 1")
        browser.run("views[0].under(...views[0].place(20, 30).reverse())")
        value = float(plane(server, 0, ROWS // 2)[20, 30])
        browser.until(f"document.getElementById('value').textContent.includes('y 20, x 30: ' + digits({value!r}, 6) + ' ')")
    finally:
        browser.close()
