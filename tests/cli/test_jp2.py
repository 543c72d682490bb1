# SPDX-License-Identifier: MIT
"""JPEG 2000 views and slices: 1 to 16 bits, below 0 too, in boxes and bare, in tiles, colours; folders; cut, damaged, hostile and mixed files refused."""
import io
import struct

import numpy as np
import pytest
from PIL import Image, features

from qbtest import fails, qb, qb_json

VALUES = np.arange(3 * 70 * 100).reshape(3, 70, 100) * 257 % 65536

pytestmark = [pytest.mark.skipif("OpenJPEG: built in" not in qb("--version").stdout, reason="built without OpenJPEG"),
              pytest.mark.skipif(not features.check("jpg_2000"), reason="Pillow without JPEG 2000")]


def sizes(data):
    """Where the segment of sizes begins, behind its mark."""
    return data.index(b"\xff\x4f\xff\x51") + 4


def jp2(image, bits=None, negative=False, bare=False, **how):
    """Lossless. Pillow writes 8 and 16 bits: for others it is given the numbers by which a smaller range is off the middle, and the type is changed."""
    if bits is None:
        picture = Image.fromarray(image)
    else:
        off = 2**15 if negative else 2**15 - 2 ** (bits - 1)
        picture = Image.fromarray((image + off).astype("u2"))
    out = io.BytesIO()
    picture.save(out, "JPEG2000", no_jp2=bare, num_resolutions=3, **how)
    data = bytearray(out.getvalue())
    if bits:
        data[sizes(data) + 38] = bits - 1 | negative << 7
        if not bare:
            data[data.index(b"ihdr") + 14] = bits - 1 | negative << 7
    return bytes(data)


def same(path, values):
    np.save(path.parent / "want.npy", values)
    assert qb_json("compare", path, path.parent / "want.npy")["max_abs"] == 0


@pytest.mark.parametrize("bits, negative", [(1, False), (8, False), (10, False), (12, False), (16, False), (8, True), (14, True)])
@pytest.mark.parametrize("bare", [False, True])
def test_depths(tmp_path, bits, negative, bare):
    values = VALUES % 2**bits - (2 ** (bits - 1) if negative else 0)
    ending = "j2k" if bare else "jp2"
    folder = tmp_path / "s"
    folder.mkdir()
    for i, image in enumerate(values):
        (folder / f"v_{i:03}.{ending}").write_bytes(jp2(image, bits, negative, bare))
    values = values.astype(("i" if negative else "u") + ("2" if bits > 8 else "1"))
    same(folder, values)
    same(folder / f"v_%03d.{ending}", values)
    same(folder / f"v_001.{ending}", values[1:2])


def test_tiles_layers_and_rows(tmp_path):
    values = (VALUES[:1] % 256).astype("u1")  # of 16 bits Pillow writes tiles that it cannot read either
    (tmp_path / "a.jp2").write_bytes(jp2(values[0], tile_size=(32, 32), codeblock_size=(16, 16), progression="RPCL"))
    same(tmp_path / "a.jp2", values)
    for rows in ((0, 1), (31, 33), (40, 70)):
        qb("convert", "a.jp2", "--as", "projections", "--angles", "0:180", "--quantity", "line_integral", "--crop", f"0:100,{rows[0]}:{rows[1]}", "-o", "c.npy", cwd=tmp_path)
        np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), values[:, rows[0]:rows[1]])


def test_scan_of_views(tmp_path):
    (tmp_path / "s").mkdir()
    for i, image in enumerate(VALUES):
        (tmp_path / f"s/v_{i:03}.jp2").write_bytes(jp2(image, 12))
    told = qb_json("info", "s", "--angles", "0:180", cwd=tmp_path)
    assert told["format"] == "JPEG 2000" and told["views"] == 3 and told["dtype"] == "uint16"


def test_colours(tmp_path):
    colours = (np.arange(70 * 100 * 3).reshape(70, 100, 3) % 251).astype("u1")
    (tmp_path / "a.jp2").write_bytes(jp2(colours, mct=0))
    same(tmp_path / "a.jp2", colours[None, ..., 0])
    assert "colour-images" in qb("convert", tmp_path / "a.jp2", "--volume", "-o", tmp_path / "a.npy").stderr


