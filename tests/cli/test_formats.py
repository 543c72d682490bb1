# SPDX-License-Identifier: MIT
"""Files of other programs, built by hand from what is written of their formats; tests/peers/test_formats.py has the programs themselves."""
import gzip
import json
import struct
import zlib

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

VALUES = (100 * np.random.default_rng(3).random((4, 5, 6))).astype(np.float32)


def nrrd(values, packed=False, big=False, **more):
    lines = ["NRRD0004", "# by hand", f"type: {'float' if values.dtype == np.float32 else 'unsigned short'}", f"dimension: {values.ndim}",
             "sizes: " + " ".join(map(str, values.shape[::-1])), f"endian: {'big' if big else 'little'}", f"encoding: {'gzip' if packed else 'raw'}",
             *(f"{key.replace('_', ' ')}: {value}" for key, value in more.items())]
    data = values.astype(values.dtype.newbyteorder(">" if big else "<")).tobytes()
    return "\n".join(lines).encode() + b"\n\n" + (gzip.compress(data) if packed else data)


def mha(values):
    return (f"ObjectType = Image\nNDims = 3\nCompressedData = True\nElementSpacing = 0.1 0.2 0.3\nDimSize = {' '.join(map(str, values.shape[::-1]))}\n"
            "ElementType = MET_FLOAT\nElementDataFile = LOCAL\n").encode() + zlib.compress(values.tobytes())


def mrc(values, order="<", extended=80, mode=2):
    words = bytearray(1024)
    struct.pack_into(order + "4i", words, 0, *values.shape[::-1], mode)
    struct.pack_into(order + "3i3f", words, 28, *values.shape[::-1], *(1e7 * n * 0.25 for n in values.shape[::-1]))
    struct.pack_into(order + "3i", words, 64, 1, 2, 3)
    struct.pack_into(order + "i", words, 92, extended)
    words[208:212] = b"MAP "
    return bytes(words) + bytes(extended) + values.astype(values.dtype.newbyteorder(order)).tobytes()


def edf(image, order="LowByteFirst", kind="FloatValue"):
    text = f"{{\nHeaderID = EH:000001:000000:000000 ;\nImage = 1 ;\nByteOrder = {order} ;\nDataType = {kind} ;\nDim_1 = {image.shape[1]} ;\nDim_2 = {image.shape[0]} ;\n"
    return text.ljust(1022).encode() + b"}\n" + image.astype(image.dtype.newbyteorder("<" if order[0] == "L" else ">")).tobytes()


@pytest.mark.parametrize("name, data", [
    ("a.nrrd", nrrd(VALUES)), ("a.nrrd", nrrd(VALUES, packed=True)), ("a.nrrd", nrrd(VALUES, big=True)), ("a.nrrd", nrrd(VALUES, packed=True, big=True)),
    ("no-ending", nrrd(VALUES)), ("a.mha", mha(VALUES)), ("a.mrc", mrc(VALUES)), ("a.mrc", mrc(VALUES, ">")), ("a.st", mrc(VALUES, extended=0)),
    ("a.edf", b"".join(edf(image) for image in VALUES)), ("a.edf", b"".join(edf(image, "HighByteFirst") for image in VALUES)),
])
def test_numbers(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    np.save(tmp_path / "want.npy", VALUES)
    assert qb_json("compare", name, "want.npy", cwd=tmp_path)["rmse"] == 0


def test_a_folder_and_patterns_of_edf(tmp_path):
    (tmp_path / "views").mkdir()
    np.save(tmp_path / "want.npy", VALUES)
    for i, image in enumerate(VALUES):
        (tmp_path / f"views/v_{i:03d}.edf").write_bytes(edf(image))
    (tmp_path / "views/notes.txt").write_text("no image")
    for name in ("views", "views/v_%03d.edf", "views/v_*.edf"):
        assert qb_json("compare", name, "want.npy", cwd=tmp_path)["rmse"] == 0
    assert qb_json("info", "views", cwd=tmp_path)["files"] == "4 files, v_000.edf to v_003.edf"


def test_sizes_of_pixels(tmp_path):
    (tmp_path / "a.nrrd").write_bytes(nrrd(VALUES, spacings="100 200 300", space_units='"um" "um" "um"'))
    (tmp_path / "a.mha").write_bytes(mha(VALUES))
    (tmp_path / "a.mrc").write_bytes(mrc(VALUES))
    for name, u, v in (("a.nrrd", 0.1, 0.2), ("a.mha", 0.1, 0.2), ("a.mrc", 0.25, 0.25)):
        told = qb_json("info", name, cwd=tmp_path)
        assert (told["pixel_size_mm"], told.get("pixel_v_mm", told["pixel_size_mm"])) == (pytest.approx(u), pytest.approx(v))


def test_written_nrrd_comes_back(tmp_path):
    qb("simulate", "foam", "--detector", "32,8", "--views", 40, "-o", "s.npy", "--pixel-size", 0.25, cwd=tmp_path)
    for name in ("v.nrrd", "v.npy"):
        qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 15.5, "-o", name, cwd=tmp_path)
    assert qb_json("compare", "v.nrrd", "v.npy", cwd=tmp_path)["rmse"] == 0
    header = (tmp_path / "v.nrrd").read_bytes().split(b"\n\n")[0].decode()
    assert "space directions: (0.25,0,0) (0,0.25,0) (0,0,0.25)" in header and "sizes: 32 32 8" in header
    qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 15.5, "--dtype", "float16", "-o", "h.nrrd", code=2, cwd=tmp_path)


