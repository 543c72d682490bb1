#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""qb live while frames are played from memory over ZeroMQ, and a headless browser looks at it.

  bench/live.py --qb build/qb [--size 512 --rows 512 --views 400 --device cuda --pictures 60 --ipc]

A JSON: frames a second, and whether any was lost. First come flats, darks and two views, and then all others as fast as they can be sent.
"bare" is what this machine allows: the same frames to a program that drops them. Then milliseconds from a slider to the three pictures that it changes (median and 95 % of
them): the crosshair moves, or the axis does. "server" is the same without the browser, with the processor time of three pictures. Needs libzmq; without chromium only "server" is measured."""
import argparse
import http.client
import json
import os
import pathlib
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


def frame_rate(client, options, process):
    """From the first frame that is sent until all are there, or none has come for five seconds."""
    begin, first = time.perf_counter(), json.loads(client.get("/live"))["received"]
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


def server_pictures(client, options, moves, process):
    n, m = options.size, options.rows
    shapes, seconds = [(n, n), (m, n), (m, n)], []
    for k in range(options.pictures):
        if k == 2:
            spent = sum(processor(process))
        begin = time.perf_counter()
        for axis, (lines, points) in enumerate(shapes):
            index = (m, n, n)[axis] // 2 + (k % 9 if moves == "crosshair" else 0)
            more = f"&center={n / 2 - 0.5 + 0.01 * k}" if moves == "axis" else ""
            client.get(f"/plane?axis={axis}&index={index % (m, n, n)[axis]}&first=0,0&count={lines},{points}&step=1{more}")
        seconds.append(time.perf_counter() - begin)
    return {**summary(seconds[2:]), "processor_ms": round(1e3 * (sum(processor(process)) - spent) / len(seconds[2:]), 1)}


def browser_pictures(page, options, moves):
    script = {"crosshair": "for (const a of [0, 1, 2]) go(a, (shape[a] >> 1) + K % 9 + 1);",
              "axis": "{ const c = control_list.find(c => c.name === 'center'); c.number.value = shape[2] / 2 - 0.5 + 0.01 * (K + 1); c.number.dispatchEvent(new Event('input')); }"}[moves]
    loop = f"""(async () => {{ const seconds = [];
      for (let K = 0; K < {options.pictures}; K++) {{
        const begin = performance.now(); {script}
        await new Promise(go => requestAnimationFrame(go));
        while (!({SETTLED})) await new Promise(go => setTimeout(go, 1));
        seconds.push((performance.now() - begin) / 1e3); }}
      return seconds; }})()"""
    return summary(page.run(loop)[2:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qb", default="build/qb")
    parser.add_argument("--size", type=int, default=512, help="columns")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--views", type=int, default=400)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pictures", type=int, default=40, help="0: frames alone")
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
        play(detector, images, bodies, range(2))
        address = process.stdout.readline().strip()
        if not address:
            errors.seek(0)
            sys.exit(f"bench/live.py: qb live ended: {errors.read()}")
        client = Client(address)
        client.wait()
        time.sleep(options.pause)
        player.start()
        result["stream"] = frame_rate(client, options, process)
        player.join()
        if options.pictures:
            result["server"] = {moves: server_pictures(client, options, moves, process) for moves in ("crosshair", "axis")}
        if CHROMIUM and options.pictures:
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                page = Browser(folder, 2 * options.size + 600, 2 * options.size + 200)
                try:
                    page.open(address)
                    page.until("document.documentElement?.dataset.ready === 'yes'")
                    page.until(SETTLED, 600)
                    result["browser"] = {moves: browser_pictures(page, options, moves) for moves in ("crosshair", "axis")}
                finally:
                    page.close()
        print(json.dumps(result))
    finally:
        process.terminate()
        process.wait()
        detector.close()


if __name__ == "__main__":
    main()