def patched(data, at, form, *values):
    data = bytearray(data)
    struct.pack_into(form, data, sizes(data) + at, *values)
    return bytes(data)


@pytest.mark.parametrize("step", [(2, 2), (1, 2), (3, 1)])
def test_every_second_pixel(tmp_path, step):
    """The only channel has every second pixel of a finer grid, as mammograms have it: its pixels are the picture."""
    (columns, rows), (u, v) = (100, 70), step
    data = patched(jp2(VALUES[0].astype("u2"), 16, bare=True), 4, ">II", u * columns - (u > 1), v * rows - (v > 1))
    (tmp_path / "a.j2k").write_bytes(patched(patched(data, 20, ">II", u * columns, v * rows), 39, ">BB", u, v))
    same(tmp_path / "a.j2k", VALUES[:1].astype("u2"))
    qb("convert", "a.j2k", "--as", "projections", "--angles", "0:180", "--quantity", "line_integral", "--crop", "0:100,13:40", "-o", "c.npy", cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "c.npy").reshape(27, 100), VALUES[0, 13:40])


def test_refused(tmp_path):
    good = jp2(VALUES[0], 16, bare=True)
    for data, word in ((b"", "b.j2k"), (good[:30], "b.j2k"), (good[:-20], "cannot be read"), (good[:len(good) // 2], "cannot be read"), (b"x" * 99, "begin like"),
                       (patched(good, 4, ">II", 900000, 900000), "b.j2k"), (patched(good, 4, ">II", 0, 70), "b.j2k"), (patched(good, 38, ">B", 23), "24 bits"),
                       (patched(good, 39, ">BB", 0, 2), "b.j2k"), (patched(good, 36, ">H", 0), "b.j2k")):
        (tmp_path / "b.j2k").write_bytes(data)
        fails(3, "compare", tmp_path / "b.j2k", tmp_path / "b.j2k", says=[word])
    (tmp_path / "v_1.jp2").write_bytes(jp2(VALUES[0], 16))
    (tmp_path / "v_2.jp2").write_bytes(jp2(VALUES[0] % 256, 8))
    fails(3, "compare", tmp_path / "v_%d.jp2", tmp_path / "v_%d.jp2", says=["8 bits, the first one"])


def test_as_reported(tmp_path):
    """What public reports about readers name: a picture that is not at its grid's origin, a last part of unknown length, bytes behind it; boxes that
    state no channel, and lengths of parts that cannot be."""
    good = jp2(VALUES[0], 16, bare=True)
    part = good.index(b"\xff\x90") + 2 - sizes(good)
    moved = patched(patched(patched(good, 4, ">I", 108), 12, ">I", 8), 28, ">I", 8)
    for data in (moved, patched(good, part + 4, ">I", 0), good + bytes(500)):
        (tmp_path / "b.j2k").write_bytes(data)
        same(tmp_path / "b.j2k", VALUES[:1].astype("u2"))
    boxed = bytearray(jp2(VALUES[0], 16))
    at = boxed.index(b"ihdr") + 12
    boxed[at : at + 2] = bytes(2)
    for name, data in (("b.jp2", boxed), ("b.j2k", patched(good, part + 4, ">I", 12)), ("b.j2k", patched(good, part + 4, ">I", 2**31))):
        (tmp_path / name).write_bytes(data)
        fails(3, "compare", tmp_path / name, tmp_path / name, says=[name, "cannot be read"])


def test_cut_anywhere(tmp_path):
    """All but the mark at its end is needed."""
    good = jp2(VALUES[0, :20, :30], 16, bare=True)
    (tmp_path / "b.j2k").write_bytes(good)
    qb("compare", "b.j2k", "b.j2k", cwd=tmp_path)
    for end in list(range(4, 120, 13)) + list(range(130, len(good) - 2, len(good) // 12)):
        (tmp_path / "b.j2k").write_bytes(good[:end])
        fails(3, "compare", tmp_path / "b.j2k", tmp_path / "b.j2k", says=["b.j2k"])
