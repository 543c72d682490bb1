# SPDX-License-Identifier: MIT
"""show: what the page of an array or a file gets, and how its server ends."""
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest

import quickbeam_ct as qb

pytestmark = pytest.mark.skipif(not (pathlib.Path(os.environ["QB"]).parent / "libquickbeam_view.so").exists(), reason="built without libwebsockets")
VALUES = np.random.default_rng(3).normal(size=(5, 6, 7)).astype("f4")


def ask(viewer, path):
    where, token = viewer.address.split("/#")
    with urllib.request.urlopen(urllib.request.Request(where + path, headers={"Authorization": f"Bearer {token}"})) as reply:
        return reply.read(), reply.headers


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_an_array():
    with qb.show(VALUES, voxel=0.5, open=False) as viewer:
        told, = json.loads(ask(viewer, "/info")[0])["volumes"]
        assert told["shape"] == [5, 6, 7] and told["voxel"] == [0.5] * 3
        plane, headers = ask(viewer, "/plane?axis=0&index=2&first=0,0&count=6,7&step=1")
        assert np.array_equal(np.frombuffer(plane, "f4").reshape(6, 7), VALUES[2])
        assert "frame-ancestors 'self' http://localhost:*" in headers["content-security-policy"]
        assert f'<iframe src="{viewer.address}"' in viewer._repr_html_() and viewer.address in repr(viewer)
        folder, pid = viewer._folder.name, viewer._process.pid
        assert os.path.exists(folder)
    assert not os.path.exists(folder) and not is_there(pid) and "closed" in repr(viewer)
    viewer.close()  # once more does nothing


def test_files_pairs_and_scans(tmp_path):
    qb.write(tmp_path / "a.mha", VALUES)
    with qb.show(tmp_path / "a.mha", 2 * VALUES, open=False) as viewer:
        both = np.frombuffer(ask(viewer, "/value?at=1,2,3")[0], "f4")
        assert np.array_equal(both, [VALUES[1, 2, 3], 2 * VALUES[1, 2, 3]])
    qb.simulate("disc", tmp_path / "s.h5", detector=(32, 4), views=40)
    with qb.show(tmp_path / "s.h5", reconstruct=True, center=15.5, filter="hann", open=False) as viewer:
        plane = np.frombuffer(ask(viewer, "/plane?axis=0&index=2&first=0,0&count=32,32&step=1")[0], "f4").reshape(32, 32)
        assert np.array_equal(plane, qb.fbp(tmp_path / "s.h5", center=15.5, filter="hann")[2])


def test_what_cannot_be_shown(tmp_path):
    with pytest.raises(qb.Error, match="none.h5"):
        qb.show(tmp_path / "none.h5", open=False)
    with pytest.raises(qb.Error, match="dimensions"):
        qb.show(np.zeros(3, "f4"), open=False)


@pytest.mark.parametrize("end", ["", "; os.kill(os.getpid(), 9)"])
def test_it_ends_with_python(tmp_path, end):
    script = "import os, numpy, quickbeam_ct as qb; v = qb.show(numpy.ones((2, 3, 4), 'f4'), open=False); print(v._process.pid, flush=True)" + end
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == (-9 if end else 0), done.stderr
    pid, until = int(done.stdout), time.monotonic() + 60
    while is_there(pid):
        assert time.monotonic() < until, "the server goes on"
        time.sleep(0.1)
