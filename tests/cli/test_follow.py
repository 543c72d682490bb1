# SPDX-License-Identifier: MIT
"""--follow: a scan is reconstructed when all of it is written, and what is missing is said when it stops."""
import json
import os
import signal
import subprocess
import threading
import time

import h5py
import numpy as np
import pytest

from qbtest import QB, fails, qb, qb_json

VIEWS, ROWS, COLUMNS = 24, 8, 32


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """A scan as images, and its volume."""
    folder = tmp_path_factory.mktemp("scan")
    qb("simulate", "spheres", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1, "-o", "views/", cwd=folder)
    qb("simulate", "spheres", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1, "-o", "s.h5", cwd=folder)
    qb("fbp", "views", "--quantity", "transmission", "--angles", "0:180", "--pixel-size", 1, "-o", "want.npy", cwd=folder)
    return folder


def grow(scan, to, names, pause=0.1, in_two=False):
    """Copies the images one by one; in_two: each file is written by halves."""
    to.mkdir(exist_ok=True)
    for name in names:
        data = (scan / "views" / name).read_bytes()
        with open(to / name, "wb") as out:
            out.write(data[:len(data) // 2])
            if in_two:
                out.flush()
                time.sleep(pause)
            out.write(data[len(data) // 2:])
        time.sleep(pause)


def following(scan, to, follow, *more):
    return ["fbp", to, "--quantity", "transmission", "--pixel-size", 1, "--follow", follow, *more, "-o", to.parent / "v.npy"]


def names(scan):
    return sorted(path.name for path in (scan / "views").iterdir())


@pytest.mark.parametrize("how", ["angles", "number", "marker", "geometry", "halves"])
def test_a_folder(scan, tmp_path, how):
    """The same volume as of the scan that was there from the beginning, and no warning of its growing."""
    to, follow, more = tmp_path / "views", "20", ["--angles", f"0:180:{VIEWS}"]
    if how == "number":
        follow, more = f"20:{VIEWS}", ["--angles", "0:180"]
    if how == "marker":
        follow, more = f"20:{tmp_path / 'done'}", ["--angles", "0:180"]
    if how == "geometry":
        geometry = {"quickbeam_geometry": 1, "units": "mm", "beam": "parallel", "rows": ROWS, "columns": COLUMNS, "pixel_size": [1, 1],
                    "angles_degrees": {"from": 0, "to": 180, "count": VIEWS}}
        (tmp_path / "g.json").write_text(json.dumps(geometry))
        more = ["-g", tmp_path / "g.json"]

    def write():
        time.sleep(0.5)
        grow(scan, to, names(scan), 0.04, how == "halves")
        (tmp_path / "done").write_text("")

    writer = threading.Thread(target=write)
    writer.start()
    done = qb(*following(scan, to, follow, *more))
    writer.join()
    assert "[file-missing]" not in done.stderr and "[being-written]" not in done.stderr
    if how != "marker":
        assert f"{VIEWS} of {VIEWS} views are there" in done.stderr
    want = scan / "want.npy"
    if how == "geometry":
        want = tmp_path / "w.npy"
        qb("fbp", scan / "views", "--quantity", "transmission", "--pixel-size", 1, *more, "-o", want)
    assert np.array_equal(np.load(tmp_path / "v.npy"), np.load(want))


@pytest.mark.parametrize("sized", [False, True])
def test_hdf5(scan, tmp_path, sized):
    """A dataset that grows while it can be read (SWMR), or has its whole size before its images come."""
    with h5py.File(scan / "s.h5") as old:
        data = old["exchange/data"][:]
        file = h5py.File(tmp_path / "s.h5", "w", libver="latest")
        views = file.create_dataset("exchange/data", data=data[:3], maxshape=(None, ROWS, COLUMNS), chunks=(1, ROWS, COLUMNS))
        views.attrs["quantity"] = "transmission"
    file.swmr_mode = True
    child = subprocess.Popen([QB, *map(str, following(scan, tmp_path / "s.h5", "20", "--angles", f"0:180:{VIEWS}"))], stderr=subprocess.PIPE, text=True)
    for count in range(4, VIEWS + 1):
        time.sleep(0.05)
        views.resize(VIEWS if sized else count, 0)
        views[count - 1] = data[count - 1]
        views.flush()
    file.close()
    said = child.communicate(timeout=60)[1]
    assert child.returncode == 0, said
    assert f"{VIEWS} of {VIEWS} views are there" in said
    assert np.allclose(np.load(tmp_path / "v.npy"), np.load(scan / "want.npy"), atol=1e-5)


def test_what_is_missing(scan, tmp_path):
    to = tmp_path / "views"
    grow(scan, to, names(scan)[:5], 0)
    began = time.monotonic()
    fails(3, *following(scan, to, "2", "--angles", f"0:180:{VIEWS}"), says=[f"5 of {VIEWS} views are there", f"the last is {names(scan)[4]}", "none has come for 2 s: give --follow more seconds"])
    assert 2 <= time.monotonic() - began < 20
    fails(3, *following(scan, to, f"1.5:{tmp_path / 'done'}", "--angles", "0:180"), says=["5 views are there", "there is no", "done"])
    broken = threading.Timer(1, (to / "view_00005.tif").write_bytes, [bytes(98)])  # never completed
    broken.start()
    fails(3, *following(scan, to, "2", "--angles", f"0:180:{VIEWS}"), says=[f"5 of {VIEWS} views are there", "view_00005.tif"])
    fails(3, *following(scan, tmp_path / "none", "1", "--angles", f"0:180:{VIEWS}"), says=[f"0 of {VIEWS} views are there"])
    assert not (tmp_path / "v.npy").exists()


@pytest.mark.parametrize("follow, words", [("x", "give SECONDS, SECONDS:VIEWS or SECONDS:FILE"), ("0", "give SECONDS"), ("5:", "give SECONDS"),
                                           ("5", "how many views will there be?")])
def test_bad_use(scan, tmp_path, follow, words):
    fails(2, *following(scan, scan / "views", follow, "--angles", "0:180")[:-1], tmp_path / "v.npy", says=[words])


def test_stopped(scan, tmp_path):
    """Ctrl-C ends the waiting at once."""
    child = subprocess.Popen([QB, *map(str, following(scan, scan / "views", f"600:{VIEWS + 1}", "--angles", "0:180")[:-1]), str(tmp_path / "v.npy")], stderr=subprocess.PIPE)
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 130


def test_other_verbs(scan):
    assert qb_json("info", "views", "--follow", f"5:{VIEWS}", cwd=scan)["views"] == VIEWS
    assert os.path.exists(scan / "views")