@pytest.mark.parametrize("name, data, code, words", [
    ("a.nrrd", nrrd(VALUES)[:-7], 3, "do not fit"),
    ("a.nrrd", nrrd(VALUES, packed=True)[:-30], 3, "end too early"),
    ("a.nrrd", nrrd(VALUES, packed=True)[:200] + bytes(120), 3, "compressed data"),
    ("a.nrrd", nrrd(VALUES).replace(b"raw", b"bzip2"), 3, "save it as raw or gzip"),
    ("a.nrrd", nrrd(VALUES, data_file="/etc/passwd"), 3, "outside its own folder"),
    ("a.nrrd", nrrd(VALUES).replace(b"sizes: 6 5 4", b"sizes: 6 5 4000000000000"), 3, "do not fit"),
    ("a.nrrd", nrrd(VALUES, packed=True).replace(b"sizes: 6 5 4", b"sizes: 6 5 40000000"), 3, "cannot be packed"),
    ("a.mrc", mrc(VALUES)[:-3], 3, "do not fit"),
    ("a.mrc", mrc(VALUES, mode=4), 3, "mode is 4"),
    ("a.mrc", bytes(2000), 3, "not an MRC header"),
    ("a.edf", edf(VALUES[0])[:-5], 3, "within an image"),
    ("a.edf", edf(VALUES[0]) + edf(VALUES[0][:3]), 3, "the first one is"),
    ("a.edf", edf(VALUES[0]).replace(b"FloatValue", b"ComplexVal"), 3, "DataType"),
    ("a.edf", b"x" * 600, 3, "no EDF header"),
])
def test_bad_files(tmp_path, name, data, code, words):
    (tmp_path / name).write_bytes(data)
    assert words in qb("info", name, code=code, cwd=tmp_path).stderr


def test_tiff_begins_as_imagej_reads_it(tmp_path):
    """ImageJ takes the unit from the description, and counts pixels a unit in the resolution, whose own unit is open."""
    qb("simulate", "foam", "--detector", "32,8", "--views", 40, "-o", "s.npy", "--pixel-size", 0.25, cwd=tmp_path)
    qb("fbp", "s.npy", "--quantity", "transmission", "--angles", "0:180", "--center", 15.5, "-o", "v.tif", cwd=tmp_path)
    data = (tmp_path / "v.tif").read_bytes()
    assert b"ImageJ=1.54f\nimages=8\nslices=8\nloop=false\nunit=mm\nspacing=0.25\nquickbeam\n" in data
    at, = struct.unpack_from("<I", data, 4)
    entries = {tag: (kind, value) for tag, kind, _, value in (struct.unpack_from("<HHII", data, at + 2 + 12 * i) for i in range(struct.unpack_from("<H", data, at)[0]))}
    number, over = struct.unpack_from("<II", data, entries[282][1])
    assert number / over == 4 and entries[296][1] & 0xffff == 1
    told = qb_json("info", "v.tif", cwd=tmp_path)
    assert told["kind"] == "volume" and told["voxel_mm"] == [0.25, 0.25, 0.25] and told["provenance"]["program"] == "quickbeam"


