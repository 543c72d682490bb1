# SPDX-License-Identifier: MIT
"""Files that are made of other files: what is missing in one of them is an error, never zeros."""
import os
import shutil

import h5py
import numpy as np
import pytest

from qbtest import SANITIZED, fails, qb, qb_json, read_h5, write_scan

VIEWS, ROWS, COLUMNS = 12, 4, 16
INFO, FBP = ["info"], ["fbp", "--center", "7.5"]


@pytest.fixture
def frames():
    return np.random.default_rng(1).uniform(0, 1, (VIEWS, ROWS, COLUMNS)).astype(np.float32)


def virtual(path, frames, mapped=VIEWS, dtype="f4"):
    """Three sources of four views each, of which the first `mapped` views have a place."""
    layout = h5py.VirtualLayout(frames.shape, dtype)
    for i in range(0, VIEWS, 4):
        with h5py.File(path.parent / f"s{i}.h5", "w") as f:
            f["d"] = frames[i:i + 4]
        n = min(4, mapped - i)
        if n > 0:
            layout[i:i + n] = h5py.VirtualSource(f"s{i}.h5", "d", shape=(4, ROWS, COLUMNS))[:n]
    with h5py.File(path, "w") as f:
        f.create_virtual_dataset("/exchange/data", layout, fillvalue=0).attrs["quantity"] = "line_integral"
        f["/exchange/theta"] = np.arange(VIEWS) * 15.0
        f["/exchange/theta"].attrs["units"] = "degrees"
    return path


def image_of(scan, folder, *more):
    qb("fbp", scan, "--center", "7.5", *more, "-o", folder / "image.h5")
    return read_h5(folder / "image.h5")


def test_a_virtual_dataset_is_its_sources(frames, tmp_path):
    whole = write_scan(tmp_path / "one.h5", frames, np.arange(VIEWS) * 15.0, quantity="line_integral")
    assert (image_of(virtual(tmp_path / "v0.h5", frames), tmp_path) == image_of(whole, tmp_path)).all()


def harm(folder, how):
    """Something that HDF5 reads as the fill value."""
    path = folder / "s4.h5"
    if how == "missing":
        os.remove(path)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(os.urandom(3000))
    elif how == "truncated":
        os.truncate(path, os.path.getsize(path) - 100)
    elif how == "folder":
        os.remove(path)
        os.mkdir(path)
    elif how == "pipe":
        os.remove(path)
        os.mkfifo(path)
    else:
        with h5py.File(path, "w") as f:
            if how == "shorter":
                f["d"] = np.ones((3, ROWS, COLUMNS), "f4")
            elif how == "narrower":
                f["d"] = np.ones((4, ROWS, COLUMNS - 1), "f4")
            elif how == "flat":
                f["d"] = np.ones((4 * ROWS, COLUMNS), "f4")
            elif how == "text":
                f["d"] = np.full((4, ROWS, COLUMNS), b"x")
            elif how == "never written":
                f.create_dataset("d", (4, ROWS, COLUMNS), "f4", chunks=(1, ROWS, COLUMNS))
            else:
                f["other"] = np.ones((4, ROWS, COLUMNS), "f4")


HARM = ["missing", "empty", "garbage", "truncated", "folder", "pipe", "shorter", "narrower", "flat", "text", "never written", "another dataset"]


@pytest.mark.parametrize("how", HARM)
def test_a_source_that_is_not_whole(frames, tmp_path, how):
    path = virtual(tmp_path / "v.h5", frames)
    harm(tmp_path, how)
    for command in (INFO, FBP):
        more = ["-o", tmp_path / "o.h5"] if command == FBP else []
        fails(3, *command, path, *more, says=["s4.h5"])


@pytest.mark.parametrize("how", ["missing", "truncated", "another dataset"])
def test_a_nested_source_that_is_not_whole(frames, tmp_path, how):
    virtual(tmp_path / "inner.h5", frames)
    layout = h5py.VirtualLayout(frames.shape, "f4")
    layout[:] = h5py.VirtualSource("inner.h5", "/exchange/data", shape=frames.shape)
    with h5py.File(tmp_path / "outer.h5", "w") as f:
        f.create_virtual_dataset("/exchange/data", layout, fillvalue=0).attrs["quantity"] = "line_integral"
        f["/exchange/theta"] = np.arange(VIEWS) * 15.0
    whole = write_scan(tmp_path / "one.h5", frames, np.arange(VIEWS) * 15.0, quantity="line_integral")
    assert (image_of(tmp_path / "outer.h5", tmp_path) == image_of(whole, tmp_path)).all()
    harm(tmp_path, how)
    fails(3, "info", tmp_path / "outer.h5", says=["s4.h5"])


def test_virtual_datasets_in_a_circle(frames, tmp_path):
    for name, other in (("a.h5", "b.h5"), ("b.h5", "a.h5")):
        layout = h5py.VirtualLayout(frames.shape, "f4")
        layout[:] = h5py.VirtualSource(other, "/exchange/data", shape=frames.shape)
        with h5py.File(tmp_path / name, "w") as f:
            f.create_virtual_dataset("/exchange/data", layout)
    fails(3, "info", tmp_path / "a.h5", says=["deep"])


