# SPDX-License-Identifier: MIT
"""Files that cannot be read as they are: what is wrong, and what helps, in one sentence."""
import fcntl
import os
import struct
import time

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, slow, write_scan

tifffile = pytest.importorskip("tifffile")
LINES = np.ones((6, 5, 8), np.float32)


@pytest.fixture
def whole(tmp_path):
    return write_scan(tmp_path / "w.h5", LINES, np.arange(6) * 30.0).read_bytes()


def put(path, data):
    path.write_bytes(data)
    return path


def test_hdf5_that_is_empty_cut_or_something_else(whole, tmp_path):
    n = len(whole)
    fails(3, "info", put(tmp_path / "s.h5", b""), says=["is empty (0 bytes)"])
    fails(3, "info", put(tmp_path / "s.h5", whole[:-100]), says=["is cut short", f"{n - 100} of {n} bytes", "copy it again"])
    fails(3, "info", put(tmp_path / "s.h5", whole[:500]), says=["is cut short", f"500 of {n} bytes"])
    fails(3, "info", put(tmp_path / "s.h5", b"not HDF5" * 100), says=["800 bytes", "does not begin like HDF5"])


def test_hdf5_that_is_being_written(tmp_path):
    """With SWMR what is there is read, and said to be unfinished; without, nothing can be read."""
    with h5py.File(tmp_path / "w.h5", "w", libver="latest") as f:
        f.create_dataset("/exchange/data", data=LINES, maxshape=(None, 5, 8), chunks=(1, 5, 8))
        f.flush()
        plain = (tmp_path / "w.h5").read_bytes()
        f.swmr_mode = True
        swmr = (tmp_path / "w.h5").read_bytes()
    fails(3, "info", put(tmp_path / "p.h5", plain), says=["is being written", "h5clear"])
    told = qb_json("info", put(tmp_path / "s.h5", swmr))
    assert told["views"] == 6 and any("[being-written]" in p for p in told["problems"])
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as f:  # as many views as angles: nothing is missing
        f.create_dataset("/exchange/data", data=LINES, maxshape=(None, 5, 8), chunks=(1, 5, 8))
        f["exchange/theta"] = np.arange(float(len(LINES)))
        f.flush()
        f.swmr_mode = True
        swmr = (tmp_path / "a.h5").read_bytes()
    assert not any("[being-written]" in p for p in qb_json("info", put(tmp_path / "b.h5", swmr))["problems"])
    assert qb_json("compare", tmp_path / "s.h5", write_scan(tmp_path / "t.h5", LINES))["max_abs"] == 0


PLUGIN = ["hdf5plugin", "HDF5_PLUGIN_PATH"]


@pytest.mark.parametrize("number,name,remedy", [(32013, "ZFP", PLUGIN), (32026, "Blosc2", PLUGIN), (32008, "Bitshuffle", PLUGIN), (39999, "unknown", PLUGIN), (305, "LZO", ["h5repack -f NONE"]),
                                                (32000, "LZF", ["only h5py has it", 'compression="gzip"'])])
def test_a_filter_that_is_not_there(tmp_path, number, name, remedy):
    """Optional, as all that h5py writes; the chunks went through it, or say that they did not."""
    for mask in (0, 1):
        with h5py.File(tmp_path / f"m{mask}.h5", "w") as f:
            create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            create.set_chunk((1, 5, 8))
            create.set_filter(number, h5py.h5z.FLAG_OPTIONAL, ())
            group = f.create_group("exchange")
            made = h5py.h5d.create(group.id, b"data", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(LINES.shape), create)
            for i in range(6):
                made.write_direct_chunk((i, 0, 0), LINES[i].tobytes(), mask)
    fails(3, "info", tmp_path / "m0.h5", says=[f"filter {number} ({name})", *remedy])
    assert qb_json("compare", tmp_path / "m1.h5", write_scan(tmp_path / "t.h5", LINES))["max_abs"] == 0


def test_a_group_of_another_program_is_no_dataexchange(tmp_path):
    with h5py.File(tmp_path / "hs.h5", "w") as f:
        f["/Experiments/stack/data"] = LINES
    assert qb_json("info", tmp_path / "hs.h5", "--dataset", "/Experiments/stack")["format"] == "HDF5"
    assert qb_json("info", write_scan(tmp_path / "x.h5", LINES))["format"] == "DataExchange HDF5"


