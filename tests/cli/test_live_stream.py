# SPDX-License-Identifier: MIT
"""qb live over ZeroMQ, and of cone beams: slices of all views are those of qb fbp and qb fdk."""
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import zeromq
from browser import CHROMIUM
from qbtest import QB, fails, qb
from viewing import Server
from zeromq import Detector

pytestmark = [pytest.mark.skipif(not (Path(QB).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")]
needs_zeromq = pytest.mark.skipif(zeromq.LIBRARY is None, reason="no libzmq")
VIEWS, ROWS, COLUMNS = 40, 6, 48
CONE = ["--sod", 300, "--sdd", 500, "--pixel-size", 0.5]


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    common = ["--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--photons", 50000, "--seed", 4]
    made = {}
    for name, more, verb, center in (("parallel", ["--pixel-size", 0.5], "fbp", ["--center", 23.5]), ("cone", ["--geometry", "cone", *CONE], "fdk", CONE[:4])):
        path = folder / f"{name}.h5"
        qb("simulate", "foam", "-o", path, *more, *common)
        qb(verb, path, *center, "-o", folder / f"{name}.npy")
        with h5py.File(path) as file:
            made[name] = {key: file["exchange"][key][:] for key in ("data", "data_white", "data_dark")}
        made[name].update(volume=np.load(folder / f"{name}.npy"), path=path)
    return made


def told(server, **wanted):
    end = time.monotonic() + 30
    while True:
        now = json.loads(server.get("/live")[1])
        if all(now[k] == v for k, v in wanted.items()):
            return now
        assert time.monotonic() < end, (now, wanted)
        time.sleep(0.02)


def plane(server, axis, shape, index=3):
    count = [n for k, n in enumerate(shape) if k != axis]
    return server.values(f"/plane?axis={axis}&index={index}&first=0,0&count={count[0]},{count[1]}&step=1").reshape(count)


def send_fields(detector, arrays, darks=True):
    for kind, name in ((0, "data_dark"), (1, "data_white"))[not darks:]:
        for k, image in enumerate(arrays[name]):
            detector.frame(image, k, kind)


def start(detector, arrays, *more, angles="0:180", views=slice(2)):
    """A server wants two views; the detector sends them meanwhile."""
    def begin():
        time.sleep(0.2)
        send_fields(detector, arrays)
        for k in range(VIEWS)[views]:
            detector.frame(arrays["data"][k], k)
    thread = threading.Thread(target=begin)
    thread.start()
    server = Server(detector.address, "--angles", f"{angles}:{VIEWS}", *more, verb="live")
    thread.join()
    return server


@needs_zeromq
@pytest.mark.parametrize("beam", ["parallel", "cone"])
def test_frames_of_a_detector(scans, beam):
    arrays = scans[beam]
    detector = Detector()
    how = dict(angles="0:180") if beam == "parallel" else dict(angles="0:360")
    server = start(detector, arrays, *(["--pixel-size", 0.5] if beam == "parallel" else CONE), **how)
    try:
        told(server, seen=2)
        volume = arrays["volume"]
        for k in [3, 2, *range(4, VIEWS)]:  # one is late
            detector.frame(arrays["data"][k], k)
        now = told(server, seen=VIEWS, received=VIEWS)
        assert (now["late"], now["dropped"], now["unreadable"], now["expected"]) == (1, 0, 0, VIEWS)
        for axis in range(3):
            whole = plane(server, axis, volume.shape)
            assert np.allclose(whole, np.take(volume, 3, axis), atol=2e-4 * abs(volume).max()), axis
        if beam == "cone":  # a slider of cones
            moved = server.values(f"/plane?axis=0&index=3&first=0,0&count={volume.shape[1]},{volume.shape[2]}&step=1&detector-offset=2,0")
            assert np.abs(moved - whole[:1, :1]).max() > 1e-3
        for k in range(VIEWS):  # the next scan: numbers go on; as the detector sends the same, so do its pictures
            detector.frame(arrays["data"][k], VIEWS + k)
        assert told(server, seen=VIEWS, restarts=1)["dropped"] == 0
        assert np.array_equal(plane(server, 0, volume.shape), np.asarray(plane(server, 0, volume.shape)))
        for k in range(5):  # the detector was started again
            detector.frame(arrays["data"][k], k)
        told(server, seen=5, restarts=2)
    finally:
        assert server.end() == 0
        detector.close()


@needs_zeromq
def test_binned_frames(scans, tmp_path):
    """--bin and --flip change frames and fields alike."""
    arrays = scans["parallel"]
    qb("fbp", arrays["path"], "--bin", 2, "--flip", "u", "--center", 23.5, "-o", tmp_path / "v.npy")
    volume, detector = np.load(tmp_path / "v.npy"), Detector()
    server = start(detector, arrays, "--pixel-size", 0.5, "--bin", 2, "--flip", "u", views=slice(VIEWS))
    try:
        told(server, seen=VIEWS)
        assert volume.shape == (ROWS // 2, COLUMNS // 2, COLUMNS // 2)
        assert np.allclose(plane(server, 0, volume.shape, 1), volume[1], atol=2e-4 * abs(volume).max())
    finally:
        assert server.end() == 0
        detector.close()


@needs_zeromq
def test_messages_that_make_no_sense(scans):
    arrays, draw = scans["parallel"], random.Random(3)
    detector = Detector()
    server = start(detector, arrays, "--pixel-size", 0.5)
    try:
        told(server, seen=2)
        image = arrays["data"][2]
        good = detector.header(image, 2)
        bad = [(b"", image.tobytes()), (b"no json", image.tobytes()), (good,), (good, image.tobytes()[:-1]), (good, image.tobytes(), b"more"), (b"x" * 100000, b""),
               (json.dumps({"frame": 2, "shape": [1 << 40, 1], "image_attributes": {"scan_index": 2}}).encode(), b""), (detector.header(image, -1), image.tobytes()),
               (detector.header(image, 2, 7), image.tobytes()), (detector.header(image[:3], 2), image[:3].tobytes()), (detector.header(image.astype("f4"), 2), image.astype("f4").tobytes())]
        for _ in range(100):
            words = bytearray(good)
            for _ in range(draw.randrange(1, 6)):
                words[draw.randrange(len(words))] = draw.choice(b'{}[]",:x')
            bad.append((bytes(words), b"short"))
        for parts in bad:
            detector.parts(*parts)
        told(server, unreadable=len(bad), seen=2)
        for k in range(2, VIEWS):
            detector.frame(arrays["data"][k], k)
        told(server, seen=VIEWS)
    finally:
        assert server.end() == 0
        detector.close()


@needs_zeromq
def test_a_source_that_publishes(scans):
    arrays = scans["parallel"]
    detector = Detector(zeromq.PUB)
    stop = threading.Event()

    def publish():
        send_fields(detector, arrays)
        while not stop.wait(0.05):
            send_fields(detector, arrays)
            for k in range(VIEWS):
                detector.frame(arrays["data"][k], k)
    thread = threading.Thread(target=publish)
    thread.start()
    try:
        server = Server(detector.address, "--subscribe", "--rolling", "--angles", f"0:180:{VIEWS}", "--pixel-size", "0.5", verb="live")
        now = json.loads(server.get("/live")[1])
        assert now["window"] == VIEWS and now["received"] >= 2
        assert server.end() == 0
    finally:
        stop.set()
        thread.join()
        detector.close()


@needs_zeromq
@pytest.mark.parametrize("first", ["views", "darks and views"])
def test_a_subscriber_that_joins_late(scans, first):
    """The first frames that it gets are views, so it waits for the flats of the next scan."""
    arrays, joined = scans["parallel"], threading.Event()
    detector = Detector(zeromq.PUB, high=4096)

    def publish():
        while not joined.wait(0.02):
            if first != "views":
                detector.frame(arrays["data_dark"][0], 0, 0)
            detector.frame(arrays["data"][0], 0)
        send_fields(detector, arrays)
        for k in range(VIEWS):
            detector.frame(arrays["data"][k], k)
    thread = threading.Thread(target=publish)
    thread.start()
    server = Server(detector.address, "--subscribe", "--angles", f"0:180:{VIEWS}", "--pixel-size", "0.5", verb="live", waits=False)
    try:
        assert "waiting for the flats of the next scan" in next(line for line in server.process.stderr if "flats" in line)
        assert "without flats: waiting" in json.loads(server.get("/info")[1])["waiting"]
        joined.set()
        server.wait_for_views()
        told(server, seen=VIEWS)
        assert not told(server)["no_darks"]
        volume = arrays["volume"]
        assert np.allclose(plane(server, 0, volume.shape), volume[3], atol=2e-4 * abs(volume).max())
        assert server.end() == 0
    finally:
        joined.set()
        thread.join()
        detector.close()


@needs_zeromq
def test_a_detector_without_darks(scans):
    """0 is subtracted, which is said, until darks come with a further scan."""
    arrays, detector = scans["parallel"], Detector(high=4096)
    thread = threading.Thread(target=lambda: (send_fields(detector, arrays, darks=False), [detector.frame(arrays["data"][k], k) for k in range(VIEWS)]))
    thread.start()
    server = Server(detector.address, "--angles", f"0:180:{VIEWS}", "--pixel-size", "0.5", verb="live")
    try:
        assert "there are no dark fields" in next(line for line in server.process.stderr if "dark" in line)
        assert told(server, seen=VIEWS)["no_darks"]
        send_fields(detector, arrays)
        for k in range(VIEWS):
            detector.frame(arrays["data"][k], VIEWS + k)
        assert not told(server, seen=VIEWS, restarts=1)["no_darks"]
        volume = arrays["volume"]
        assert np.allclose(plane(server, 0, volume.shape), volume[3], atol=2e-4 * abs(volume).max())
    finally:
        thread.join()
        assert server.end() == 0
        detector.close()


@needs_zeromq
def test_the_bench_plays_frames():
    bench = Path(__file__).parents[2] / "bench" / "live.py"
    said = json.loads(subprocess.run([sys.executable, bench, "--qb", QB, "--size", "64", "--rows", "16", "--views", "30", "--pictures", "5", "--pause", "0"], capture_output=True, text=True, check=True).stdout)
    assert said["stream"]["lost"] == 0 and said["stream"]["frames_per_second"] > 0
    seen = said["browser"].values() if CHROMIUM else []
    for moves in ("crosshair", "axis"):
        for times in (*said["server"][moves].values(), *(screen[moves] for screen in seen)):
            assert 0 < times["median_ms"] <= times["percent_95_ms"] and times["pictures"] == 3
    assert all(times["computed"] > 0 and times["sent"] > 0 for times in said["alone"].values())


def test_without_the_library_and_what_it_refuses():
    assert "install libzmq5" in fails(3, "live", "tcp://127.0.0.1:1", "--angles", "0:180:9", env={**os.environ, "QB_LIBZMQ": ""})
    assert "leave --geometry out" in fails(2, "live", "tcp://127.0.0.1:1", "--angles", "0:180:9", "-g", "x.xml")
    assert "give --detector-offset" in fails(2, "live", "tcp://127.0.0.1:1", "--angles", "0:180:9", "--sod", 3, "--sdd", 4, "--center", 3)
    said = subprocess.run([QB, "--version"], capture_output=True, text=True, check=True).stdout
    assert "ZeroMQ of qb live: " + ("found, 4." if zeromq.LIBRARY else "missing, install libzmq5") in said
    if zeromq.LIBRARY:
        assert "give tcp://HOST:PORT" in fails(2, "live", "tcp://no address", "--angles", "0:180:9")