def test_views_that_are_not_mapped(frames, tmp_path):
    path = virtual(tmp_path / "v.h5", frames, mapped=7)
    says = ["5 of 12 images have no source", "image 7", "--views"]
    fails(3, "info", path, says=says)
    fails(3, "fbp", path, "--center", "7.5", "-o", tmp_path / "o.h5", says=says)
    fails(3, "compare", path, path, says=says)
    # Those that are there can be had.
    whole = write_scan(tmp_path / "one.h5", frames, np.arange(VIEWS) * 15.0, quantity="line_integral")
    views = ["--views", "0:7"]
    assert (image_of(path, tmp_path, *views) == image_of(whole, tmp_path, *views)).all()


def test_rows_that_are_not_mapped(frames, tmp_path):
    layout = h5py.VirtualLayout(frames.shape, "f4")
    with h5py.File(tmp_path / "s.h5", "w") as f:
        f["d"] = frames
    layout[:, :3] = h5py.VirtualSource("s.h5", "d", shape=frames.shape)[:, :3]
    with h5py.File(tmp_path / "v.h5", "w") as f:
        f.create_virtual_dataset("/exchange/data", layout)
    fails(3, "info", tmp_path / "v.h5", says=["12 of 12 images have no source"])


def external(path, frames, *files):
    with h5py.File(path, "w") as f:
        f.create_dataset("/exchange/data", frames.shape, "f4", external=list(files)).attrs["quantity"] = "line_integral"
        f["/exchange/theta"] = np.arange(VIEWS) * 15.0
    return path


@pytest.mark.parametrize("how", ["missing", "short", "second short", "pipe", "folder", "too few"])
def test_external_storage_that_is_not_whole(frames, tmp_path, monkeypatch, how):
    monkeypatch.chdir(tmp_path)
    half = frames.nbytes // 2
    for name, part in (("a.raw", frames[:VIEWS // 2]), ("b.raw", frames[VIEWS // 2:])):
        part.tofile(name)
    path = external(tmp_path / "x.h5", frames, ("a.raw", 0, half), ("b.raw", 0, half))
    whole = write_scan(tmp_path / "one.h5", frames, np.arange(VIEWS) * 15.0, quantity="line_integral")
    assert (image_of(path, tmp_path) == image_of(whole, tmp_path)).all()
    name = "b.raw" if how == "second short" else "a.raw"
    if how in ("short", "second short"):
        os.truncate(name, half - 1)
    else:
        os.remove(name)
    if how == "pipe":
        os.mkfifo(name)
    if how == "folder":
        os.mkdir(name)
    if how == "too few":
        frames[:VIEWS // 2].tofile(name)
        path = external(tmp_path / "x.h5", frames, ("a.raw", 0, half), ("b.raw", 4, half))
    fails(3, "info", path, says=[name if how != "too few" else "b.raw"])
    fails(3, "fbp", path, "--center", "7.5", "-o", tmp_path / "o.h5", says=[name if how != "too few" else "b.raw"])


@pytest.mark.parametrize("soft", [False, True])
def test_a_pipe_behind_a_link_is_never_opened(frames, tmp_path, soft):
    """HDF5 would wait for it for ever. What is not needed does not matter; what is needed is said to be a broken link."""
    os.mkfifo(tmp_path / "pipe.h5")
    path = write_scan(tmp_path / "s.h5", frames, np.arange(VIEWS) * 15.0, quantity="line_integral")
    with h5py.File(path, "a") as f:
        f["/other/link"] = h5py.ExternalLink("pipe.h5", "/data")
        if soft:
            f["/other/soft"] = h5py.SoftLink("/other/link")
    told = qb_json("info", path)
    assert any("are broken" in p for p in told["problems"]), told
    fails(3, "info", path, "--dataset", "/other/soft" if soft else "/other/link", says=["not there"])


def test_parts_of_a_volume_that_were_exchanged(frames, tmp_path):
    scan = write_scan(tmp_path / "one.h5", frames, np.arange(VIEWS) * 15.0, quantity="line_integral")
    out = ["fbp", scan, "--center", "7.5", "--parts", 2]
    qb(*out, "-o", tmp_path / "v.h5")
    qb(*out, "-o", tmp_path / "w.h5", "--filter", "hann")
    parts = tmp_path / "v.h5.parts"
    right = (parts / "01.h5").read_bytes()
    shutil.copy(parts / "00.h5", parts / "01.h5")
    fails(3, "info", tmp_path / "v.h5", says=["01.h5", "another part"])
    fails(3, "compare", tmp_path / "v.h5", tmp_path / "v.h5", says=["01.h5", "another part"])
    shutil.copy(tmp_path / "w.h5.parts" / "01.h5", parts / "01.h5")
    fails(3, "info", tmp_path / "v.h5", says=["01.h5", "another volume"])
    os.truncate(parts / "01.h5", len(right) - 64)
    fails(3, "info", tmp_path / "v.h5", says=["01.h5"])
    (parts / "01.h5").write_bytes(right)
    qb("info", tmp_path / "v.h5")


def test_a_reading_process_leaves_the_words_of_a_failure(frames, tmp_path):
    """What is refused after images were read by another process is said in its own words, not in those of that process's end."""
    path = write_scan(tmp_path / "s.h5", np.repeat(frames, 64, 2).astype(">f4"), np.arange(VIEWS) * 15.0, quantity="line_integral")
    fails(2, "plan", "fbp", path, "--center", "7.5", "-o", tmp_path / "o.h5", "--max-ram", "2M", says=["--max-ram", "MiB"])
