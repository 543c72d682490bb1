#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""qb live while frames are played from memory over ZeroMQ, and a headless browser looks at it.

  bench/live.py --qb build/qb [--size 512 --rows 512 --views 400 --device cuda --pictures 60 --ipc]

A JSON: frames a second, and whether any was lost. First come flats, darks and two views, and then all others as fast as they can be sent.
"bare" is what this machine allows: the same frames to a program that drops them. Then milliseconds from a slider to the three pictures that it changes (median and 95 % of
them): the crosshair moves, or the axis does. "server" is the same without the browser, with the processor time of three pictures: a program asks over three connections at once,
as the page does. It asks for what the page asks on a screen of 1920 x 1080 or 3840 x 2160 pixels, where a pixel of a picture may be the mean of several voxels, and for whole
planes. "alone" has the parts of one whole plane: computed (of which one value is sent), and sent (which is computed already). Needs libzmq; without chromium only "server" is
measured."""
import argparse
import http.client
import json
import os
import pathlib
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "cli"))
from browser import CHROMIUM, Browser  # noqa: E402
from zeromq import LIBRARY, Detector, receive  # noqa: E402

DIFFERENT = 8  # frames that are repeated
# Height and width of the panes for z, y and x, in pixels, where the page fills a screen
PANES = {"1920x1080": ((910, 786), (437, 786), (437, 786)), "3840x2160": ((1979, 1686), (968, 1686), (968, 1686)), "whole": None}
SETTLED = "views.every(v => !v.flying && v.sharp && v.sharp.key === v.wish().key)"


def frames(options):
    """Counts behind a cylinder, with noise; flats and darks."""
    dice = np.random.default_rng(1)
    s = (np.arange(options.size) - (options.size - 1) / 2) / (0.4 * options.size)
    lines = np.tile(np.sqrt(np.maximum(0, 1 - s**2)).astype("f4"), (options.rows, 1))
    return [(100 + 20000 * np.exp(-lines) + dice.normal(0, 60, lines.shape)).astype("u2") for _ in range(DIFFERENT)], np.full(lines.shape, 20100, "u2"), np.full(lines.shape, 100, "u2")


class Client:
    """One connection that stays, as a browser's."""

    def __init__(self, address):
        where, self.token = address.split("#")
        self.connection = http.client.HTTPConnection(where.split("/")[2], timeout=600)

    def wait(self):
        """For the first views."""
        while True:
            self.connection.request("GET", "/live", headers={"Authorization": f"Bearer {self.token}"})
            reply = self.connection.getresponse()
            reply.read()
            if reply.status == 200:
                return
            time.sleep(0.01)

    def get(self, path):
        self.connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        reply = self.connection.getresponse()
        body = reply.read()
        assert reply.status == 200, body
        return body


