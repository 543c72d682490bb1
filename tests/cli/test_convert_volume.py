# SPDX-License-Identifier: MIT
"""qb convert of volumes: the same numbers, voxel size, place and words in every kind of file, or a sentence on what is lost; some memory, going on where it was stopped."""
import gzip
import json
import os
import struct
import zlib

import h5py
import numpy as np
import pytest
import tifffile

from qbtest import fails, killed, memory_is_ours, qb, qb_json

SCANNER = """[XTekCT]
Name=a
InputSeparator=_
SrcToObject=50
SrcToDetector=100
DetectorPixelsX=10
DetectorPixelsY=6
DetectorPixelSizeX=1
DetectorPixelSizeY=1
CentreOfRotationTop=0
CentreOfRotationBottom=0
WhiteLevel=60000
Projections=8
InitialAngle=0
AngularStep=45
"""
KINDS = ["h5", "zarr", "mha", "npy", "nrrd", "raw", "tif", "nii", "vol", "den", "mrc", "%03d.dcm"]


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """Of no symmetry: a turned or mirrored axis shows. Not in the middle, voxels higher than wide, integers that stand for a range."""
    folder = tmp_path_factory.mktemp("v")
    qb("simulate", "foam", "-o", "s.h5", "--views", 6, "--detector", "60,51", "--pixel-size", 0.25, cwd=folder)
    qb("fbp", "s.h5", "--center", 29.5, "--slices", "3:51", "--dtype", "uint16", "--range=-0.02,0.07", "--offset", "1.5,-2,0", "-o", "v.h5", cwd=folder)
    return folder / "v.h5"


def told(path):
    info = qb_json("info", path)
    return {key: info.get(key) for key in ("kind", "dtype", "size", "voxel_mm", "offset_mm", "quantity", "units", "scale")}


@pytest.mark.parametrize("kind", KINDS)
def test_there_and_back(volume, tmp_path, kind):
    there, back = tmp_path / f"there.{kind}", tmp_path / "back.h5"
    report = qb_json("convert", volume, "-o", there)
    assert qb_json("convert", there, "--volume", "-o", back)["lost"] == []
    assert qb_json("compare", volume, back)["max_abs"] == 0
    want, got = told(volume), told(there)
    if report["lost"]:
        assert kind == "tif"
    else:
        assert got.pop("offset_mm") == pytest.approx(want.pop("offset_mm")) and got == want
        assert told(back)["scale"] == want["scale"]
        assert told(back)["quantity"] == "attenuation"
    made = qb_json("info", back)["provenance"]
    assert made["provenance_of_input"]["provenance_of_input"]["command"].startswith("qb fbp")


def test_compressed_nrrd(volume, tmp_path):
    """One gzip stream behind the header, as NRRD's encoding gzip."""
    qb("convert", volume, "-o", tmp_path / "a.nrrd", "--compress", "gzip")
    head, data = (tmp_path / "a.nrrd").read_bytes().split(b"\n\n", 1)
    assert b"encoding: gzip" in head
    with h5py.File(volume) as f:
        assert gzip.decompress(data) == f["/exchange/data"][:].tobytes()
    assert qb_json("compare", volume, tmp_path / "a.nrrd")["max_abs"] == 0 and told(tmp_path / "a.nrrd") == told(volume)


def axes_of(path):
    """World position of voxel (ix, iy, iz) as ITK and nibabel read it: a matrix and an origin."""
    data = path.read_bytes()
    if path.suffix == ".nii":
        srow = np.frombuffer(data, "<f4", 12, 280).reshape(3, 4).astype(float)
        b, c, d = np.frombuffer(data, "<f4", 3, 256)  # the quaternion says the same
        assert (b, c, d) == (0, 0, 0) and np.frombuffer(data, "<f4", 1, 76)[0] == np.sign(srow[2, 2])
        np.testing.assert_array_equal(srow[:, 3], np.frombuffer(data, "<f4", 3, 268))
        return srow[:, :3], srow[:, 3]
    head = data[:16384].decode("latin-1")
    if path.suffix == ".mha":
        lines = dict(line.split(" = ", 1) for line in head.split("\n") if " = " in line)
        numbers = {key: np.array(lines[key].split(), float) for key in ("TransformMatrix", "ElementSpacing", "Offset")}
        return numbers["TransformMatrix"].reshape(3, 3).T * numbers["ElementSpacing"], numbers["Offset"]
    lines = dict(line.split(": ", 1) for line in head.split("\n\n")[0].split("\n") if ": " in line)
    steps = np.array(lines["space directions"].replace("(", "").replace(")", ",").replace(" ", "").rstrip(",").split(","), float)
    return steps.reshape(3, 3).T, np.array(lines["space origin"].strip("()").split(","), float)


