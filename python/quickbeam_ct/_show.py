# SPDX-License-Identifier: MIT
"""Volumes and scans in a browser, or in a notebook: the server of the command `qb view`, as long as this program runs."""
import atexit
import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import webbrowser

from ._files import write
from ._library import Error, raises
from ._scan import is_path

_LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None) if _LINUX else None


def _command():
    """The wheel's `qb`, that of the environment variable QB, or the first one of PATH."""
    own = pathlib.Path(__file__).with_name("bin") / "qb"
    found = os.environ.get("QB") or (str(own) if own.exists() else shutil.which("qb"))
    if not found:
        raise Error("show needs the command qb: install it, or set QB to its path", 6)
    return found


def _in_notebook():
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _end_with_parent():
    _libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: also where this program is killed


class Viewer:
    """A server of `qb view`. `address` opens it in a browser of this machine; it ends with close() or with Python."""

    def __init__(self, words, folder, height):
        self._folder, self.height = folder, height
        self._said = tempfile.TemporaryFile("w+")
        linked = _LINUX and threading.current_thread() is threading.main_thread()
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said, text=True,
                                         preexec_fn=_end_with_parent if linked else None)
        line = self._process.stdout.readline()
        if not line.startswith('{"address"'):
            self._process.wait()
            self._said.seek(0)
            why = self._said.read().strip()
            self.close()
            raise Error(why.split("qb view: ")[-1] or "qb view ended at once", 6)
        self.address = json.loads(line)["address"]
        atexit.register(self.close)

    def close(self):
        """End the server."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._process.stdout.close()
        self._said.close()
        if self._folder:
            self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"<quickbeam viewer at {self.address}>" if self._process.poll() is None else "<quickbeam viewer, closed>"

    def _repr_html_(self):
        return f'<iframe src="{self.address}" width="100%" height="{self.height:d}" style="border:0" title="quickbeam"></iframe>'


def _option(name, value):
    flag = "--" + name.rstrip("_").replace("_", "-")
    if value is True or value is False:
        return [flag if value else flag.replace("--", "--no-", 1)]
    return [flag, ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)]


@raises
def show(volume, other=None, *, voxel=0.0, reconstruct=False, open=None, height=680, **options):
    """Show a volume [z][y][x], a volume's or a scan's file, or two of one shape and their difference, in a browser, in a notebook as
    its output. Arrays go through a temporary file; voxel: their mm. reconstruct=True: slices of a scan's file are computed when they are
    looked at; options are then those of `qb fbp` or `qb fdk` (center=511.5). open: start a browser; None: outside of notebooks."""
    folder, words = None, [_command(), "view"]
    for number, one in enumerate(o for o in (volume, other) if o is not None):
        if is_path(one):
            words.append(os.fspath(one))
            continue
        folder = folder or tempfile.TemporaryDirectory(prefix="quickbeam-show-")
        path = os.path.join(folder.name, f"array{'AB'[number]}.npy")
        write(path, one, voxel, units="1/mm" if voxel else "")
        words.append(path)
    for name, value in options.items():
        words += _option(name, value)
    viewer = Viewer([*words, *(["--reconstruct"] if reconstruct else []), "--json", "--frame"], folder, height)
    if open or (open is None and not _in_notebook()):
        webbrowser.open(viewer.address)
    return viewer