def test_written_mrc(tmp_path):
    """The header as the standard has it: words by their place; it alone gives back size and place."""
    values = VALUES.astype("f4")
    (tmp_path / "v.nrrd").write_bytes(nrrd(values, space_directions="(0.5,0,0) (0,0.25,0) (0,0,0.125)", space_origin="(0,0,0)"))
    qb("convert", "v.nrrd", "--volume", "-o", "v.mrc", cwd=tmp_path)
    data = (tmp_path / "v.mrc").read_bytes()
    depth, height, width = values.shape
    assert struct.unpack_from("<10i", data) == (width, height, depth, 2, 0, 0, 0, width, height, depth)
    assert struct.unpack_from("<6f", data, 40) == pytest.approx((width * 5e6, height * 2.5e6, depth * 1.25e6, 90, 90, 90))
    assert struct.unpack_from("<3i", data, 64) == (1, 2, 3) and struct.unpack_from("<2i", data, 88) == (1, 0)
    assert data[208:216] == b"MAP \x44\x44\0\0" and data[1024:] == values.tobytes()
    (tmp_path / "v.mrc.json").unlink()
    qb("convert", "v.mrc", "--volume", "-o", "w.npy", cwd=tmp_path)
    told = json.loads((tmp_path / "w.npy.json").read_text())
    assert told["voxel_mm"] == pytest.approx([0.5, 0.25, 0.125]) and told["offset_mm"] == pytest.approx([1.25, 0.5, 0.1875], abs=1e-6)
    for dtype in "uint8", "float64":
        np.save(tmp_path / "a.npy", VALUES.astype(dtype))
        fails(2, "convert", "a.npy", "--volume", "-o", "b.mrc", cwd=tmp_path, says=[f"MRC has no {dtype}"])


def tagged_tiff(path, image, tag, text):
    rows, columns = image.shape
    data, text = image.tobytes(), text.encode().ljust(5, b"\0") + b"\0"  # up to 4 bytes would lie in the directory
    tags = [(256, 3, 1, columns), (257, 3, 1, rows), (258, 3, 1, 8 * image.itemsize), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 1), (278, 3, 1, rows),
            (279, 4, 1, len(data)), (339, 3, 1, {"f": 3, "i": 2, "u": 1}[image.dtype.kind]), (tag, 2, len(text), 8 + len(data))]
    path.write_bytes(b"II*\0" + struct.pack("<I", 8 + len(data) + len(text)) + data + text + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in sorted(tags)) + bytes(4))


def gdal_tiff(path, image, missing):
    tagged_tiff(path, image, 42113, missing)


def test_tiffs_of_another_meaning(tmp_path):
    """A number for missing values, or ImageJ's calibration, that is another in one file of a stack."""
    image = np.arange(1.0, 1201, dtype="f4").reshape(30, 40)
    for i, missing in enumerate(["-9999", "-9999", "-32768"]):
        gdal_tiff(tmp_path / f"a{i}.tif", image, missing)
    fails(3, "info", "a%d.tif", says=["number of pixels without a value (NODATA) is -32768 in a2.tif and -9999 in a0.tif"], cwd=tmp_path)
    gdal_tiff(tmp_path / "a2.tif", image, "none")
    fails(3, "info", "a%d.tif", says=["is nan in a2.tif and -9999 in a0.tif"], cwd=tmp_path)
    gdal_tiff(tmp_path / "a2.tif", image, "-9999.0")
    assert "count as missing" in qb("info", "a%d.tif", cwd=tmp_path).stderr
    for i in range(3):
        tagged_tiff(tmp_path / f"b{i}.tif", image.astype("u2"), 270, f"ImageJ=1.53\ncf=0\nc0={-32768.0 if i < 2 else 0}\nc1=1.0\n")
    fails(3, "info", "b%d.tif", says=["offset of ImageJ's calibration is 0 in b2.tif and -32768 in b0.tif"], cwd=tmp_path)


def test_tiffs_by_another_convention(tmp_path):
    """0 is white, or the first row is at the bottom: the numbers stay, and it is said."""
    for tag, value, words in (262, 0, "states that 0 is white"), (274, 4, "states orientation 4"):
        tagged_tiff(tmp_path / "a.tif", np.ones((3, 4), "u2"), 305, "camera")
        raw = (tmp_path / "a.tif").read_bytes()
        old = struct.pack("<HHII", 262, 3, 1, 1) if tag == 262 else struct.pack("<HHII", 277, 3, 1, 1)
        (tmp_path / "a.tif").write_bytes(raw.replace(old, struct.pack("<HHII", tag, 3, 1, value)))
        said = qb("info", tmp_path / "a.tif")
        assert words in said.stdout + said.stderr and "[image-convention]" in said.stdout + said.stderr


