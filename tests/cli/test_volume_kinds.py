# SPDX-License-Identifier: MIT
"""NIfTI, .vol with its texts, DEN and FITS as others write them: right values, lengths and directions; cut, empty, hostile and in the other byte order."""
import gzip
import json
import struct
import zlib

import numpy as np
import pytest

from qbtest import fails, qb, qb_json

VALUES = np.arange(2 * 3 * 4).reshape(2, 3, 4)  # no axis is like another, nor like itself in reverse


def nifti(values, order="<", version=1, units=2, code=1, step=(0.5, 0.25, 0.125), first=(1, 2, 3), slope=0.0, form="s", size=None):
    kind = {"u1": 2, "i2": 4, "i4": 8, "f4": 16, "f8": 64, "i1": 256, "u2": 512, "u4": 768}[values.dtype.str[1:]]
    shape = size or [3, *values.shape[::-1], 1, 1, 1, 1]
    pixdim = [1.0, *step, 0, 0, 0, 0]
    rows = [x for i in range(3) for x in [*(step[i] * (i == j) for j in range(3)), first[i]]]
    turn = [0.0, 0.0, 0.0, *map(float, first)]
    q, s = (code, 0) if form == "q" else (0, code)
    if version == 1:
        head = bytearray(352)
        struct.pack_into(order + "i", head, 0, 348)
        struct.pack_into(order + "8h", head, 40, *shape)
        struct.pack_into(order + "hh", head, 70, kind, 8 * values.itemsize)
        struct.pack_into(order + "8f", head, 76, *pixdim)
        struct.pack_into(order + "fff", head, 108, 352, slope, 5)
        head[123] = units
        struct.pack_into(order + "hh", head, 252, q, s)
        struct.pack_into(order + "6f12f", head, 256, *turn, *rows)
        head[344:348] = b"n+1\0"
    else:
        head = bytearray(544)
        struct.pack_into(order + "i", head, 0, 540)
        head[4:12] = b"n+2\0\r\n\x1a\n"
        struct.pack_into(order + "hh", head, 12, kind, 8 * values.itemsize)
        struct.pack_into(order + "8q", head, 16, *shape)
        struct.pack_into(order + "8d", head, 104, *pixdim)
        struct.pack_into(order + "qdd", head, 168, 544, slope, 5)
        struct.pack_into(order + "ii", head, 344, q, s)
        struct.pack_into(order + "6d12d", head, 352, *turn, *rows)
        struct.pack_into(order + "i", head, 500, units)
    return bytes(head) + values.astype(values.dtype.newbyteorder(order)).tobytes()


def fits(values, zero=0, extension=False):
    def block(*cards):
        return "".join(card.ljust(80) for card in (*cards, "END")).ljust(2880).encode()
    bits = -8 * values.itemsize if values.dtype.kind == "f" else 8 * values.itemsize
    axes = [f"NAXIS   = {3:20}", *(f"NAXIS{i + 1}  = {n:20}" for i, n in enumerate(values.shape[::-1]))]
    first = block(f"SIMPLE  = {'T':>20}", f"BITPIX  = {8:20}", f"NAXIS   = {0:20}") if extension else b""
    start = "XTENSION= 'IMAGE   '" if extension else f"SIMPLE  = {'T':>20}"
    data = values.astype(values.dtype.newbyteorder(">")).tobytes()
    return first + block(start, f"BITPIX  = {bits:20}", *axes, f"BZERO   = {zero:20}") + data + bytes(-len(data) % 2880)