@pytest.mark.parametrize("kind", ["mha", "nrrd", "nii"])
def test_handedness(tmp_path, kind):
    """A scanner's rows count downwards, and z with them: files say so by an axis that points the other way, so that other programs show no mirror image."""
    (tmp_path / "scan.xtekct").write_text(SCANNER)
    for i in range(8):
        tifffile.imwrite(tmp_path / f"a_{i + 1:04d}.tif", np.full((6, 10), 900 + i, np.uint16))
    qb("fdk", "scan.xtekct", "--size", "5,6,4", "--voxel", 0.25, "--offset", "0.25,0.5,0.75", "-o", "v.h5", cwd=tmp_path)
    qb("fdk", "scan.xtekct", "--size", "5,6,4", "--voxel", 0.25, "--offset", "0.25,0.5,0.75", "--flip", "v", "-o", "up.h5", cwd=tmp_path)
    for name, down in ("v", -1), ("up", 1):
        there, back = tmp_path / f"{name}.{kind}", tmp_path / "back.h5"
        qb("convert", tmp_path / f"{name}.h5", "-o", there)
        matrix, origin = axes_of(there)
        np.testing.assert_allclose(matrix, np.diag([0.25, 0.25, 0.25 * down]), atol=1e-6)
        np.testing.assert_allclose(matrix @ [2, 2.5, 1.5] + origin, [0.25, 0.5, 0.75 * down], atol=1e-5)  # the middle of the volume
        (tmp_path / f"{there.name}.json").unlink(missing_ok=True)  # the header alone says it
        said = qb_json("convert", there, "--volume", "-o", back)
        assert not [w for w in said["warnings"] if "axes-turned" in w] and told(back)["offset_mm"] == pytest.approx([0.25, 0.5, 0.75])
        qb("convert", back, "-o", tmp_path / f"again.{kind}")
        np.testing.assert_allclose(axes_of(tmp_path / f"again.{kind}")[0], matrix, atol=1e-6)


def test_compressed_mha(volume, tmp_path):
    """One stream of zlib, of the length that the header states, whatever the threads; going on with one that is whole is refused by name."""
    files = []
    for threads in 1, 3:
        qb("convert", volume, "-o", tmp_path / "a.mha", "--compress", "gzip", "--threads", threads)
        data = (tmp_path / "a.mha").read_bytes()
        head = dict(line.split(b" = ", 1) for line in data[:16384].strip().split(b"\n") if b" = " in line)
        assert head[b"CompressedData"] == b"True" and int(head[b"CompressedDataSize"]) == len(data) - 16384
        with h5py.File(volume) as f:
            assert zlib.decompress(data[16384:]) == f["/exchange/data"][:].tobytes()
        assert qb_json("compare", volume, tmp_path / "a.mha")["max_abs"] == 0 and told(tmp_path / "a.mha") == told(volume)
        files.append(data[16384:])
    qb("convert", volume, "-o", tmp_path / "a.mhd", "--compress", "gzip")
    assert files[0] == files[1] == (tmp_path / "a.mhd.raw").read_bytes()
    assert qb_json("compare", volume, tmp_path / "a.mhd")["max_abs"] == 0 and told(tmp_path / "a.mhd") == told(volume)
    fails(2, "convert", volume, "-o", tmp_path / "a.mha", "--compress", "zstd", says=["can have gzip only"])


