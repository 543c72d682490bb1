# SPDX-License-Identifier: MIT
"""PNG views and slices: every depth, in seven passes too, colours; folders; cut, damaged, hostile and mixed files refused."""
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from qbtest import fails, qb, qb_json

VALUES = np.arange(3 * 7 * 10).reshape(3, 7, 10) * 257 % 65536
PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]  # first row and column, steps

pytestmark = pytest.mark.skipif("PNG: built in" not in qb("--version").stdout, reason="built without libpng")


def packed_rows(image, bits):
    rows = b""
    for row in image:
        if bits == 16:
            rows += b"\0" + row.astype(">u2").tobytes()
        else:
            digits = "".join(f"{value:0{bits}b}" for value in row.ravel())
            rows += b"\0" + int(digits.ljust(-(-len(digits) // 8) * 8, "0"), 2).to_bytes(-(-len(digits) // 8), "big")
    return rows


def png(image, bits, laced=False, kind=0, size=None):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    parts = [image[r::dr, c::dc] for r, c, dr, dc in PASSES] if laced else [image]
    data = b"".join(packed_rows(part, bits) for part in parts if part.size)
    width, height = size or image.shape[1::-1]
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, laced)) + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


def same(path, values):
    np.save(path.parent / "want.npy", values)
    assert qb_json("compare", path, path.parent / "want.npy")["max_abs"] == 0


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("laced", [False, True])
def test_depths(tmp_path, bits, laced):
    values = (VALUES % 2**bits).astype("u2" if bits == 16 else "u1")
    folder = tmp_path / "s"
    folder.mkdir()
    for i, image in enumerate(values):
        (folder / f"v_{i:03}.png").write_bytes(png(image, bits, laced))
        if bits >= 8:
            np.testing.assert_array_equal(np.array(Image.open(folder / f"v_{i:03}.png")), image)
    same(folder, values)
    same(folder / "v_%03d.png", values)
    same(folder / "v_001.png", values[1:2])


def test_colours_of_pillow(tmp_path):
    colours = (np.arange(7 * 10 * 3).reshape(7, 10, 3) % 256).astype("u1")
    Image.fromarray(colours).save(tmp_path / "a.png")
    same(tmp_path / "a.png", colours[None, ..., 0])
    assert "colour-images" in qb("convert", tmp_path / "a.png", "--volume", "-o", tmp_path / "a.npy").stderr
    Image.fromarray(colours[..., 0]).convert("P").save(tmp_path / "p.png")
    fails(3, "compare", tmp_path / "p.png", tmp_path / "p.png", says=["palette"])


def test_refused(tmp_path):
    good = png(VALUES[0].astype("u2"), 16)
    for data, word in ((b"", "b.png"), (good[:40], "b.png"), (good[:-20], "b.png"), (good[:60] + b"\xff" + good[61:], "cannot be read"), (b"x" * 99, "begin like a PNG"),
                       (png(VALUES[0].astype("u2"), 16, size=(10, 900000)), "cannot be packed"), (png(VALUES[0].astype("u2"), 16, size=(10, 9)), "cannot be read"),
                       (png(VALUES[0].astype("u2"), 16, kind=5), "colour type 5")):
        (tmp_path / "b.png").write_bytes(data)
        fails(3, "compare", tmp_path / "b.png", tmp_path / "b.png", says=[word])
    (tmp_path / "v_1.png").write_bytes(good)
    (tmp_path / "v_2.png").write_bytes(png(VALUES[0] % 256, 8))
    fails(3, "compare", tmp_path / "v_%d.png", tmp_path / "v_%d.png", says=["8 bits, the first one"])