class Planes:
    """Three connections that ask at the same time. What comes is thrown away."""

    def __init__(self, address):
        where, self.token = address.split("#")
        self.host = where.split("/")[2]
        self.sockets = [self.connect() for _ in range(3)]
        self.rooms = [memoryview(bytearray(1 << 20)) for _ in range(3)]

    def connect(self):
        name, port = self.host.rsplit(":", 1)
        return socket.create_connection((name.strip("[]"), int(port)))

    def get(self, which, path):
        if select.select([self.sockets[which]], [], [], 0)[0]:  # the server closes connections of which nothing comes for some seconds
            self.sockets[which].close()
            self.sockets[which] = self.connect()
        end, room, got = self.sockets[which], self.rooms[which], 0
        end.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        while b"\r\n\r\n" not in bytes(room[:got]):
            more = end.recv_into(room[got:])
            assert more, "the server has ended"
            got += more
        head = bytes(room[:got]).split(b"\r\n\r\n")[0]
        assert b" 200 " in head.split(b"\r\n")[0], bytes(room[:got])
        left = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]) - (got - len(head) - 4)
        while left:
            more = end.recv_into(room[:min(left, len(room))])
            assert more, "the server has ended"
            left -= more

    def get_all(self, paths):
        threads = [threading.Thread(target=self.get, args=one) for one in enumerate(paths)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()


def processor(process):
    """Seconds of the server's threads, of the user and of the system."""
    words = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return [int(word) / os.sysconf("SC_CLK_TCK") for word in words[11:13]]


def summary(seconds):
    ordered = sorted(seconds)
    return {"median_ms": round(1e3 * statistics.median(ordered), 1), "percent_95_ms": round(1e3 * ordered[int(0.95 * (len(ordered) - 1) + 0.5)], 1), "pictures": len(ordered)}


def play(detector, images, bodies, views):
    for k in views:
        detector.lasting(detector.header(images[0], k), bodies[k % DIFFERENT])


def place(options):
    return f"ipc:///tmp/qb_bench_live_{os.getpid()}" if options.ipc else "tcp://127.0.0.1:*"


def bare(options, images, bodies):
    detector, frames = Detector(address=place(options), high=options.views), min(options.views, 400)
    player = threading.Thread(target=play, args=(detector, images, bodies, range(frames)))
    player.start()
    times = receive(detector.address, 2 * frames)
    player.join()
    detector.close()
    return {"gigabytes_per_second": round((frames - 1) * len(bodies[0]) * 1e-9 / (times[-1] - times[1]), 3)}


def frame_rate(client, options, process, first, begin):
    """From `begin`, where `first` frames are there and the others begin to be sent, until all are there, or none has come for five seconds."""
    last, since = first, begin
    while True:
        now = json.loads(client.get("/live"))
        if now["received"] != last:
            last, since = now["received"], time.perf_counter()
        if now["received"] >= options.views or time.perf_counter() - since > 5:
            break
        time.sleep(0.005)
    seconds, begin = since - begin, time.perf_counter()
    while json.loads(client.get("/live"))["seen"] < last:
        time.sleep(0.01)
    behind = time.perf_counter() - begin
    rate, gigabytes = (last - first) / max(seconds, 1e-6), options.rows * options.size * 2e-9
    return {"frames_per_second": round(rate, 1), "gigabytes_per_second": round(rate * gigabytes, 3), "lost": options.views - last, "seconds_until_all_are_lines": round(behind, 3),
            "processor_seconds_per_gigabyte": {name: round(t / (last * gigabytes), 2) for name, t in zip(("user", "system"), processor(process))}}


def asked(options, panes, axis, index, more=""):
    """The request of the page for a whole plane: as many voxels are joined as lie under a pixel."""
    n, m = options.size, options.rows
    shape = ((n, n), (m, n), (m, n))[axis]
    step = max(1, int(1 / min(have / of for have, of in zip(panes[axis], shape)))) if panes else 1
    return f"/plane?axis={axis}&index={index}&first=0,0&count={-(-shape[0] // step)},{-(-shape[1] // step)}&step={step}{more}"


def places(options, number):
    n, m = options.size, options.rows
    return [(m // 2 + number % (m // 2), n // 2 + number % (n // 2), n // 2 + number % (n // 2))[axis] for axis in range(3)]


def server_pictures(planes, options, moves, process):
    """Each picture is new: the server keeps the last planes."""
    result, number = {}, 0
    for screen in options.screens.split(","):
        panes, seconds = PANES[screen], []
        for k in range(options.pictures):
            if k == 2:
                spent = sum(processor(process))
            number += 1
            more = f"&center={options.size / 2 - 0.5 + 0.001 * number}" if moves == "axis" else ""
            paths = [asked(options, panes, axis, at, more) for axis, at in enumerate(places(options, number if moves == "crosshair" else 0))]
            begin = time.perf_counter()
            planes.get_all(paths)
            seconds.append(time.perf_counter() - begin)
        result[screen] = {**summary(seconds[2:]), "processor_ms": round(1e3 * (sum(processor(process)) - spent) / len(seconds[2:]), 1)}
    return result


def alone(planes, options):
    """Median milliseconds of one plane: computed and one value sent, and the whole plane again, which is kept."""
    result = {}
    for axis, name in enumerate("zyx"):
        times = {"computed": [], "sent": []}
        for k in range(min(options.pictures, 12)):
            more = f"&center={options.size / 2 + 0.5 + 0.001 * k}"
            whole = asked(options, None, axis, places(options, 0)[axis], more)
            for part, path in (("computed", whole.split("&count=")[0] + "&count=1,1&step=1" + more), ("sent", whole)):
                begin = time.perf_counter()
                planes.get(0, path)
                times[part].append(1e3 * (time.perf_counter() - begin))
        result[name] = {part: round(statistics.median(some), 1) for part, some in times.items()}
    return result


def browser_pictures(page, options, moves):
    script = {"crosshair": "for (const a of [0, 1, 2]) go(a, (shape[a] >> 1) + K + 1);",
              "axis": "{ const c = control_list.find(c => c.name === 'center'); c.number.value = shape[2] / 2 - 0.5 + 0.01 * (K + 1); c.number.dispatchEvent(new Event('input')); }"}[moves]
    loop = f"""(async () => {{ const seconds = [], view = Object.getPrototypeOf(views[0]), draw = view.draw; let drawn = () => 0;
      view.draw = function () {{ draw.call(this); if ({SETTLED}) drawn(); }};
      for (let K = 0; K < {options.pictures}; K++) {{
        const begin = performance.now(), last = new Promise(go => drawn = go); {script}
        await last;
        seconds.push((performance.now() - begin) / 1e3); }}
      view.draw = draw;
      return seconds; }})()"""
    return summary(page.run(loop)[2:])


def in_browser(address, options, screen):
    """A window of a screen's size, or one in which whole planes have room."""
    width, height = map(int, screen.split("x")) if PANES[screen] else (2 * options.size + 600, 2 * options.size + 200)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Browser(folder, width, height)
        try:
            page.open(address)
            page.until("document.documentElement?.dataset.ready === 'yes'")
            page.until(SETTLED, 600)
            return {moves: browser_pictures(page, options, moves) for moves in ("crosshair", "axis")}
        finally:
            page.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qb", default="build/qb")
    parser.add_argument("--size", type=int, default=512, help="columns")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--views", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pictures", type=int, default=40, help="0: frames alone")
    parser.add_argument("--screens", default=",".join(PANES), help="those of which the pictures are")
    parser.add_argument("--pause", type=float, default=1, help="seconds between the first two views and all others")
    parser.add_argument("--ipc", action="store_true", help="frames by a socket of this machine in place of TCP")
    options = parser.parse_args()
    if LIBRARY is None:
        sys.exit("bench/live.py: there is no libzmq.so.5: install libzmq5")
    images, flat, dark = frames(options)
    bodies = [image.tobytes() for image in images]
    result = {"size": options.size, "rows": options.rows, "views": options.views, "device": options.device, "bare": bare(options, images, bodies)}
    detector = Detector(address=place(options), high=options.views)
    player = threading.Thread(target=play, args=(detector, images, bodies, range(2, options.views)))
    errors = tempfile.TemporaryFile("w+")
    process = subprocess.Popen([options.qb, "live", detector.address, "--angles", f"0:180:{options.views}", "--device", options.device], stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        for image, kind in ((dark, 0), (flat, 1)):
            detector.frame(image, 0, kind)
        first = 2
        play(detector, images, bodies, range(first))
        address = process.stdout.readline().strip()
        if not address:
            errors.seek(0)
            sys.exit(f"bench/live.py: qb live ended: {errors.read()}")
        client = Client(address)
        client.wait()
        time.sleep(options.pause)
        begin = time.perf_counter()
        player.start()
        result["stream"] = frame_rate(client, options, process, first, begin)
        player.join()
        if options.pictures:
            planes = Planes(address)
            result["server"] = {moves: server_pictures(planes, options, moves, process) for moves in ("crosshair", "axis")}
            result["alone"] = alone(planes, options)
        if CHROMIUM and options.pictures:
            result["browser"] = {screen: in_browser(address, options, screen) for screen in options.screens.split(",")}
        print(json.dumps(result))
    finally:
        process.terminate()
        process.wait()
        detector.close()


if __name__ == "__main__":
    main()