def blank_fits(path, image, *cards):
    head = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    2", f"NAXIS1  = {image.shape[1]:20}", f"NAXIS2  = {image.shape[0]:20}", *cards, "END"]
    path.write_bytes("".join(card.ljust(80) for card in head).ljust(2880).encode() + image.astype(">i2").tobytes().ljust(2880, b"\0"))


@pytest.mark.parametrize("how", ["float", "int16", "uint8 that has none", "uint8 of which 0 is said to be missing", "netcdf", "netcdf scaled", "fits", "fits unsigned"])
def test_missing_values(tmp_path, how):
    """The number that a file names for pixels without a value is NaN, compared as it is stored; the others stay."""
    image = np.arange(1.0, 1201).reshape(30, 40)
    lost = np.zeros(image.shape, bool)
    lost[3:5, :7] = True
    want, name = np.where(lost, np.nan, image), "a.tif"
    if how in ("float", "int16"):
        gdal_tiff(tmp_path / name, np.where(lost, -9999, image).astype("f4" if how == "float" else "i2"), "-9999")
    elif how.startswith("uint8"):
        want = image % 200
        gdal_tiff(tmp_path / name, want.astype("u1"), "0" if "0" in how else "-9999")
    elif how.startswith("netcdf"):
        name, slope = "a.nc", 0.5 if "scaled" in how else 1
        with h5py.File(tmp_path / name, "w") as file:
            file["v"] = np.where(lost, -32768, image).astype("i2")[None]
            file["v"].attrs["_FillValue" if slope == 1 else "missing_value"] = np.int16(-32768)
            if slope != 1:
                file["v"].attrs["scale_factor"], file["v"].attrs["add_offset"] = slope, 3.0
                want = want * slope + 3
    else:
        name, zero = "a.fits", 32768 if "unsigned" in how else 0
        blank_fits(tmp_path / name, np.where(lost, -32768, image - zero), "BLANK   =               -32768", f"BZERO   = {float(zero):20}")
    qb("convert", tmp_path / name, "--volume", "-o", tmp_path / "v.npy")
    assert np.array_equal(np.load(tmp_path / "v.npy").reshape(image.shape), want.astype("f4"), equal_nan=True)
    told = qb_json("info", tmp_path / name, "--as", "projections", "--angles", "0:180")
    assert ("count as missing" in qb("info", tmp_path / name).stdout) == ("uint8" not in how)
    assert told["quantity"] == ("line_integral" if how == "float" else "counts")
    assert any("[not-finite]" in p for p in told["problems"]) == ("uint8" not in how)
    if how == "netcdf":
        with h5py.File(tmp_path / name, "a") as file:
            file["v"].attrs["_FillValue"], file["v"].attrs["missing_value"] = np.int16(-32768), np.int16(1200)
        qb("convert", tmp_path / name, "--volume", "-o", tmp_path / "v.npy")
        assert np.isnan(np.load(tmp_path / "v.npy")).sum() == 15 and qb_json("info", tmp_path / name)["quantity_from"].startswith("assumed: integer")
        with h5py.File(tmp_path / name, "a") as file:
            file["v"].attrs["_FillValue"] = "none"
        assert any("_FillValue is not one number" in p for p in qb_json("info", tmp_path / name)["problems"])


def test_counts_without_a_sign_of_which_some_are_missing(tmp_path):
    """They are stored as signed integers: --unsigned reads them, and the missing one is interpolated."""
    counts = np.arange(1200.0).reshape(30, 40) * 50
    gdal_tiff(tmp_path / "a.tif", np.where(counts == 100, 32768, counts).astype("u2").view("i2"), "-32768")
    qb("convert", tmp_path / "a.tif", "--as", "projections", "--angles", "0:180", "--unsigned", "--quantity", "line_integral", "-o", tmp_path / "v.npy")
    assert np.allclose(np.load(tmp_path / "v.npy").reshape(counts.shape), counts)


@pytest.mark.parametrize("card", ["BLANK   =", "BLANK   = 'none'", "BLANK   =                      / unknown"])
def test_fits_whose_blank_is_no_number(tmp_path, card):
    image = np.arange(-600.0, 600).reshape(30, 40)
    blank_fits(tmp_path / "a.fits", image, card)
    qb("convert", tmp_path / "a.fits", "--volume", "-o", tmp_path / "v.npy")
    assert np.array_equal(np.load(tmp_path / "v.npy").reshape(image.shape), image)