def test_a_volume_is_known(tmp_path):
    """What a file's format or its words say is a volume needs no --volume; what was called one once stays one."""
    values = np.arange(2 * 3 * 5, dtype="f4").reshape(2, 3, 5)
    np.save(tmp_path / "a.npy", values)
    for name in "a.nii", "a.ome.tif", "a.zarr", "a.mha", "a.vol", "a.mrc", "b.npy":
        qb("convert", "a.npy", "--volume", "-o", name, cwd=tmp_path)
        for side in tmp_path.glob(name + ".json"):
            side.unlink()
        info = qb_json("info", name, cwd=tmp_path)
        assert info["kind"] == ("scan" if name == "b.npy" else "volume"), name
    for name, more in (("fiji.tif", {"imagej": True, "metadata": {"axes": "ZYX", "spacing": 0.3, "unit": "mm"}, "resolution": (4, 4)}), ("views.tif", {"imagej": True, "metadata": {"axes": "ZYX"}}),
                       ("ome.ome.tif", {"ome": True, "metadata": {"axes": "ZYX", "PhysicalSizeX": 0.25, "PhysicalSizeY": 0.25, "PhysicalSizeZ": 0.3, "PhysicalSizeZUnit": "mm"}})):
        tifffile.imwrite(tmp_path / name, values, **more)
        assert qb_json("info", name, cwd=tmp_path)["kind"] == ("scan" if name == "views.tif" else "volume"), name
    fails(3, "fbp", "fiji.tif", "-o", "x.npy", says=["this is a volume"], cwd=tmp_path)
    assert "this is a volume" not in qb("info", "fiji.tif", "--angles", "0:180", cwd=tmp_path).stdout


@pytest.mark.parametrize("kind, integers, reals, each", [(b"SERI", 8, 3, 8), (b"    ", 2, 1, 2), (b"    ", 0, 32, 128), (b"AGAR", 2, 3, 20), (b"FEI1", 0, 0, 768)])
def test_mrc_tilts(tmp_path, kind, integers, reals, each):
    """Angles of SerialEM, of FEI's older and newer programs and of Agard, in the extended header; none where all are 0."""
    tilts = [-60.0, -29.5, 0.25, 30.0, 59.0]
    for values in tilts, [0.0] * 5:
        records = bytearray(each * 8)
        for i, degrees in enumerate(values):
            if reals == 0:
                struct.pack_into("<i", records, each * i, each), struct.pack_into("<d", records, each * i + 100, degrees)
            elif kind == b"SERI" or integers == 2 and reals == 1:
                struct.pack_into("<h", records, each * i, round(100 * degrees))
            else:
                struct.pack_into("<f", records, each * i + 4 * integers, degrees)
        head = bytearray(1024)
        struct.pack_into("<10i", head, 0, 7, 6, 5, 2, 0, 0, 0, 7, 6, 5)
        struct.pack_into("<3i", head, 64, 1, 2, 3), struct.pack_into("<i", head, 92, len(records))
        head[104:108], head[208:216] = kind, b"MAP DD\0\0"
        struct.pack_into("<2h", head, 128, integers, reals)
        (tmp_path / "a.mrc").write_bytes(bytes(head + records) + np.ones((5, 6, 7), "<f4").tobytes())
        if any(values):
            qb("convert", "a.mrc", "-o", "a.h5", cwd=tmp_path)
            with h5py.File(tmp_path / "a.h5") as f:
                assert f["exchange/theta"][:] == pytest.approx(tilts)
        else:
            fails(3, "convert", "a.mrc", "-o", "b.h5", says=["has no angles"], cwd=tmp_path)


