# SPDX-License-Identifier: MIT
"""How numbers are stored: byte order, signed counts, pixel sizes, files that are no scans, and lists of angles. The truth is the
attenuation of a disc of radius 20 mm, 0.02/mm."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, write_scan
from test_values import ANGLES, N, ROWS, VIEWS, codes, counted, disc, inside, problems

RAW = ["--angles", "0:180", "--pixel-size", 1]


@pytest.fixture(scope="module")
def counts():
    return [part.astype("u2") for part in counted()]


@pytest.mark.parametrize("verb", ["fbp", "sirt", "cgls", "mbir", "center", "convert"])
def test_counts_in_the_other_byte_order(tmp_path, counts, verb):
    out = [] if verb == "center" else ["-o", tmp_path / "v.npy"]
    how = [*RAW, *(["--iterations", 2] if verb in ("sirt", "cgls") else [])]
    for name, part in zip("vfd", counts):
        part.byteswap().tofile(tmp_path / f"{name}.raw")
    given = ["--flats", tmp_path / "f.raw", "--darks", tmp_path / "d.raw"]
    shape = f"{VIEWS},{ROWS},{N}:uint16"
    fails(3, verb, tmp_path / "v.raw", "--shape", shape, *how, *given, *out, says=["the byte order is wrong", "--shape"])
    fails(3, verb, tmp_path / "v.raw", "--shape", shape, *how, "--air", "99.9%", *out, says=["the byte order is wrong"])
    assert not codes(qb(verb, tmp_path / "v.raw", "--shape", shape + "big", *how, *given, *out))


@pytest.mark.parametrize("kind", ["u4", "i2", "f4", "f8", "f2"])
def test_other_numbers_in_the_other_byte_order(tmp_path, kind):
    values = np.round(60000 * np.exp(-disc(0.02))) if kind == "u4" else np.round(30000 * np.exp(-disc(0.02))) if kind == "i2" else disc(0.02)
    values = (values + np.random.default_rng(1).normal(0, 20 if kind[0] in "ui" else 0.002, values.shape)).astype(kind)
    quantity = "counts" if kind[0] in "ui" else "line_integral"
    bad = write_scan(tmp_path / "b.h5", values.byteswap(), ANGLES, pixel=1, quantity=quantity)
    good = write_scan(tmp_path / "g.h5", values, ANGLES, pixel=1, quantity=quantity)
    assert "byteswap" in problems(bad)["scan-unusable"]
    fails(3, "fbp", bad, "--air", "0:4,0:4", "-o", tmp_path / "v.npy", says=["the byte order is wrong"])
    assert "scan-unusable" not in problems(good)


@pytest.mark.parametrize("beam", [3, 20, 250, 260, 400, 65000])
def test_few_and_many_counts_are_in_order(tmp_path, beam):
    """Noise alone, and counts about the step from one byte to two."""
    rng = np.random.default_rng(beam)
    views = rng.poisson(beam * np.exp(-disc(0.02))).astype("u2")
    scan = write_scan(tmp_path / "s.h5", views, ANGLES, rng.poisson(beam, (40, ROWS, N)).astype("u2"), np.zeros((2, ROWS, N), "u2"), pixel=1)
    assert "scan-unusable" not in problems(scan)
    pattern = rng.uniform(0.5, 1.5, (ROWS, N))  # pixels of different gain
    scan = write_scan(tmp_path / "p.h5", (views * pattern).astype("u2"), ANGLES, pixel=1)
    assert "scan-unusable" not in problems(scan)


def test_counts_less_half_of_their_range(tmp_path, counts):
    """Darks show that 32768 was taken off: only differences from them count."""
    less = [(part.astype("i4") - 32768).clip(-32768).astype("i2") for part in counts]
    scan = write_scan(tmp_path / "s.h5", less[0], ANGLES, less[1], less[2], pixel=1)
    assert problems(scan) == {}
    assert not codes(qb("fbp", scan, "-o", tmp_path / "v.npy")) and inside(tmp_path / "v.npy") == pytest.approx(0.02, rel=0.01)
    scan = write_scan(tmp_path / "n.h5", np.minimum(less[0], -6000), ANGLES, pixel=1)
    fails(3, "fbp", scan, "--air", "0:4,0:4", "-o", tmp_path / "v.npy", says=["--unsigned", "add 32768"])


@pytest.mark.parametrize("size,stated,code", [(500, None, "pixel-size-odd"), (5e-7, None, "pixel-size-odd"), (5, 1, "pixel-size-differs"), (0.2, 1, "pixel-size-differs"),
                                              (4, 1, None), (0.25, 1, None), (1e-5, None, None), (None, 500, "pixel-size-odd")])
def test_pixel_sizes_that_cannot_be(tmp_path, size, stated, code):
    scan = write_scan(tmp_path / "s.h5", disc(0.02).astype("f4"), ANGLES, pixel=stated, quantity="line_integral")
    how = ["--pixel-size", size] if size else []
    assert set(problems(scan, *how)) == ({code} if code else set())
    done = qb("fbp", scan, *how, "-o", tmp_path / "v.npy")
    assert codes(done) == ({code} if code else set())
    assert inside(tmp_path / "v.npy") == pytest.approx(0.02 / (size or stated), rel=0.01)


def test_no_darks_of_transmissions(tmp_path):
    values = np.exp(-disc(0.02)).astype("f4")
    scan = write_scan(tmp_path / "t.h5", values, ANGLES, pixel=1, quantity="transmission")
    fails(2, "fbp", scan, "--darks", "none", "-o", tmp_path / "v.npy", says=["--darks none", "transmission"])
    scan = write_scan(tmp_path / "c.h5", values, ANGLES, np.full((2, ROWS, N), 5e4, "f4"), np.full((2, ROWS, N), 100, "f4"), pixel=1)
    for verb in ("fbp", "convert", "center"):
        out = [] if verb == "center" else ["-o", tmp_path / "v.npy"]
        said = fails(3, verb, scan, *out, says=["look like transmissions", "--quantity transmission"])
        assert "--darks none" not in said
    qb("fbp", scan, "--quantity", "transmission", "-o", tmp_path / "v.npy")
    assert inside(tmp_path / "v.npy") == pytest.approx(0.02, rel=0.01)


@pytest.mark.parametrize("verb", ["convert", "center"])
def test_convert_and_center_look_at_levels(tmp_path, counts, verb):
    """The same words as of methods."""
    out = [] if verb == "center" else ["-o", tmp_path / "v.npy"]
    views, flats, darks = counts
    scan = write_scan(tmp_path / "s.h5", views, ANGLES, flats, darks, pixel=1)
    assert not codes(qb(verb, scan, *out))
    scan = write_scan(tmp_path / "s.h5", views, ANGLES, (flats // 1.4).astype("u2"), darks, pixel=1)
    assert "bright-air" in codes(qb(verb, scan, *out))
    np.save(tmp_path / "c.npy", views.astype("f4"))
    fails(3, verb, tmp_path / "c.npy", *RAW, *out, says=["look like counts"])


def test_files_that_are_no_scans(tmp_path):
    lines = disc(0.02).astype("f4")
    np.save(tmp_path / "four.npy", lines[None])
    fails(3, "fbp", tmp_path / "four.npy", *RAW, "-o", tmp_path / "v.npy", says=[f"(1, {VIEWS}, {ROWS}, {N})", "squeeze"])
    np.savez(tmp_path / "s.npz", lines)
    fails(3, "fbp", tmp_path / "s.npz", *RAW, "-o", tmp_path / "v.npy", says=["numpy.save"])
    for name, begin, says in [("a.dcm", bytes(128) + b"DICM", "DICOM"), ("a.gz", b"\x1f\x8b\x08\0", "gunzip")]:
        (tmp_path / name).write_bytes(begin + bytes(64))
        fails(3, "info", tmp_path / name, says=[says])
    with h5py.File(tmp_path / "k.nxs", "w") as f:
        entry = f.create_group("entry")
        entry.attrs["NX_class"], entry["definition"] = "NXentry", "NXtomo"
        f["entry/instrument/detector/data"] = lines
        f["entry/instrument/detector/image_key"] = ["0"] * VIEWS
    fails(3, "info", tmp_path / "k.nxs", says=["image_key holds text"])
    old = '<?xml version="1.0"?>\n<RTKThreeDCircularGeometry version="1"></RTKThreeDCircularGeometry>'
    (tmp_path / "g.xml").write_text(old)
    np.save(tmp_path / "l.npy", lines)
    fails(3, "fdk", tmp_path / "l.npy", "-g", tmp_path / "g.xml", "-o", tmp_path / "v.npy", says=["version is 1"])
    flats = np.ones((2, N, ROWS), "f4")
    np.save(tmp_path / "f.npy", flats)
    fails(3, "fbp", tmp_path / "l.npy", *RAW, "--flats", tmp_path / "f.npy", "-o", tmp_path / "v.npy", says=[f"{N} x {ROWS}", f"{ROWS} x {N}", "exchanged"])


def test_images_of_no_bytes(tmp_path):
    """A view that was never written is left out by its number."""
    scan = write_scan(tmp_path / "s.h5", disc(0.02).astype("f4"), ANGLES, pixel=1, quantity="line_integral")
    (tmp_path / "t").mkdir()
    said = qb("convert", scan, "-o", tmp_path / "t" / "p_%04d.tif").stderr
    assert f"keeps no angles: give --angles 0:180:{VIEWS}" in said
    for gone in (0, 41):
        (tmp_path / "t" / f"p_{gone:04d}.tif").write_bytes(b"")
    fails(3, "fbp", tmp_path / "t", *RAW, "-o", tmp_path / "v.npy", says=["2 of 90 images", "0 bytes", "image 0", "--exclude"])
    qb("fbp", tmp_path / "t", *RAW, "--exclude", "0,41", "-o", tmp_path / "v.npy")
    assert inside(tmp_path / "v.npy") == pytest.approx(0.02, rel=0.01)


def test_lists_of_angles(tmp_path):
    np.save(tmp_path / "l.npy", disc(0.02).astype("f4"))
    text = "\r\n".join(map(str, ANGLES))

    def refused(name, says):
        fails(3, "fbp", tmp_path / "l.npy", "--angles", tmp_path / name, "-o", tmp_path / "v.npy", says=says)

    (tmp_path / "w.txt").write_bytes(text.encode("utf-16-le"))
    refused("w.txt", ["UTF-16", "UTF-8"])
    np.savez(tmp_path / "a.npz", ANGLES)
    refused("a.npz", ["ZIP archive"])
    (tmp_path / "few.txt").write_text("\n".join(map(str, ANGLES[:-1])))
    refused("few.txt", [f"{VIEWS - 1} angles", f"{VIEWS} views", "one angle for each stored view"])
    (tmp_path / "more.txt").write_text("\n".join(map(str, [*ANGLES, 180])))
    refused("more.txt", [f"{VIEWS + 1} angles", "FILE:A:B:S"])
    done = qb("convert", tmp_path / "l.npy", "--angles", "0:90", "-o", tmp_path / "l.mha")
    assert "keeps no angles: give --angles 0:90:90" in done.stderr
    assert "keeps no angles" not in qb("convert", tmp_path / "l.npy", "--angles", "0:90", "-o", tmp_path / "l.h5").stderr


def test_a_volume_of_nothing_to_project(tmp_path):
    volume = np.full((ROWS, N, N), np.nan, "f4")
    how = ["--geometry", "parallel", "--views", 20, "--detector", f"{N},{ROWS}", "--angles", "0:180", "--pixel-size", 1, "--voxel", 1]
    np.save(tmp_path / "n.npy", volume)
    fails(3, "project", tmp_path / "n.npy", *how, "-o", tmp_path / "p.npy", says=["NaN"])
    volume[1:] = 0.01
    np.save(tmp_path / "n.npy", volume)
    assert "nan-slices" in codes(qb("project", tmp_path / "n.npy", *how, "-o", tmp_path / "p.npy"))
    assert json.loads((tmp_path / "p.npy.json").read_text()) and qb_json("info", tmp_path / "p.npy")


@pytest.mark.parametrize("verb", ["info", "fbp", "sirt", "mbir", "convert"])
def test_line_integrals_of_nothing(tmp_path, verb):
    """Zeros in all views, as of a file that was never written."""
    scan = write_scan(tmp_path / "s.h5", np.zeros((VIEWS, ROWS, N), "f4"), ANGLES, pixel=1, quantity="line_integral")
    words = f"all {VIEWS} views hold one value, 0"
    if verb == "info":
        assert words in problems(scan)["views-constant"]
        return
    how = {"sirt": ["--iterations", 1, "--center", "middle"], "convert": []}.get(verb, ["--center", "middle"])
    assert words in qb(verb, scan, *how, "-o", tmp_path / "v.npy").stderr
