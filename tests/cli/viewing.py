# SPDX-License-Identifier: MIT
"""A server of qb view that tests ask."""
import http.client
import signal
import subprocess

import numpy as np
from qbtest import PATIENCE, QB

READY = "document.documentElement?.dataset.ready === 'yes'"
SETTLED = "views.every(v => !v.flying && v.sharp && v.sharp.key === v.wish().key)"


class Server:
    def __init__(self, *args, verb="view"):
        self.process = subprocess.Popen([QB, verb, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://"), self.process.stderr.read()
        where, self.token = self.address.split("#")
        self.host, port = where[7:-1].rsplit(":", 1)
        self.port = int(port)

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
