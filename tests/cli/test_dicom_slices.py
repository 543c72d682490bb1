# SPDX-License-Identifier: MIT
"""Volumes as slices of DICOM: every element where the standard has it, the values that a reader of it sees; slices of scanners in any order."""
import json
import struct

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

TEXTS = {b"CS", b"DA", b"DS", b"IS", b"LO", b"PN", b"SH", b"TM", b"UI"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Of no symmetry, with voxels higher than wide, not in the middle."""
    folder = tmp_path_factory.mktemp("v")
    qb("simulate", "foam", "-o", "s.h5", "--views", 60, "--detector", "60,51", "--pixel-size", 0.25, cwd=folder)
    how = ["fbp", "s.h5", "--center", 29.5, "--slices", "3:33", "--offset", "1.5,-2,0"]
    qb(*how, "--dtype", "uint16", "--range=-0.02,0.07", "-o", "v.h5", cwd=folder)
    qb(*how, "--hu", 0.02, "-o", "hu.npy", cwd=folder)
    qb(*how, "--hu", 0.02, "-o", "hu/s_%03d.dcm", cwd=folder)
    qb("convert", "v.h5", "-o", "u/s_%03d.dcm", cwd=folder)
    return folder


def elements(data):
    """{tag: value} of a file of types, lowest byte first; tags ascend."""
    assert data[:128] == bytes(128) and data[128:132] == b"DICM"
    found, at, last = {}, 132, 0
    while at < len(data):
        group, element = struct.unpack_from("<HH", data, at)
        kind, tag = data[at + 4:at + 6], group << 16 | element
        long = kind in (b"OB", b"OW", b"UT")
        length, = struct.unpack_from("<I" if long else "<H", data, at + (8 if long else 6))
        at += 12 if long else 8
        value = data[at:at + length]
        assert tag > last and length % 2 == 0 and len(value) == length
        found[tag] = value.decode().rstrip(" \0") if kind in TEXTS else struct.unpack("<H", value)[0] if kind == b"US" else value
        at, last = at + length, tag
    return found


def numbers(text):
    assert all(len(word) <= 16 for word in text.split("\\"))
    return [float(word) for word in text.split("\\")]


def test_bytes(folder):
    with h5py.File(folder / "v.h5") as f:
        stored = f["/exchange/data"][:]
    files = sorted((folder / "u").iterdir())
    assert len(files) == 30
    series = set()
    for i, path in enumerate(files):
        e = elements(path.read_bytes())
        meta = path.read_bytes()[132:144]
        assert struct.unpack("<HH2sHI", meta)[:4] == (2, 0, b"UL", 4)
        assert e[0x00080016] == e[0x00020002] == "1.2.840.10008.5.1.4.1.1.2" and e[0x00020010] == "1.2.840.10008.1.2.1" and e[0x00080060] == "CT"
        assert e[0x00080018] == e[0x00020003] and all(c in "0123456789." for c in e[0x00080018]) and len(e[0x00080018]) <= 64
        assert numbers(e[0x00200032]) == pytest.approx([1.5 - 29.5 * 0.25, -2 - 29.5 * 0.25, (i + 3 - 25) * 0.25])
        assert numbers(e[0x00200037]) == [1, 0, 0, 0, 1, 0] and numbers(e[0x00280030]) == [0.25, 0.25] and numbers(e[0x00180050]) == [0.25]
        assert (e[0x00280010], e[0x00280011], e[0x00280100], e[0x00280101], e[0x00280102], e[0x00280103]) == (60, 60, 16, 16, 15, 0)
        slope, intercept = float(e[0x00281053]), float(e[0x00281052])
        values = slope * np.frombuffer(e[0x7FE00010], "<u2").reshape(60, 60) + intercept
        np.testing.assert_allclose(values, -0.02 + stored[i] * (0.09 / 65535), atol=1e-9)
        series.add((e[0x0020000D], e[0x0020000E], e[0x00200052]))
        assert e[0x00200013] == str(i + 1) and (0x7FE11001 in e) == (i == 0)
    assert len(series) == 1
    qb("convert", "v.h5", "-o", "again/s_%03d.dcm", cwd=folder)
    assert elements((folder / "again/s_000.dcm").read_bytes())[0x0020000E] not in {s[1] for s in series}


def test_downwards(folder, tmp_path):
    """Where z counts downwards, later slices lie lower, so that other programs show no mirror image; read back, they are in their old order."""
    qb("convert", folder / "v.h5", "-o", tmp_path / "v.npy")
    note = json.loads((tmp_path / "v.npy.json").read_text())
    (tmp_path / "v.npy.json").write_text(json.dumps({**note, "z_down": True}))
    qb("convert", tmp_path / "v.npy", "-o", tmp_path / "d/s_%03d.dcm")
    places = [numbers(elements(path.read_bytes())[0x00200032])[2] for path in sorted((tmp_path / "d").iterdir())]
    assert places == pytest.approx([-(i + 3 - 25) * 0.25 for i in range(30)])
    qb("convert", tmp_path / "d", "-o", tmp_path / "back.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "back.npy"), np.load(tmp_path / "v.npy"))
    back = json.loads((tmp_path / "back.npy.json").read_text())
    assert back["z_down"] and back["offset_mm"] == pytest.approx(note["offset_mm"])


def test_hounsfield(folder, tmp_path):
    want = np.load(folder / "hu.npy")
    e = elements((folder / "hu/s_003.dcm").read_bytes())
    assert e[0x00281054] == "HU" and (float(e[0x00281053]), float(e[0x00281052]), e[0x00280103]) == (1, 0, 1)
    qb("convert", folder / "hu", "-o", "back.npy", cwd=tmp_path)
    back = np.load(tmp_path / "back.npy")
    np.testing.assert_array_equal(back, np.rint(want))
    info = qb_json("info", folder / "hu")
    assert (info["kind"], info["quantity"], info["units"], info["voxel_mm"]) == ("volume", "Hounsfield", "HU", [0.25] * 3)
    assert info["offset_mm"] == pytest.approx([1.5, -2, -7.5 * 0.25]) and info["provenance"]["command"].startswith("qb fbp")


def test_what_has_no_place(folder, tmp_path):
    """Beyond 16 bits: the nearest; no number: below all others."""
    qb("convert", folder / "hu", "--dtype", "float32", "-o", "a.mha", cwd=tmp_path)
    data = bytearray((tmp_path / "a.mha").read_bytes())
    data[-12:] = np.array([np.nan, 1e6, -1e6], "f4").tobytes()
    (tmp_path / "a.mha").write_bytes(data)
    qb("convert", "a.mha", "-o", "a%d.dcm", cwd=tmp_path)
    last = np.frombuffer(elements((tmp_path / "a29.dcm").read_bytes())[0x7FE00010], "<i2")
    assert list(last[-3:]) == [-32768, 32767, -32767]
    assert elements((tmp_path / "a29.dcm").read_bytes())[0x00280120] == b"\0\x80"  # the number of what has no value
    assert "numbers from -32768 to -32768 count as missing" in qb("info", tmp_path / "a%d.dcm").stderr
    qb("convert", "a%d.dcm", "-o", "b.npy", cwd=tmp_path)
    back = np.load(tmp_path / "b.npy")
    assert np.isnan(back[-1, -1, -3]) and list(back[-1, -1, -2:]) == [32767, -32767] and np.isnan(back).sum() == 1


def element(tag, kind, value):
    value += b" " * (len(value) % 2)
    long = kind in (b"OB", b"OW")
    return struct.pack("<HH", tag >> 16, tag & 0xFFFF) + kind + (struct.pack("<HI", 0, len(value)) if long else struct.pack("<H", len(value))) + value


def slice_of(values, z, bits=12, slope=1, intercept=-1024, axes=b"1\\0\\0\\0\\1\\0", modality=b"CT", frames=b"1", padding=()):
    word = lambda value: struct.pack("<H", value)
    meta = element(0x00020010, b"UI", b"1.2.840.10008.1.2.1\0")
    body = [(0x00080060, b"CS", modality), (0x00200032, b"DS", b"-3\\4\\%g" % z), (0x00200037, b"DS", axes), (0x00280002, b"US", word(1)), (0x00280008, b"IS", frames),
            (0x00280010, b"US", word(values.shape[0])), (0x00280011, b"US", word(values.shape[1])), (0x00280030, b"DS", b"0.5\\0.25"), (0x00280100, b"US", word(16)),
            (0x00280101, b"US", word(bits)), (0x00280102, b"US", word(bits - 1)), (0x00280103, b"US", word(0)),
            *((0x00280120 + i, b"US", word(number)) for i, number in enumerate(padding)), (0x00281052, b"DS", b"%g" % intercept), (0x00281053, b"DS", b"%g" % slope),
            (0x7FE00010, b"OW", values.astype("<u2").tobytes())]
    return bytes(128) + b"DICM" + element(0x00020000, b"UL", struct.pack("<I", len(meta))) + meta + b"".join(element(*e) for e in body)


@pytest.mark.parametrize("padding", [(), (7,), (9, 7), (7, 9)])
def test_padding(tmp_path, padding):
    """A number, or all from one to another, that scanners store outside of the circle that they reconstruct."""
    values = np.arange(60).reshape(2, 5, 6)
    for i in range(2):
        (tmp_path / f"s{i}.dcm").write_bytes(slice_of(values[i], i, padding=padding))
    qb("convert", tmp_path / "s%d.dcm", "-o", tmp_path / "v.npy")
    lost = (values >= min(padding)) & (values <= max(padding)) if padding else values < 0
    assert np.array_equal(np.load(tmp_path / "v.npy").astype("f8"), np.where(lost, np.nan, values - 1024.0), equal_nan=True)


def test_padding_of_each_slice(tmp_path):
    values = np.arange(90).reshape(3, 5, 6)
    for i, padding in enumerate([(7,), (), (65,)]):
        (tmp_path / f"s{i}.dcm").write_bytes(slice_of(values[i], i, padding=padding))
    said = qb("convert", tmp_path / "s%d.dcm", "-o", tmp_path / "v.npy").stderr + qb("info", tmp_path / "s%d.dcm").stderr
    assert "numbers from 7 to 7 count as missing in 2 of 3 slices; 1 slices state other numbers" in said
    lost = np.isin(values, (7, 65))
    assert np.array_equal(np.load(tmp_path / "v.npy").astype("f8"), np.where(lost, np.nan, values - 1024.0), equal_nan=True)


def test_slices_of_scanners(tmp_path):
    """Of 12 bits with other things above them, in an order that names do not tell, with a slope of each."""
    stored = np.random.default_rng(7).integers(0, 4096, (5, 6, 8))
    order, slope = [3, 1, 4, 0, 2], [1, 1, 2, 1, 1]
    (tmp_path / "s").mkdir()
    for name, i in enumerate(order):
        (tmp_path / "s" / f"IM{name + 1:03}.dcm").write_bytes(slice_of(stored[i] | 0xA000, 10 + 1.5 * i, slope=slope[i]))
    info = qb_json("info", "s", cwd=tmp_path)
    assert (info["kind"], info["quantity"], info["size"], info["voxel_mm"]) == ("volume", "Hounsfield", [8, 6, 5], [0.25, 0.5, 1.5])
    assert info["offset_mm"] == pytest.approx([-3 + 3.5 * 0.25, 4 + 2.5 * 0.5, 10 + 2 * 1.5])
    qb("convert", "s", "-o", "v.npy", cwd=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), np.array(slope)[:, None, None] * stored - 1024)
    fails(3, "fbp", "s", "-o", "x.npy", says=["this is a volume"], cwd=tmp_path)
    (tmp_path / "s" / "IM002.dcm").unlink()
    (tmp_path / "s" / "IM005.dcm").rename(tmp_path / "s" / "IM002.dcm")
    fails(3, "info", "s", says=["is one missing?"], cwd=tmp_path)
    for data, words in ((slice_of(stored[0, :5], 20), "another size"), (slice_of(stored[0], 20, axes=b"0\\1\\0\\0\\0\\1"), "direction"), (slice_of(stored[0], 20, frames=b"9"), "9 frames"),
                        (slice_of(stored[0], 20)[:-2], "within its image"), (slice_of(stored[0], 20, bits=17), "17 bits, stored in 16")):
        (tmp_path / "s" / "IM004.dcm").write_bytes(data)
        fails(3, "info", "s", says=[words], cwd=tmp_path)


def test_refused(folder, tmp_path):
    fails(2, "convert", folder / "v.h5", "-o", "a.dcm", says=["a file a slice"], cwd=tmp_path)
    fails(2, "convert", folder / "v.h5", "--dtype", "float32", "-o", "a%d.dcm", says=["--dtype uint16"], cwd=tmp_path)
    fails(2, "simulate", "foam", "--views", 6, "-o", "a%d.dcm", says=["not of projections"], cwd=tmp_path)