def test_nrrd_of_several_files(tmp_path):
    """A list, or a pattern, of one file for each image; and bytes to skip in each."""
    values = np.arange(5 * 6 * 7, dtype="<u2").reshape(5, 6, 7)
    for i, image in enumerate(values):
        (tmp_path / f"s{2 * i + 1:02d}.raw").write_bytes(b"ab" + image.tobytes())
    head = "NRRD0004\ntype: ushort\ndimension: 3\nsizes: 7 6 5\nencoding: raw\nendian: little\nbyte skip: 2\n"
    names = [f"s{i:02d}.raw" for i in (1, 3, 5, 7, 9)]
    for data in "LIST\n" + "".join(name + "\n" for name in reversed(names)), "s%02d.raw 1 9 2\n":
        (tmp_path / "a.nhdr").write_text(head + "data file: " + data)
        qb("convert", "a.nhdr", "--volume", "-o", "a.npy", cwd=tmp_path)
        assert np.array_equal(np.load(tmp_path / "a.npy"), values[::-1] if data[0] == "L" else values)
    fails(2, "convert", "a.nhdr", "--volume", "-o", "s03.raw", says=["would overwrite the input"], cwd=tmp_path)
    for data, says in (("s%02d.raw 1 11 2\n", "no pattern"), ("s%02d.raw 5 -9223372036854775808 1\n", "no pattern"), ("s%02d.raw 5 9 9223372036854775807\n", "no pattern"), ("s%02d.raw 3 11 2\n", "s11.raw"), ("LIST\n", "names no data files"), ("../s%d.raw 1 5 1\n", "outside")):
        (tmp_path / "a.nhdr").write_text(head + "data file: " + data)
        fails(3, "convert", "a.nhdr", "--volume", "-o", "b.npy", says=[says], cwd=tmp_path)


def test_fiji_shows_millimetres_and_the_range(volume, tmp_path):
    qb("convert", volume, "-o", tmp_path / "a.tif")
    with tifffile.TiffFile(tmp_path / "a.tif") as t:
        told, page = t.imagej_metadata, t.pages[0]
        assert (told["unit"], told["spacing"], told["slices"], told["min"], told["max"]) == ("mm", 0.25, 48, 0, 65535)
        across, of = page.tags["XResolution"].value
        assert across / of == pytest.approx(4)


def test_memory_and_chunks(volume, tmp_path):
    """An image at a time, whatever the chunks of the input."""
    qb("convert", volume, "-o", tmp_path / "a.h5", "--compress", "zstd")
    qb("convert", tmp_path / "a.h5", "-o", tmp_path / "b.npy", "--max-ram", "36M", "--threads", 1)
    assert qb_json("compare", volume, tmp_path / "b.npy")["max_abs"] == 0
    fails(2, "convert", tmp_path / "a.h5", "-o", tmp_path / "c.npy", "--max-ram", "1M", says=["even one image at a time needs"])


def test_killed_at_any_moment(volume, tmp_path):
    for kind, how, at in (("h5", ["--compress", "gzip"], 14), ("npy", [], 5), ("mrc", [], 5), ("zarr", [], 14)):
        out = tmp_path / f"out.{kind}"
        job = ["convert", volume, "--max-ram", "32900K", "--threads", 1, "--checkpoint", "1e-9", "-o", out, *how]
        assert killed(*job, at=at) and not out.exists()
        assert qb_json(*job, "--resume")["images_resumed"] > 0, kind
        assert qb_json("compare", volume, out)["max_abs"] == 0
        assert not [name for name in os.listdir(tmp_path) if "part-" in name]


@memory_is_ours
def test_scan_killed_at_any_moment(tmp_path):
    """A scan's conversion goes on likewise, but not with other data, nor by other preparation."""
    scan, whole = tmp_path / "scan.h5", tmp_path / "whole.npy"
    qb("simulate", "disc", "-o", scan, "--views", 48, "--detector", "64,64")
    qb("convert", scan, "-o", whole)
    for name, how, at in (("a.h5", [], 15), ("b.h5", ["--compress", "zstd"], 24), ("c.zarr", [], 28), ("d.npy", [], 6), ("e/", [], 75)):
        out = tmp_path / name
        job = ["convert", scan, "--max-ram", "4050K", "--threads", 1, "--checkpoint", "1e-9", "-o", f"{tmp_path}/{name}", *how]
        assert killed(*job, at=at) and not out.exists()
        fails(2, *job, "--resume", "--transmission-floor", "0.01", says=["transmission-floor was"])
        told = qb_json(*job, "--resume")
        assert 0 < told["images_resumed"] < told["views"], name
        assert qb_json("compare", whole, out)["max_abs"] == 0
        assert not [name for name in os.listdir(tmp_path) if "part-" in name]


