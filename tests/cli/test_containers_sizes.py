# SPDX-License-Identifier: MIT
"""Files that are longer or shorter than they say, and what else a file says of its own values: right, or refused."""
import json
import os
import shutil
import re

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, write_scan

VIEWS, ROWS, COLUMNS = 12, 4, 16
ANGLES = ["--angles", "0:180"]
FBP = ["--center", "7.5", *ANGLES, "--quantity", "line_integral"]
SHAPE = f"{VIEWS},{ROWS},{COLUMNS}:float32"


@pytest.fixture
def lines():
    return np.random.default_rng(1).uniform(0, 1, (VIEWS, ROWS, COLUMNS)).astype(np.float32)


def image_of(scan, folder, *more):
    qb("fbp", scan, *more, "-o", folder / "image.h5")
    return read_h5(folder / "image.h5")


@pytest.fixture
def truth(lines, tmp_path):
    return image_of(write_scan(tmp_path / "truth.h5", lines), tmp_path, *FBP)


def mha(path, values, local=True, **more):
    """A MetaImage, or a MetaImage header with its data in NAME.raw."""
    kind = {"float32": "MET_FLOAT", "uint16": "MET_USHORT", "uint8": "MET_UCHAR"}[values.dtype.name]
    keys = {"ObjectType": "Image", "NDims": 3, "DimSize": " ".join(map(str, values.shape[::-1])), "ElementType": kind,
            "ElementSpacing": "1 1 1", **more, "ElementDataFile": "LOCAL" if local else path.with_suffix(".raw").name}
    path.write_bytes("".join(f"{k} = {v}\n" for k, v in keys.items()).encode() + (values.tobytes() if local else b""))
    if not local:
        path.with_suffix(".raw").write_bytes(values.tobytes())
    return path


def test_raw_of_another_length(lines, truth, tmp_path):
    """Twice as long, by a header, one byte short: both sizes are said, and what helps."""
    path, shape = tmp_path / "p.raw", ["--shape", SHAPE]
    lines.tofile(path)
    assert (image_of(path, tmp_path, *FBP, *shape) == truth).all()
    whole = path.read_bytes()
    path.write_bytes(2 * whole)
    says = [f"{2 * len(whole)} bytes", f"{len(whole)} more", ":OFFSET"]
    fails(3, "info", path, *shape, says=says)
    fails(3, "fbp", path, *FBP, *shape, "-o", tmp_path / "o.h5", says=says)
    assert (image_of(path, tmp_path, *FBP, "--shape", SHAPE + ":0") == truth).all()  # only the first half, as is said
    path.write_bytes(512 * b"h" + whole)
    fails(3, "info", path, *shape, says=["512 more"])
    assert (image_of(path, tmp_path, *FBP, "--shape", SHAPE + ":512") == truth).all()
    path.write_bytes(whole[:-1])
    fails(3, "info", path, *shape, says=[f"{len(whole) - 1} bytes"])


def test_a_raw_series_of_another_length(lines, truth, tmp_path):
    for i in range(VIEWS):
        lines[i].tofile(tmp_path / f"p{i:02}.raw")
    shape = ["--shape", SHAPE]
    assert (image_of(tmp_path / "p*.raw", tmp_path, *FBP, *shape) == truth).all()
    for i in range(VIEWS):
        (tmp_path / f"p{i:02}.raw").write_bytes(64 * b"h" + lines[i].tobytes())
    fails(3, "info", tmp_path / "p*.raw", *shape, says=["64 more"])
    assert (image_of(tmp_path / "p*.raw", tmp_path, *FBP, "--shape", SHAPE + ":64") == truth).all()


def test_npy_of_another_length(lines, truth, tmp_path):
    path = tmp_path / "p.npy"
    np.save(path, lines)
    assert (image_of(path, tmp_path, *FBP) == truth).all()
    whole = path.read_bytes()
    with open(path, "ab") as f:
        np.save(f, lines)
    fails(3, "info", path, says=["p.npy", "more than 12 x 4 x 16", "file of its own"])
    fails(3, "compare", path, path, says=["p.npy", "more than"])
    path.write_bytes(whole[:-4])
    fails(3, "info", path, says=["do not fit"])


@pytest.mark.parametrize("local", [True, False])
def test_metaimages_of_another_length(lines, truth, tmp_path, local):
    path = mha(tmp_path / "p.mha", lines, local)
    data = path if local else path.with_suffix(".raw")
    assert (image_of(path, tmp_path, *FBP) == truth).all()
    whole = data.read_bytes()
    data.write_bytes(whole + lines.tobytes())
    fails(3, "info", path, says=[f"{lines.nbytes} more", "DimSize"])
    data.write_bytes(whole[:-1])
    fails(3, "info", path, says=["do not fit"])
    if not local:  # a header that nobody mentions
        data.write_bytes(100 * b"h" + whole)
        fails(3, "info", path, says=["100 more", "HeaderSize"])
        mha(path, lines, False, HeaderSize=100)
        data.write_bytes(100 * b"h" + whole)
        assert (image_of(path, tmp_path, *FBP) == truth).all()