def test_flats_that_are_the_darks(tmp_path):
    same = np.full((2, 5, 8), 900, np.uint16)
    path = write_scan(tmp_path / "s.h5", np.full(LINES.shape, 500, np.uint16), np.arange(6) * 30.0, same, same)
    assert any("no pixel of the flats is brighter" in p for p in qb_json("info", path)["problems"])
    write_scan(path, np.full(LINES.shape, 500, np.uint16), np.arange(6) * 30.0, same, same // 2)
    assert not any("brighter" in p for p in qb_json("info", path)["problems"])


def packed_tiff(image, bits, order, rows_per_strip):
    """Samples of so many bits without gaps, the most significant bit first; rows begin at bytes."""
    rows, columns = image.shape
    lines = [int("".join(f"{v:0{bits}b}" for v in line).ljust(-(-columns * bits // 8) * 8, "0"), 2).to_bytes(-(-columns * bits // 8), "big") for line in image]
    strips = [b"".join(lines[at:at + rows_per_strip]) for at in range(0, rows, rows_per_strip)]
    at, places = 8 + 4 * 2 * len(strips), []
    for strip in strips:
        places.append(at)
        at += len(strip)
    counts = struct.pack(f"{order}{len(strips)}I", *map(len, strips))
    tags = [(256, columns), (257, rows), (258, bits), (259, 1), (262, 1), (273, 8), (277, 1), (278, rows_per_strip), (279, 8 + 4 * len(strips))]
    made = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", at) + struct.pack(f"{order}{len(strips)}I", *places) + counts + b"".join(strips)
    made += struct.pack(order + "H", len(tags))
    for tag, value in tags:
        if len(strips) == 1:  # then it is no place of a list, but the number itself
            value = {273: places[0], 279: len(strips[0])}.get(tag, value)
        made += struct.pack(order + "HHII", tag, 4, len(strips) if tag in (273, 279) else 1, value)
    return made + bytes(4)


@pytest.mark.parametrize("bits", [9, 10, 12, 14, 15])
@pytest.mark.parametrize("order", "<>")
def test_tiff_of_packed_samples(tmp_path, bits, order):
    image = np.random.default_rng(bits).integers(0, 1 << bits, (7, 11))
    image[0, 0], image[6, 10] = 0, (1 << bits) - 1
    put(tmp_path / "p.tif", packed_tiff(image, bits, order, 3))
    np.save(tmp_path / "w.npy", image[None].astype("u2"))
    told = qb_json("info", tmp_path / "p.tif")
    assert told["dtype"] == "uint16" and qb_json("compare", tmp_path / "p.tif", tmp_path / "w.npy")["max_abs"] == 0
    put(tmp_path / "one.tif", packed_tiff(image[:, :1], bits, order, 7))
    np.save(tmp_path / "w.npy", image[None, :, :1].astype("u2"))
    assert qb_json("compare", tmp_path / "one.tif", tmp_path / "w.npy")["max_abs"] == 0
    put(tmp_path / "cut.tif", packed_tiff(image, bits, order, 3).replace(struct.pack(order + "HHII", 257, 4, 1, 7), struct.pack(order + "HHII", 257, 4, 1, 7000)))
    fails(3, "info", tmp_path / "cut.tif", says=["bytes"])


@pytest.mark.parametrize("planar", ["contig", "separate"])
@pytest.mark.parametrize("more", [{}, {"tile": (16, 16)}, {"compression": "zlib"}])
def test_tiff_of_colours(tmp_path, planar, more):
    """The first colour is read, and that is said."""
    image = np.random.default_rng(5).integers(0, 60000, (21, 18, 3)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "rgb.tif", image if planar == "contig" else image.transpose(2, 0, 1).copy(), photometric="rgb", planarconfig=planar, **more)
    np.save(tmp_path / "w.npy", image[None, :, :, 0])
    assert any("[colour-images]" in p for p in qb_json("info", tmp_path / "rgb.tif")["problems"])
    assert qb_json("compare", tmp_path / "rgb.tif", tmp_path / "w.npy")["max_abs"] == 0


def test_tiff_of_other_kinds(tmp_path):
    tifffile.imwrite(tmp_path / "palette.tif", np.zeros((5, 8), np.uint8), photometric="palette", colormap=np.zeros((3, 256), np.uint16))
    fails(3, "info", tmp_path / "palette.tif", says=["colour image", "save it as grey"])


def test_folders_of_other_formats(tmp_path):
    (tmp_path / "d").mkdir()
    fails(3, "info", tmp_path / "d", says=["is empty"])
    for i in range(3):
        put(tmp_path / "d" / f"slice{i}.webp", b"RIFF")
    fails(3, "info", tmp_path / "d", says=["3 files", ".webp", "TIFF"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("stated", ["UTF-8", "UTF-16"])
def test_a_geometry_as_windows_saves_it(tmp_path, encoding, stated):
    qb("simulate", "ball", "--geometry", "cone", "--sod", 500, "--sdd", 800, "--pixel-size", 1, "--detector", "16,8", "--views", 6, "-o", tmp_path / "p.mha",
       "--geometry-out", tmp_path / "g.xml")
    text = (tmp_path / "g.xml").read_text()
    text = text[text.index("?>") + 2:] if text.startswith("<?xml") else text
    if encoding == "utf-8-sig" and stated == "UTF-16":
        stated = "utf-8"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "w.xml").write_bytes(f'{mark}<?xml version="1.0" encoding="{stated}"?>{text}'.encode(encoding))
    pixels = ["--pixel-size", 1]
    for name in ("g.xml", "w.xml"):
        qb("fdk", tmp_path / "p.mha", "-g", tmp_path / name, *pixels, "--quantity", "transmission", "-o", tmp_path / f"{name}.h5")
    assert qb_json("compare", tmp_path / "g.xml.h5", tmp_path / "w.xml.h5")["max_abs"] == 0


@pytest.mark.skipif(os.environ.get("HDF5_USE_FILE_LOCKING") == "FALSE", reason="nothing is locked")
def test_a_scan_that_its_writer_has_locked(tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as f:
        f["/exchange/data"] = LINES
        f.flush()
        fails(3, "info", tmp_path / "w.h5", says=["locked by the program that writes it", "HDF5_USE_FILE_LOCKING=FALSE"])
        assert qb_json("info", tmp_path / "w.h5", env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"})["views"] == 6
    assert qb_json("info", tmp_path / "w.h5")["views"] == 6


@slow
def test_a_lock_that_another_program_holds(tmp_path):
    """It is waited for some seconds, and then the work goes on without it."""
    scan = write_scan(tmp_path / "s.h5", LINES, np.arange(6) * 30.0, quantity="line_integral")
    env = {**os.environ, "QB_TUNING": str(tmp_path / "tuning.json")}
    with open(tmp_path / "tuning.json.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        begin = time.monotonic()
        done = qb("plan", "fbp", scan, "--center", 3, "-o", tmp_path / "v.h5", env=env)
        assert "[tuning-lock]" in done.stderr, done.stderr
        assert time.monotonic() - begin < 300
    assert (tmp_path / "tuning.json").exists()
    (tmp_path / "tuning.json").unlink()
    (tmp_path / "tuning.json.lock").unlink()
    os.mkfifo(tmp_path / "tuning.json.lock")
    qb("plan", "fbp", scan, "--center", 3, "-o", tmp_path / "v.h5", env=env)


def test_a_filter_that_is_not_there_after_a_chunk_that_did_not_need_it(tmp_path):
    """A chunk that does not shrink goes without its filter; the next one does not, and the cause is the same."""
    with h5py.File(tmp_path / "m.h5", "w") as f:
        create = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        create.set_chunk((1, 5, 8))
        create.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
        create.set_fletcher32()
        made = h5py.h5d.create(f.create_group("exchange").id, b"data", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(LINES.shape), create)
        for i in range(6):
            made.write_direct_chunk((i, 0, 0), LINES[i].tobytes(), 3 if i < 3 else 0)
        f["/exchange/theta"] = np.arange(6) * 30.0
    says = ["filter 32015 (Zstandard)", "hdf5plugin", "HDF5_PLUGIN_PATH"]
    fails(3, "fbp", tmp_path / "m.h5", "--quantity", "line_integral", "--center", "3.5", "-o", tmp_path / "v.h5", says=says)
    assert not (tmp_path / "v.h5").exists()


@pytest.mark.parametrize("data,says", [
    (np.ones((1, 6, 5, 8), np.float32), ["4 dimensions", "1 x 6 x 5 x 8", "reshape"]),
    (np.ones((6, 5, 8), np.int64), ["64-bit integers", "astype"]),
    (np.ones((6, 5, 8), np.complex64), ["complex", "astype"]),
    (np.ones((6, 5, 8), bool), ["truth values", "astype"]),
])
def test_arrays_that_are_no_images(tmp_path, data, says):
    fails(3, "info", write_scan(tmp_path / "s.h5", data, np.arange(6) * 30.0), says=says)


def test_numpy_types_that_are_no_images(tmp_path):
    np.save(tmp_path / "s.npy", np.ones((6, 5, 8), np.int64))
    fails(3, "info", tmp_path / "s.npy", says=["its type '<i8' is none of", "astype"])


@pytest.mark.parametrize("made, names", [("h5", ["tif", "npy", "raw", "mha", "dat"]), ("tif", ["h5", "npy", "mha", "xyz"]), ("npy", ["h5", "tif", "raw"]), ("mha", ["h5", "tif"])])
def test_known_by_its_first_bytes(tmp_path, made, names):
    """Whatever its name, in every verb that reads it."""
    qb("simulate", "disc", "-o", tmp_path / "s.h5", "--views", 12, "--detector", "16,4", "--pixel-size", 1, "--truth", tmp_path / f"v.{made}")
    for name in names:
        other = tmp_path / f"other.{name}"
        other.write_bytes((tmp_path / f"v.{made}").read_bytes())
        assert qb_json("compare", other, tmp_path / f"v.{made}")["max_abs"] == 0
        assert qb_json("info", other)["format"] == qb_json("info", tmp_path / f"v.{made}")["format"]
    if made == "h5":
        (tmp_path / "s.tif").write_bytes((tmp_path / "s.h5").read_bytes())
        qb("fbp", "s.tif", "--center", 7.5, "-o", "a.npy", cwd=tmp_path)
        qb("fbp", "s.h5", "--center", 7.5, "-o", "b.npy", cwd=tmp_path)
        assert qb_json("compare", "a.npy", "b.npy", cwd=tmp_path)["max_abs"] == 0