def test_what_does_not_go(volume, tmp_path):
    fails(2, "convert", volume, "-o", volume, says=["would overwrite the input"])
    fails(2, "convert", volume, "-o", tmp_path / "a.h5", "--center", 3, says=["are for scans"])


def test_missing_values_are_counted(tmp_path):
    values = np.random.default_rng(6).normal(size=(6, 8, 10)).astype("f4")
    values[2, 3, 4:6], values[5, 0, 0] = np.nan, np.nan
    for dtype in "f2", "f4", "f8":
        np.save(tmp_path / "a.npy", values.astype(dtype))
        report = qb_json("convert", "a.npy", "--volume", "-o", "b.npy", cwd=tmp_path)
        assert report["missing_values"] == 3 and np.isnan(np.load(tmp_path / "b.npy")).sum() == 3
    assert "3 of 480 values (0.625 %) are missing: they are written as missing" in qb("convert", "a.npy", "--volume", "-o", "b.h5", cwd=tmp_path).stderr
    np.save(tmp_path / "a.npy", values)
    done = qb("convert", "a.npy", "--volume", "--dtype", "uint8", "--range=-9,9", "-o", "c.npy", cwd=tmp_path)
    assert "3 of 480 values (0.625 %) are missing (NaN): they are 0 in uint8, which stands for -9; --dtype float32 keeps them" in done.stderr
    assert "clamped in" not in done.stderr and (np.load(tmp_path / "c.npy") == 0).sum() == 3


def test_dtype(volume, tmp_path):
    """Values stay what they are: the range of all of them is found as numpy finds it, whatever the memory, and stated in the file."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(40, 50, 60)).astype("f4") * np.linspace(0.1, 2, 40, dtype="f4")[:, None, None]
    np.save(tmp_path / "a.npy", values)
    for name, dtype, top in (("u2", "uint16", 65535), ("u1", "uint8", 255)):
        for more in (), ("--max-ram", "36M", "--threads", 1):
            report = qb_json("convert", tmp_path / "a.npy", "--volume", "--dtype", dtype, "-o", tmp_path / "b.npy", *more)
            low, high = json.loads((tmp_path / "b.npy.json").read_text())["scale"]
            assert [low, high] == pytest.approx(np.quantile(values, [1e-4, 1 - 1e-4]), rel=2e-3)
            assert report["lost"] == [] and report["clamped_values"] == ((values < low) | (values > high)).sum()
            got = np.load(tmp_path / "b.npy")
            assert got.dtype == name
            np.testing.assert_allclose(low + got / top * (high - low), np.clip(values, low, high), atol=0.51 * (high - low) / top)
    # Integers that stand for values become these values; a range of one's own warns of what is beyond it.
    qb("convert", volume, "--dtype", "float32", "-o", tmp_path / "f.npy")
    with h5py.File(volume) as f:
        stored = f["/exchange/data"][:]
    np.testing.assert_allclose(np.load(tmp_path / "f.npy"), -0.02 + stored * (0.09 / 65535), atol=1e-8)
    said = qb("convert", tmp_path / "a.npy", "--volume", "--dtype", "uint8", "--range=-1,1", "-o", tmp_path / "c.npy").stderr
    assert "[range-clamped]" in said and np.load(tmp_path / "c.npy").max() == 255
    qb("convert", volume, "--dtype", "float16", "-o", tmp_path / "h.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "h.npy"), np.load(tmp_path / "f.npy").astype("f2"))
    fails(2, "convert", volume, "--dtype", "int8", "-o", tmp_path / "x.npy", says=["int8"])
    fails(2, "convert", volume, "--volume", "--dtype", "uint8", "--range=-1e39,1e39", "-o", tmp_path / "x.npy", says=["float32"])
    fails(2, "convert", volume, "--dtype", "float16", "--range", "0,1", "-o", tmp_path / "x.npy", says=["--range"])
    fails(2, "convert", volume.parent / "s.h5", "--dtype", "uint8", "-o", tmp_path / "x.npy", says=["--volume"])
