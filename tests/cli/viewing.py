# SPDX-License-Identifier: MIT
"""A server of qb view that tests ask."""
import http.client
import select
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
from qbtest import PATIENCE, QB, SANITIZED

READY = "document.documentElement?.dataset.ready === 'yes'"
SETTLED = "views.every(v => !v.flying && v.sharp && v.sharp.key === v.wish().key)"


class Server:
    def __init__(self, *args, verb="view", waits=True):
        """`waits`: for the first views of qb live."""
        self.process = subprocess.Popen([QB, verb, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.process.kill()  # no address: the error below says what it said instead
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://"), self.process.stderr.read()
        where, self.token = self.address.split("#")
        self.host, port = where[7:-1].rsplit(":", 1)
        self.port = int(port)
        if waits and verb == "live":
            self.wait_for_views()

    def wait_for_views(self):
        end = time.monotonic() + PATIENCE
        while self.get("/live")[0] == 503:
            assert self.process.poll() is None and time.monotonic() < end, "no views"
            time.sleep(0.02)

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=PATIENCE)
        connection.request(method, path, headers={"Authorization": f"Bearer {self.token}", **headers})
        reply = connection.getresponse()
        body = reply.read()
        connection.close()
        return reply.status, body, dict(reply.getheaders())

    def values(self, path):
        status, body, _ = self.get(path)
        assert status == 200, body
        return np.frombuffer(body, "<f4")

    def leave(self, path):
        """Asks, and does not wait for the answer."""
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        connection.close()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def stays_as_it_is(server, path_of, count):
    """Descriptors, threads and memory after `count` requests are those of before; and nothing is done when nobody asks."""
    at = Path(f"/proc/{server.process.pid}")
    connection = http.client.HTTPConnection(server.host.strip("[]"), server.port, timeout=PATIENCE)

    def ask(many):
        for k in range(many):
            connection.request("GET", path_of(k), headers={"Authorization": f"Bearer {server.token}"})
            reply = connection.getresponse()
            assert len(reply.read()) > 0 and reply.status == 200

    def held():
        return len(list((at / "fd").iterdir())), len(list((at / "task").iterdir()))

    def at_rest():
        """Once closed connections and threads are gone."""
        seen = [held()]
        while len(seen) < 10 or seen[-1] != seen[-5]:
            time.sleep(0.1)
            seen.append(held())
        return seen[-1]

    def memory():
        return next(int(line.split()[1]) for line in (at / "status").read_text().splitlines() if line.startswith("VmRSS"))

    def used():
        return sum(int(word) for word in (at / "stat").read_text().rsplit(")", 1)[1].split()[11:13])
    ask(count // 5)
    before, kilobytes = at_rest(), memory()
    ask(count)
    after = at_rest()
    assert all(a <= b for a, b in zip(after, before)), (before, after)
    assert SANITIZED or memory() < kilobytes + max(4096, kilobytes // 20), (kilobytes, memory())  # sanitizers keep what is freed for a while
    busy = [used() for _ in range(2) if not time.sleep(1)]
    assert busy[1] - busy[0] <= 3  # hundredths of a second of a second
    connection.close()