@pytest.mark.parametrize("how", ["shape", "type", "shape of raw"])
def test_a_json_of_another_array(lines, tmp_path, how):
    name = "p.raw" if how == "shape of raw" else "p.npy"
    scan = write_scan(tmp_path / "s.h5", lines, np.arange(VIEWS) * 15.0, quantity="line_integral", pixel=0.5)
    qb("convert", scan, "-o", tmp_path / name)
    assert qb_json("info", tmp_path / name)["quantity"] == "line_integral"
    if how == "type":
        np.save(tmp_path / name, (lines * 100).astype(np.uint16))
        fails(3, "info", tmp_path / name, says=["p.npy.json", "float32", "uint16"])
    elif how == "shape":
        np.save(tmp_path / name, lines[:, :2])
        fails(3, "info", tmp_path / name, says=["p.npy.json states the shape [12,4,16]", "holds [12,2,16]"])
        os.remove(tmp_path / "p.npy.json")
        qb("info", tmp_path / name)
    else:
        np.concatenate([lines, lines]).tofile(tmp_path / name)
        fails(3, "info", tmp_path / name, says=["its .json is of another file"])


@pytest.mark.parametrize("text, says", [
    ("[", "is not valid JSON"), *((f'{{"writer": "quickbeam", "shape": {shape}}}', f"states the shape {shape}") for shape in ('["12",4,16]', "[12,4]", "[12,4,16,1]", '"12"', "null"))])
def test_a_json_of_no_use(lines, tmp_path, text, says):
    np.save(tmp_path / "p.npy", lines)
    (tmp_path / "p.npy.json").write_text(text)
    fails(3, "info", tmp_path / "p.npy", says=["p.npy.json", says])


@pytest.mark.parametrize("text", ["[]", "null", '"quickbeam"'])
def test_a_json_of_another_program(lines, tmp_path, text):
    """No object is none of ours: it is said, and what is given for it is enough."""
    lines.astype("f4").tofile(tmp_path / "p.raw")
    (tmp_path / "p.raw.json").write_text(text)
    fails(3, "info", tmp_path / "p.raw", says=["give --shape"])
    told = qb_json("info", tmp_path / "p.raw", "--shape", ",".join(map(str, lines.shape)) + ":float32")
    assert any("is no JSON object" in p for p in told["problems"]) and told["views"] == len(lines)


def test_a_json_that_is_older(lines, tmp_path):
    scan = write_scan(tmp_path / "s.h5", lines, np.arange(VIEWS) * 15.0, quantity="line_integral")
    qb("convert", scan, "-o", tmp_path / "p.npy")
    told = qb_json("info", tmp_path / "p.npy")
    assert not any("older-json" in p for p in told["problems"])
    os.utime(tmp_path / "p.npy.json", (1e9, 1e9))
    told = qb_json("info", tmp_path / "p.npy")
    assert any("[older-json]" in p for p in told["problems"])


@pytest.mark.parametrize("name", ["p.npy", "p.raw", "p.nrrd", "p.den", "p.mrc", "p.nii", "p.nii.gz", "p.vol"])
def test_a_json_of_another_file(lines, tmp_path, name):
    """Of the same shape and type, copied to the same name."""
    scan = write_scan(tmp_path / "s.h5", lines, np.arange(VIEWS) * 15.0, quantity="line_integral")
    other = write_scan(tmp_path / "t.h5", lines + 1, np.arange(VIEWS) * 15.0, quantity="line_integral")
    qb("convert", scan, "-o", tmp_path / name)
    assert "[older-json]" not in qb("info", tmp_path / name).stdout
    qb("convert", other, "-o", tmp_path / f"other{name}")
    shutil.copy(tmp_path / f"other{name}", tmp_path / name)
    assert "is another one" in qb("info", tmp_path / name).stdout


@pytest.mark.parametrize("kind", ["mha", "h5", "chunked"])
def test_values_that_are_scaled(lines, tmp_path, kind):
    """Stored as 16-bit integers with a slope and an offset: the same image as of the numbers they stand for."""
    stored = np.round(lines * 1000).astype(np.uint16)
    slope, offset = 0.002, -0.25
    meant = write_scan(tmp_path / "meant.h5", (slope * stored.astype(np.float64) + offset).astype(np.float32))
    if kind == "mha":
        path = mha(tmp_path / "p.mha", stored, ElementToIntensityFunctionSlope=slope, ElementToIntensityFunctionOffset=offset)
    else:
        path = write_scan(tmp_path / "p.h5", stored, **({} if kind == "h5" else dict(chunks=(2, 3, 16), compression="gzip")))
        with h5py.File(path, "a") as f:
            f["/exchange/data"].attrs["scale_factor"] = slope
            f["/exchange/data"].attrs["add_offset"] = offset
    for more in ([], ["--views", "1:12:3", "--slices", "1:3"]):
        assert (image_of(path, tmp_path, *FBP, *more) == image_of(meant, tmp_path, *FBP, *more)).all()
    assert any("[scaled-values]" in p and "0.002" in p for p in qb_json("info", path, *ANGLES)["problems"])
    assert qb_json("compare", path, meant)["max_abs"] == 0
    with_slope_0 = tmp_path / "zero.mha"
    mha(with_slope_0, stored, ElementToIntensityFunctionSlope=0)
    fails(3, "info", with_slope_0, says=["0 times"])
