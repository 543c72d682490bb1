# SPDX-License-Identifier: MIT
"""A headless Chromium that a test drives: its debugging protocol over two pipes, which needs no package."""
import json
import os
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, folder, width=1280, height=860):
        here, theirs = os.pipe(), os.pipe()  # commands, answers

        def pipes():
            """The browser reads from 3 and writes to 4."""
            command, answer = os.dup(here[0]), os.dup(theirs[1])
            os.dup2(command, 3)
            os.dup2(answer, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--window-size={width},{height}",
             f"--user-data-dir={folder}/profile", "about:blank"], preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(here[0])
        os.close(theirs[1])
        self.out, self.into, self.number, self.rest, self.errors = here[1], theirs[0], 0, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def hear(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            assert more, "the browser has ended"
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        said = json.loads(message)
        if said.get("method") == "Runtime.exceptionThrown":
            self.errors.append(said["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        if said.get("method") == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
            self.errors.append(said["params"]["entry"]["text"])
        return said

    def call(self, method, **params):
        self.number += 1
        words = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            words["sessionId"] = self.session
        os.write(self.out, json.dumps(words).encode() + b"\0")
        while True:
            said = self.hear()
            if said.get("id") == self.number:
                assert "error" not in said, said
                return said["result"]

    def run(self, script):
        """The value of an expression, which may be a promise."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def until(self, script, seconds=60):
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def open(self, address):
        self.call("Page.navigate", url="about:blank")  # else another # of the same page would not load it anew
        self.call("Page.navigate", url=address)

    def mouse(self, kind, x, y, button="left", **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1, **more)

    def drag(self, x0, y0, x1, y1):
        self.mouse("mousePressed", x0, y0)
        self.mouse("mouseMoved", (x0 + x1) / 2, (y0 + y1) / 2, buttons=1)
        self.mouse("mouseMoved", x1, y1, buttons=1)
        self.mouse("mouseReleased", x1, y1)

    def press(self, key, code=0, text=None):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