def packed_fits(values, kind="GZIP_1", *more):
    """A table whose rows are the compressed rows of the images."""
    bits, code = 8 * values.itemsize, {1: "B", 2: "I", 4: "J"}[values.itemsize]
    rows = [gzip.compress(row.astype(row.dtype.newbyteorder(">")).tobytes()) for row in values.reshape(-1, values.shape[-1])]
    places = np.cumsum([0, *map(len, rows)])
    table = b"".join(struct.pack(">ii", len(row), at) for row, at in zip(rows, places))
    cards = ["XTENSION= 'BINTABLE'", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", f"NAXIS2  = {len(rows)}", f"PCOUNT  = {places[-1]}", "GCOUNT  = 1", "TFIELDS = 1",
             "TTYPE1  = 'COMPRESSED_DATA'", "TFORM1  = '1PB(999)'", "ZIMAGE  = T", f"ZBITPIX = {bits}", "ZNAXIS  = 3", *(f"ZNAXIS{i + 1} = {n}" for i, n in enumerate(values.shape[::-1])),
             f"ZTILE1  = {values.shape[-1]}", "ZTILE2  = 1", "ZTILE3  = 1", f"ZCMPTYPE= '{kind}'", *more]
    def block(cards):
        text = "".join(card.ljust(80) for card in (*cards, "END"))
        return text.ljust(-(-len(text) // 2880) * 2880).encode()
    data = table + b"".join(rows)
    return block([f"SIMPLE  = {'T':>20}", f"BITPIX  = {8:20}", f"NAXIS   = {0:20}", "EXTEND  =                    T"]) + block(cards) + data + bytes(-len(data) % 2880)


@pytest.mark.parametrize("cards", [[], ["BZERO   = 32768"], ["BSCALE  = 0.5", "BZERO   = 3"]], ids=["plain", "unsigned", "scaled"])
def test_missing_values_of_packed_fits(tmp_path, cards):
    stored = VALUES.astype("i2")
    stored[1, 1, :2] = -32768
    (tmp_path / "a.fits").write_bytes(packed_fits(stored, "GZIP_1", "BLANK   = -32768", *cards))
    scale, zero = (0.5, 3) if len(cards) > 1 else (1, 32768 if cards else 0)
    qb("convert", tmp_path / "a.fits", "--volume", "-o", tmp_path / "b.npy")
    want = np.where(stored == -32768, np.nan, stored.astype("f4") * scale + zero)
    assert np.array_equal(np.load(tmp_path / "b.npy"), want.astype("f4"), equal_nan=True)


def edf(values, order="<", **more):
    words = {"u1": "UnsignedByte", "u2": "UnsignedShort", "f4": "FloatValue"}
    keys = {"DataType": words[values.dtype.str[1:]], "ByteOrder": "HighByteFirst" if order == ">" else "LowByteFirst", "Dim_1": values.shape[1], "Dim_2": values.shape[0], **more}
    head = "{\n" + "".join(f"{key} = {value} ;\n" for key, value in keys.items())
    return (head.ljust(510) + "}\n").encode() + values.astype(values.dtype.newbyteorder(order)).tobytes()


def element(kind, data, order="<", size=None):
    return struct.pack(order + "II", kind, len(data) if size is None else size) + data + bytes(-len(data) % 8)


def mat(arrays, order="<", packed=False, flags=0):
    """MATLAB's level 5 layout of {name: (index first, index second, ...)}; (class, stored type) of each by its numbers, or stated."""
    kinds = {"i1": (8, 1), "u1": (9, 2), "i2": (10, 3), "u2": (11, 4), "i4": (12, 5), "u4": (13, 6), "f4": (7, 7), "f8": (6, 9)}
    out = b"MATLAB 5.0 MAT-file, by a test".ljust(124) + struct.pack(order + "H", 0x0100) + (b"IM" if order == "<" else b"MI")
    for name, values in arrays.items():
        values, kind = values if isinstance(values, tuple) else (values, kinds[values.dtype.str[1:]][0])
        word = name.encode()
        named = struct.pack(order + "HH" if order == "<" else ">HH", *((1, len(word)) if order == "<" else (len(word), 1))) + word.ljust(4, b"\0") if len(word) <= 4 else element(1, word, order)
        numbers = values.astype(values.dtype.newbyteorder(order)).tobytes(order="F")
        body = (element(6, struct.pack(order + "II", kind | flags, 0), order) + element(5, struct.pack(order + f"{values.ndim}i", *values.shape), order) + named
                + element(kinds[values.dtype.str[1:]][1], numbers, order))
        whole = element(14, body, order)
        data = zlib.compress(whole)
        out += struct.pack(order + "II", 15, len(data)) + data if packed else whole
    return out


def test_units_and_conventions_of_headers(tmp_path):
    """Units of lengths of each axis; one that is no length takes the sizes away, and is said."""
    values = VALUES.astype("f4")
    sizes = " ".join(map(str, values.shape[::-1]))
    def nrrd(*lines):
        (tmp_path / "a.nrrd").write_bytes("\n".join(["NRRD0004", "type: float", "dimension: 3", f"sizes: {sizes}", "endian: little", "encoding: raw", *lines, "", ""]).encode() + values.tobytes())
        done = qb("convert", tmp_path / "a.nrrd", "--volume", "-o", tmp_path / "a.npy")
        return json.loads((tmp_path / "a.npy.json").read_text()).get("voxel_mm"), done.stderr
    def mha(unit):
        head = f"ObjectType = Image\nNDims = 3\nDimSize = {sizes}\nElementType = MET_FLOAT\nElementSpacing = 5 5 5\nDistanceUnits = {unit}\nElementDataFile = LOCAL\n"
        (tmp_path / "a.mha").write_bytes(head.encode() + values.tobytes())
        done = qb("convert", tmp_path / "a.mha", "--volume", "-o", tmp_path / "a.npy")
        return json.loads((tmp_path / "a.npy.json").read_text()).get("voxel_mm"), done.stderr
    assert nrrd("spacings: 1 2 3", 'units: "mm" "um" "mm"')[0] == pytest.approx([1, 0.002, 3])
    assert nrrd("spacings: 1 2 3", 'units: "mm" "" "???"')[0] == pytest.approx([1, 2, 3])
    assert nrrd("spacings: 1 2 3", 'units: "um"')[0] == pytest.approx([.001, .002, .003])
    assert "no known length" not in nrrd("spacings: 1 2 NaN", 'units: "mm" "mm" "s"')[1]
    voxel, said = nrrd("spacings: 1 2 3", 'units: "furlong" "furlong" "furlong"')
    assert not any(voxel) and 'its unit "furlong" is no known length' in said
    assert mha("um")[0] == pytest.approx([0.005] * 3) and mha("?")[0] == [5, 5, 5]
    voxel, said = mha("ell")
    assert not any(voxel) and 'its DistanceUnits "ell" is no known length' in said


def test_dummies_of_edf(tmp_path):
    image = np.arange(1, 13, dtype="f4").reshape(3, 4)
    image[1, 2] = -10
    (tmp_path / "a.edf").write_bytes(edf(image, Dummy="-10", DDummy="0.1", RasterConfiguration=3))
    done = qb("convert", tmp_path / "a.edf", "--volume", "-o", tmp_path / "a.npy")
    assert np.array_equal(np.load(tmp_path / "a.npy").reshape(3, 4), np.where(image == -10, np.nan, image), equal_nan=True)
    assert "RasterConfiguration 3" in done.stderr and "count as missing" in qb("info", tmp_path / "a.edf").stdout
    (tmp_path / "b1.edf").write_bytes(edf(image, Dummy="-10"))
    (tmp_path / "b2.edf").write_bytes(edf(image, Dummy="-9"))
    fails(3, "info", tmp_path / "b%d.edf", says=["b2.edf states that pixels of -9 have no value (Dummy), the first image -10"])


def same(path, values):
    np.save(path.parent / "want.npy", values)
    assert qb_json("compare", path, path.parent / "want.npy")["max_abs"] == 0


def lengths(folder, path):
    qb("convert", path, "--volume", "-o", folder / "len.h5")
    import h5py
    with h5py.File(folder / "len.h5") as f:
        at = f["/exchange/data"].attrs
        return [[float(at[f"{what}_{axis}"]) for axis in "xyz" if f"{what}_{axis}" in at] for what in ("voxel_size", "offset")]


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"])
@pytest.mark.parametrize("order", "<>")
def test_nifti(tmp_path, dtype, order):
    values = VALUES.astype(dtype)
    for version in 1, 2:
        for form in "sq":
            (tmp_path / "a.nii").write_bytes(nifti(values, order, version, form=form))
            same(tmp_path / "a.nii", values)
            size, middle = lengths(tmp_path, tmp_path / "a.nii")
            assert size == pytest.approx([0.5, 0.25, 0.125]) and middle == pytest.approx([1 + 0.5 * 1.5, 2 + 0.25, 3 + 0.125 / 2])
        (tmp_path / "a.nii.gz").write_bytes(gzip.compress(nifti(values, order, version)))
        same(tmp_path / "a.nii.gz", values)


def test_nifti_units_and_scale(tmp_path):
    values = VALUES.astype("f4")
    for units, mm in ((1, 1000), (2, 1), (3, 1e-3), (0, 1)):
        (tmp_path / "a.nii").write_bytes(nifti(values, units=units))
        assert lengths(tmp_path, tmp_path / "a.nii")[0] == pytest.approx([0.5 * mm, 0.25 * mm, 0.125 * mm])
    (tmp_path / "b.nii").write_bytes(nifti(VALUES.astype("i2"), slope=2.0))
    same(tmp_path / "b.nii", (2.0 * VALUES + 5).astype("f4"))


def test_fits(tmp_path):
    """An offset of half the range is how FITS stores the other sign: counts stay integers."""
    for dtype, zero, of in (("u1", 0, "u1"), ("i2", 0, "i2"), ("i4", 0, "i4"), ("f4", 0, "f4"), ("f8", 0, "f8"), ("i2", 32768, "u2"), ("i4", 1 << 31, "u4"), ("u1", -128, "i1"), ("i2", 100, "f4")):
        for extension in False, True:
            (tmp_path / "a.fits").write_bytes(fits(VALUES.astype(dtype), zero, extension))
            same(tmp_path / "a.fits", (VALUES + zero).astype(of))


@pytest.mark.skipif("cfitsio: built in" not in qb("--version").stdout, reason="built without cfitsio")
def test_compressed_fits(tmp_path):
    for dtype in "u1", "i2", "i4":
        for name in "a.fits", "a.fits.fz":
            (tmp_path / name).write_bytes(packed_fits(VALUES.astype(dtype)))
            same(tmp_path / name, VALUES.astype(dtype))
    whole = packed_fits(VALUES.astype("i2"))
    for data in whole[:4000], whole[:-2880], packed_fits(VALUES.astype("i2"), "WAVELET"), whole.replace(b"ZNAXIS1 = 4", b"ZNAXIS1 = 9999999999"), whole.replace(b"\x1f\x8b", b"\x00\x00"), whole.replace(b"\x1f\x8b\x08\x00", b"\x1f\x8b\x08\x04"):
        (tmp_path / "b.fits").write_bytes(data)
        fails(3, "compare", tmp_path / "b.fits", tmp_path / "b.fits", says=["b.fits"])


def test_compressed_edf(tmp_path):
    """One file of several images, also as two streams of gzip; many files; cut, damaged, empty, none of ours."""
    for dtype in "u1", "u2", "f4":
        for order in "<>":
            images = [edf(image.astype(dtype), order) for image in VALUES]
            (tmp_path / "a.edf.gz").write_bytes(gzip.compress(b"".join(images)))
            same(tmp_path / "a.edf.gz", VALUES.astype(dtype))
            (tmp_path / "a.edf.gz").write_bytes(b"".join(map(gzip.compress, images)))
            same(tmp_path / "a.edf.gz", VALUES.astype(dtype))
            for i, image in enumerate(images):
                (tmp_path / f"v_{i:03}.edf.gz").write_bytes(gzip.compress(image))
            same(tmp_path / "v_%03d.edf.gz", VALUES.astype(dtype))
    whole = gzip.compress(edf(VALUES[0].astype("f4")))
    damaged = whole[:60] + b"\xff\xff\xff\xff" + whole[64:]
    for data, word in ((whole[:-30], "compressed data"), (damaged, "compressed data"), (b"", "b.edf.gz"), (gzip.compress(b""), "no EDF image"), (gzip.compress(b"x" * 999), "no EDF header"),
                       (gzip.compress(edf(VALUES[0].astype("f4"))[:-1]), "ends at byte"), (gzip.compress(edf(VALUES[0].astype("f4"), Dim_3=2)), "three dimensions")):
        (tmp_path / "b.edf.gz").write_bytes(data)
        fails(3, "compare", tmp_path / "b.edf.gz", tmp_path / "b.edf.gz", says=[word])
    (tmp_path / "v_001.edf.gz").write_bytes(gzip.compress(b"".join(map(edf, VALUES.astype("f4")))))
    fails(3, "compare", tmp_path / "v_%03d.edf.gz", tmp_path / "v_%03d.edf.gz", says=["several images"])
    for i, some in enumerate((VALUES, VALUES + 24)):
        (tmp_path / f"w_{i}.edf.gz").write_bytes(gzip.compress(b"".join(map(edf, some.astype("f4")))))
    same(tmp_path / "w_%d.edf.gz", np.arange(48, dtype="f4").reshape(4, 3, 4))


def test_headers_of_edf(tmp_path):
    """A general header with the values of all images; one header for images that follow one another, and one that only counts them."""
    def head(text, size=512):
        return ("{\r\n" + text).ljust(size - 2).encode() + b"}\n"
    shape = f"Dim_1 = {VALUES.shape[2]} ;\r\nDim_2 = {VALUES.shape[1]} ;\r\nDataType = UnsignedShort ;\r\nByteOrder = LowByteFirst ;\r\n"
    values = VALUES.astype("<u2")
    general = head("EDF_DataFormatVersion = 2.70 ;\r\nEDF_BinarySize = 0 ;\r\n" + shape)
    for data in (general + b"".join(head(f"EDF_DataBlockID = {i}.Image.Psd ;\r\n") + v.tobytes() for i, v in enumerate(values)),
                 head(f"EDF_HeaderSize = 8192 ;\r\nNum_Images = {len(values)} ;\r\n{shape}").ljust(8192) + values.tobytes(),
                 b"".join(head(f"Num_Images = {len(values)} ;\r\n{shape}") + v.tobytes() for v in values)):
        (tmp_path / "a.edf").write_bytes(data)
        same(tmp_path / "a.edf", values)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"])
@pytest.mark.parametrize("order", "<>")
def test_matlab(tmp_path, dtype, order):
    """The only array of most axes, in the order of version 7.3; others by name; doubles that are stored as small integers."""
    import h5py
    values = VALUES.astype(dtype)
    for packed in False, True:
        for name in "p", "projections":
            (tmp_path / "a.mat").write_bytes(mat({"theta": np.arange(4.0)[:, None], name: values, "flat": values[0]}, order, packed))
            with h5py.File(tmp_path / "b.mat", "w", userblock_size=512) as f:
                f[name] = values.T
            same(tmp_path / "a.mat", values.T)
            same(tmp_path / "b.mat", values.T)
        qb("convert", tmp_path / "a.mat", "--dataset", "/flat", "--volume", "-o", tmp_path / "flat.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "flat.npy")[0], values[0].T)
        (tmp_path / "c.mat").write_bytes(mat({"a": (VALUES.astype("u1"), 6)}, order, packed))
        qb("convert", tmp_path / "c.mat", "--volume", "-o", tmp_path / "c.npy")
        got = np.load(tmp_path / "c.npy")
        assert got.dtype == "f4"
        np.testing.assert_array_equal(got, VALUES.T)


def beyond(file, at):
    """An element that ends 8 bytes before its array's numbers do, behind which something else comes."""
    if at:
        return file[:at] + struct.pack("<II", 14, len(file) - at - 16) + file[at + 8:-8] + element(2, file[-8:])
    inner = zlib.decompress(file[136:])
    data = zlib.compress(struct.pack("<II", 14, len(inner) - 16) + inner[8:])
    return file[:128] + struct.pack("<II", 15, len(data)) + data


def test_angles_of_matlab(tmp_path):
    """Rows and columns of versions 5, 7 and 7.3, in any type; others are refused by name."""
    import h5py
    np.save(tmp_path / "p.npy", np.random.default_rng(1).random((4, 3, 5)).astype("f4"))
    turn = np.array([0.0, 40, 90, 135])
    for dtype, order in (("f8", "<"), ("f4", ">"), ("u1", "<"), ("i2", ">"), ("i4", "<")):
        for packed in False, True:
            values = turn.astype(dtype)
            (tmp_path / "a.mat").write_bytes(mat({"other": np.arange(4.0)[:, None], "row": values[None], "column": values[:, None], "table": np.ones((4, 4))}, order, packed))
            for name in "/row", "/column":
                assert angles(tmp_path, "a.mat:" + name) == pytest.approx(turn)
    with h5py.File(tmp_path / "b.mat", "w", userblock_size=512) as f:
        f["row"], f["column"] = turn[:, None], turn[None]
    with open(tmp_path / "b.mat", "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file")
    for name in "/row", "/column", "/row:0:4":
        assert angles(tmp_path, "b.mat:" + name) == pytest.approx(turn)
    with h5py.File(tmp_path / "c.mat", "w", userblock_size=512) as f:  # vectors, texts, cells and what these refer to are no images
        for name, values, kind in (("views", np.ones((4, 3, 5)), "double"), ("sod", np.ones((1, 1)), "double"), ("note", np.ones((3, 2), "u2"), "char"), ("#refs#/a", np.ones((2, 3)), "double")):
            f[name] = values
            f[name].attrs["MATLAB_class"] = np.bytes_(kind)
    assert qb_json("info", "c.mat", "--angles", "b.mat:/row", cwd=tmp_path)["rows"] == 3
    for given, code, words in (("a.mat", 2, ["MATLAB file", "a.mat:/theta"]), ("a.mat:/none", 3, ["no array none", "it has other, row"]), ("a.mat:/table", 3, ["4 x 4 x 1", "not a list"]),
                               ("a.mat:/row:0:3", 3, ["3 angles"]), ("b.mat:/none", 3, ["/none"])):
        fails(code, "info", "p.npy", "--quantity", "line_integral", "--angles", given, says=words, cwd=tmp_path)


def angles(folder, given):
    qb("convert", "p.npy", "--quantity", "line_integral", "--angles", given, "-o", "l.npy", cwd=folder)
    return json.loads((folder / "l.npy.json").read_text())["angles_degrees"]


def test_angles_of_logs(tmp_path):
    """As IMAT writes them, in text and parted by commas."""
    np.save(tmp_path / "p.npy", np.random.default_rng(1).random((4, 3, 5)).astype("f4"))
    turn = [0.0, 0.3152, 90.5, 135]
    lines = [f"Sun Feb 10 00:22:{i:02} 2019   Projection:  {i}  angle: {t}   Monitor 3 before:  {4577907 + i}   Monitor 3 after:  {4720271 + i}" for i, t in enumerate(turn)]
    head = " TIME STAMP  IMAGE TYPE   IMAGE COUNTER   COUNTS BM3 before image   COUNTS BM3 after image"
    commas = [f"Sun Feb 10 00:22:{i:02} 2019,Projection,{i},angle: {t},counts BM3 before: 4577907,counts BM3 after: 4720271" for i, t in enumerate(turn)]
    for text in ("\n".join([head, "", *lines, ""]), "\r\n".join([head, "", *lines]), "\n".join([head.replace("   ", ","), *commas]), "\n".join(line.replace("angle: ", "Angle:") for line in lines),
                 "\n".join(line.replace("Projection:", "/flat_samples/") for line in lines),
                 "\n".join([head, lines[0], *(lines[0].replace("Projection:  0  angle: 0.0", f"{kind}:  7") for kind in ("Radiography", "Dark Field", "Flat Field")), *lines[1:],
                            lines[0].replace("Projection", "Flat after")])):
        (tmp_path / "a_log.txt").write_text(text, newline="")
        assert angles(tmp_path, "a_log.txt") == pytest.approx(turn)
    (tmp_path / "a_log.txt").write_text("\n".join([*lines, "Sun Feb 10 00:24:00 2019   Projection:  4"]))
    fails(3, "info", "p.npy", "--angles", "a_log.txt", says=["line 5", "angle:"], cwd=tmp_path)


def test_ends_of_gzip(tmp_path):
    """Sums and lengths are compared, and a member may begin with the last byte of a block that is read."""
    data = nifti(VALUES.astype("f4"))
    whole = gzip.compress(data)
    for at, word in ((-8, "damaged"), (-5, "damaged"), (-4, "damaged"), (-1, "damaged")):
        bad = bytearray(whole)
        bad[at] ^= 1
        (tmp_path / "a.nii.gz").write_bytes(bad)
        fails(3, "compare", tmp_path / "a.nii.gz", tmp_path / "a.nii.gz", says=[word])
    for end in range(1, 9):
        (tmp_path / "a.nii.gz").write_bytes(whole[:-end])
        fails(3, "compare", tmp_path / "a.nii.gz", tmp_path / "a.nii.gz", says=["compressed data"])
    (tmp_path / "a.nii.gz").write_bytes(whole + bytes(7))
    same(tmp_path / "a.nii.gz", VALUES.astype("f4"))
    first, block = gzip.compress(data[:400]), 1 << 20
    for size in block - 1, block, block + 1:
        named = first[:3] + b"\x08" + first[4:10] + b"n" * (size - len(first) - 1) + b"\0" + first[10:]
        assert len(named) == size
        (tmp_path / "a.nii.gz").write_bytes(named + gzip.compress(data[400:]))
        same(tmp_path / "a.nii.gz", VALUES.astype("f4"))


def test_bad_matlab(tmp_path):
    good, packed = mat({"a": VALUES.astype("f4")}), mat({"a": VALUES.astype("f4")}, packed=True)
    for data, word in ((good[:-8], "ends at byte"), (good[:100], "100"), (b"", "a.mat"), (good[:126] + b"XX" + good[128:], "not a MATLAB"), (packed[:-9], "ends at byte"),
                       (packed[:150] + b"\xff\xff\xff" + packed[153:], "compressed data"), (mat({"a": VALUES.astype("f4"), "b": VALUES.astype("f4")}), "--dataset NAME"),
                       (mat({"a": np.arange(3.0)[:, None]}), "no array"), (mat({}), "no array"), (mat({"a": VALUES.astype("f8")}, flags=0x800), "no array"),
                       (good.replace(struct.pack("<3i", 2, 3, 4), struct.pack("<3i", 2, 3, 2**30)), "states 96 bytes"), (good.replace(struct.pack("<3i", 2, 3, 4), struct.pack("<3i", 2, -3, 4)), "no array"),
                       (mat({"a": (VALUES.astype("f4"), 5)}), "no array"), (beyond(good, 128), "beyond its element"), (beyond(packed, 0), "beyond its element")):
        (tmp_path / "a.mat").write_bytes(data)
        fails(3, "compare", tmp_path / "a.mat", tmp_path / "a.mat", says=[word])
    (tmp_path / "a.mat").write_bytes(good)
    assert "it has a" in qb("convert", tmp_path / "a.mat", "--volume", "--dataset", "x", "-o", tmp_path / "x.npy", code=3).stderr


def test_den(tmp_path):
    for dtype in "u2", "f4", "f8":
        (tmp_path / "a.den").write_bytes(struct.pack("<3H", 3, 4, 2) + VALUES.astype(dtype).tobytes())
        same(tmp_path / "a.den", VALUES.astype(dtype))
    qb("convert", tmp_path / "a.den", "--volume", "-o", tmp_path / "b.den")
    assert (tmp_path / "b.den").read_bytes() == (tmp_path / "a.den").read_bytes()


def test_vol(tmp_path):
    values = VALUES.astype("f4")
    (tmp_path / "p.vol").write_bytes(values.astype(">f4").tobytes())
    (tmp_path / "p.vol.info").write_text("! PyHST_SLAVE VOLUME INFO FILE\nNUM_X =  4\nNUM_Y =  3\nNUM_Z =  2\nvoxelSize =  12.5\nBYTEORDER = HIGHBYTEFIRST\n")
    (tmp_path / "v.vol").write_bytes(b"head" + VALUES.astype("u2").tobytes())
    (tmp_path / "other.vgi").write_text("{volume1}\n[representation]\nsize = 4 3 2\n[file1]\nSkipHeader = 4\nName = v.vol\nDatatype = unsigned integer\nBitsPerElement = 16\n"
                                        "{volumeprimitive12}\n[geometry]\nresolution = 0.1 0.2 0.3\nunit = mm\n")
    for name in "p.vol", "p.vol.info":
        same(tmp_path / name, values)
        assert lengths(tmp_path, tmp_path / name)[0] == pytest.approx([0.0125] * 3)
    same(tmp_path / "other.vgi", VALUES.astype("u2"))
    assert lengths(tmp_path, tmp_path / "other.vgi")[0] == pytest.approx([0.1, 0.2, 0.3])
    for code, dtype in (5, "<u2"), (10, "<f4"), (1, "u1"):  # phoenix; a comma as in some countries
        VALUES.astype(dtype).tofile(tmp_path / "g.vol")
        (tmp_path / "g.pcr").write_text(f"[VolumeData]\r\nFormat={code}\r\nVolume_SizeX=4\r\nVolume_SizeY=3\r\nVolume_SizeZ=2\r\nVoxelSizeRec=0,25\r\n[ROI]\r\nROI_SizeX=9\r\n")
        for name in "g.vol", "g.pcr":
            same(tmp_path / name, VALUES.astype(dtype))
            assert lengths(tmp_path, tmp_path / name)[0] == pytest.approx([0.25] * 3)
    (tmp_path / "g.pcr").write_text("Format=7\nVolume_SizeX=4\nVolume_SizeY=3\nVolume_SizeZ=2\n")
    fails(3, "info", tmp_path / "g.vol", says=["'Format=7' of 0 bits is not supported"])
    qb("convert", tmp_path / "other.vgi", "--volume", "-o", tmp_path / "w.vol")
    for name in "w.vgi", "w.vol.info", "w.vol":
        same(tmp_path / name, VALUES.astype("u2"))
    (tmp_path / "w.vol.info").unlink()
    assert lengths(tmp_path, tmp_path / "w.vgi")[0] == pytest.approx([0.1, 0.2, 0.3])


@pytest.mark.parametrize("name,data,says", [
    ("a.nii", nifti(VALUES.astype("f4"))[:-1], "do not fit"),
    ("a.nii", nifti(VALUES.astype("f4"))[:200], "200"),
    ("a.nii", b"", "a.nii"),
    ("a.nii", bytes(1000), "348 or 540"),
    ("a.nii", nifti(VALUES.astype("f4"), size=[3, 30000, 30000, 30000, 1, 1, 1, 1]), "a.nii"),
    ("a.nii", nifti(VALUES.astype("f4"), size=[4, 4, 3, 2, 2, 1, 1, 1]), "not one volume"),
    ("a.nii", nifti(VALUES.astype("f4"), size=[3, -4, 3, 2, 1, 1, 1, 1]), "not one volume"),
    ("a.nii.gz", gzip.compress(nifti(VALUES.astype("f4")))[:-20], "compressed data"),
    ("a.den", struct.pack("<3H", 3, 4, 2) + bytes(95), "101 bytes"),
    ("a.den", struct.pack("<3H", 0, 4, 2) + bytes(96), "extended DEN"),
    ("a.den", b"", "a.den"),
    ("a.fits", fits(VALUES.astype("f4"))[:2900], "a.fits"),
    ("a.fits", fits(VALUES.astype("f4"))[:1000], "a.fits"),
    ("a.fits", b"SIMPLE  =" + bytes(2871), "a.fits"),
    ("a.vgi", b"[file1]\nsize = 4 3\n", "how many voxels"),
    ("a.vgi", b"size = 4 3 2\nDatatype = complex\nName = a.vgi\n", "not supported"),
    ("a.vol", bytes(96), "its description"),
])
def test_bad_files(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    fails(3, "compare", tmp_path / name, tmp_path / name, says=[says])


def test_nifti_compressed(tmp_path):
    """Of several blocks, by any number of threads, and gone on with: gzip unpacks the bytes of the plain file."""
    values = np.random.default_rng(1).normal(size=(20, 300, 210)).astype("f4")  # 5 MB
    values[3:9] = 0
    np.save(tmp_path / "a.npy", values)
    for name, more in (("v.nii", ()), ("v.nii.gz", ()), ("w.nii.gz", ("--threads", 5))):
        qb("convert", tmp_path / "a.npy", "--volume", "-o", tmp_path / name, *more)
    want = (tmp_path / "v.nii").read_bytes()
    for name in "v.nii.gz", "w.nii.gz":
        assert gzip.decompress((tmp_path / name).read_bytes()) == want
        same(tmp_path / name, values)
    assert (tmp_path / "v.nii.gz").read_bytes() == (tmp_path / "w.nii.gz").read_bytes()
    assert not list(tmp_path.glob("*.part*")) and len(list(tmp_path.iterdir())) == 8  # a .json each, a.npy and want.npy


def test_ome_tiff(tmp_path):
    """tifffile finds axes, numbers and sides; XML that letters of a path cannot break; our reader has all of it back."""
    import xml.etree.ElementTree as tree
    import tifffile
    name = tmp_path / "a<b>&\"c.nii"
    for dtype, word in (("u1", "uint8"), ("i2", "int16"), ("u4", "uint32"), ("f4", "float"), ("f8", "double")):
        values = VALUES.astype(dtype)
        name.write_bytes(nifti(values))
        qb("convert", name, "--volume", "-o", tmp_path / "v.ome.tif")
        with tifffile.TiffFile(tmp_path / "v.ome.tif") as file:
            assert file.is_ome and file.series[0].axes == "ZYX"
            np.testing.assert_array_equal(file.asarray(), values)
            pixels = tree.fromstring(file.ome_metadata).find(".//{*}Pixels")
        assert pixels.get("Type") == word and pixels.get("PhysicalSizeXUnit") == "mm"
        assert [float(pixels.get(f"PhysicalSize{axis}")) for axis in "XYZ"] == [0.5, 0.25, 0.125]
        same(tmp_path / "v.ome.tif", values)
        size, middle = lengths(tmp_path, tmp_path / "v.ome.tif")
        assert size == [0.5, 0.25, 0.125] and middle == pytest.approx([1.75, 2.25, 3.0625])
        qb("convert", tmp_path / "v.ome.tif", "--volume", "-o", tmp_path / "w.npy")
        kept = json.loads((tmp_path / "w.npy.json").read_text())["provenance"]["provenance_of_input"]
        assert kept["inputs"][0]["path"] == str(name)
    np.save(tmp_path / "s.npy", np.full((5, 4, 6), 0.5, "f4"))
    qb("convert", tmp_path / "s.npy", "--angles", "0:180", "--quantity", "transmission", "-o", tmp_path / "s.ome.tif")
    with tifffile.TiffFile(tmp_path / "s.ome.tif") as file:
        assert file.series[0].axes == "TYX" and file.series[0].shape == (5, 4, 6)
    fails(2, "convert", name, "--volume", "-o", tmp_path / "v_%03d.ome.tif", says=["one file"])
    np.save(tmp_path / "h.npy", VALUES.astype("f2"))
    fails(2, "convert", tmp_path / "h.npy", "--volume", "-o", tmp_path / "h.ome.tif", says=["float16"])
