# SPDX-License-Identifier: MIT
"""JPEG 2000 of imagecodecs is read, number for number, and arrays and angles of scipy's MATLAB files."""
import json

import imagecodecs
import numpy as np
import pytest
import scipy.io

from qbtest import qb, qb_json

SHAPE = 3, 70, 101


@pytest.mark.parametrize("bits, dtype", [(8, "u1"), (10, "u2"), (12, "u2"), (14, "u2"), (16, "u2"), (8, "i1"), (16, "i2")])
@pytest.mark.parametrize("ending", ["jp2", "j2k"])
@pytest.mark.parametrize("how", [{}, {"resolutions": 1}, {"resolutions": 5}])
def test_jpeg_2000(tmp_path, bits, dtype, ending, how):
    low = -2 ** (bits - 1) if dtype[0] == "i" else 0
    values = np.random.default_rng(bits).integers(low, low + 2**bits, SHAPE).astype(dtype)
    values[1] = low  # one that takes next to no bytes
    (tmp_path / "v").mkdir()
    for i, image in enumerate(values):
        (tmp_path / f"v/v_{i:03}.{ending}").write_bytes(imagecodecs.jpeg2k_encode(image, level=0, reversible=True, codecformat=ending, bitspersample=bits, **how))
    np.save(tmp_path / "want.npy", values)
    assert qb_json("compare", "v", "want.npy", cwd=tmp_path)["max_abs"] == 0


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"])
def test_matlab(tmp_path, dtype, packed):
    values = (100 * np.random.default_rng(7).random((5, 4, 6))).astype(dtype)
    turn = np.array([0, 40, 90, 100]).astype(dtype)
    scipy.io.savemat(tmp_path / "a.mat", {"views": values, "theta": turn, "a_long_name_of_angles": turn[:, None], "word": "text", "cell": {"x": 1}}, do_compression=packed)
    np.save(tmp_path / "want.npy", values.T)
    assert qb_json("compare", "a.mat", "want.npy", cwd=tmp_path)["max_abs"] == 0
    np.save(tmp_path / "p.npy", np.random.default_rng(8).random((4, 3, 5)).astype("f4"))
    for name in "theta", "a_long_name_of_angles":
        qb("convert", "p.npy", "--quantity", "line_integral", "--angles", f"a.mat:/{name}", "-o", "l.npy", cwd=tmp_path)
        assert json.loads((tmp_path / "l.npy.json").read_text())["angles_degrees"] == pytest.approx(list(turn))
