# SPDX-License-Identifier: MIT
"""Scans of machines for radiotherapy: Varian's .xim, .hnd and .hnc, Elekta's .his, with the settings beside them."""
import struct

import numpy as np
import pytest

from qbtest import fails, qb, qb_json

VIEWS, ROWS, COLUMNS, PITCH, SOD, SDD = 120, 64, 64, 6.4, 1000, 1536
TRUTH = ["spheres", "--geometry", "cone", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--detector", f"{COLUMNS},{ROWS}", "--views", VIEWS,
         "--size", "48,48,32", "--truth", "truth.npy"]


def differences(image):
    """The table of sizes and the numbers, as Varian packs them."""
    flat = image.astype(np.int64).ravel()
    w = image.shape[1]
    steps = flat[w + 1:] - flat[w:-1] - flat[1:-w] + flat[:-w - 1]
    codes = np.where(np.abs(steps) < 128, 0, np.where(np.abs(steps) < 32768, 1, 2))
    table = np.zeros(-(-codes.size // 4), "u1")
    for k in range(4):
        part = codes[k::4]
        table[:part.size] |= (part << 2 * k).astype("u1")
    data = flat[:w + 1].astype("<i4").tobytes() + b"".join(int(s).to_bytes(1 << int(c), "little", signed=True) for s, c in zip(steps, codes))
    return table.tobytes(), data


def properties(values):
    made = struct.pack("<I", len(values))
    for name, value in values.items():
        made += struct.pack("<I", len(name)) + name.encode()
        if isinstance(value, float):
            made += struct.pack("<Id", 1, value)
        elif isinstance(value, str):
            made += struct.pack("<II", 2, len(value)) + value.encode()
        elif isinstance(value, list):
            made += struct.pack(f"<II{len(value)}d", 4, 8 * len(value), *value)
        else:
            made += struct.pack("<Ii", 0, value)
    return made


def xim(image, packed=True, **values):
    head = struct.pack("<8sIIIIII", b"VMS.XI", 1, image.shape[1], image.shape[0], 32, 4, int(packed))
    if image.size == 0:
        return head
    if packed:
        table, data = differences(image)
        body = struct.pack("<I", len(table)) + table + struct.pack("<I", len(data)) + data + struct.pack("<I", image.size * 4)
    else:
        body = struct.pack("<I", image.size * 4) + image.astype("<i4").tobytes()
    return head + body + struct.pack("<3I", 2, 7, 8) + properties({"MVEnergy": "6x", "MLCLeafsA": [1.0, 2.0], "StartTime": 5, **values})


def obi(image, angle, packed):
    head = bytearray(1024 if packed else 512)
    struct.pack_into("<II", head, 120, image.shape[1], image.shape[0])
    struct.pack_into("<dd", head, 352, PITCH, PITCH)
    struct.pack_into("<d", head, 432, angle)
    return bytes(head) + (b"".join(differences(image)) if packed else image.astype("<u2").tobytes())


def his(images):
    count, rows, columns = images.shape
    head = bytearray(100)
    struct.pack_into("<4B", head, 0, 0, 112, 68, 0)
    struct.pack_into("<6H", head, 10, 32, 1, 1, rows, columns, count)
    head[32] = 4
    return bytes(head) + images.astype("<u2").tobytes()


def counts(folder, flat, angles, *faults):
    qb("simulate", *TRUTH, "--angles", angles, *faults, "-o", "t.npy", cwd=folder)
    return np.round(np.load(folder / "t.npy") * flat)


def put_xim(folder):
    views = counts(folder, 60000, "180:-180", "--detector-offset", "3,-2")
    aside = np.random.default_rng(2).integers(-2, 3, VIEWS)  # columns by which the detector hangs to the left in single views
    aside[-1] -= aside.sum()
    place = folder / "Acquisitions" / "1"
    place.mkdir(parents=True)
    dose = 500 * (1 + 0.04 * np.sin(np.arange(VIEWS)))
    for i, view in enumerate(np.round(views * dose[:, None, None] / 500)):
        (place / f"Proj_{i:05d}.xim").write_bytes(xim(np.roll(view, aside[i], 1), packed=i != 5, KVNormChamber=dose[i], KVSourceRtn=3.0 * i, KVDetectorLat=0.3 - float(aside[i]) * PITCH / 10, KVDetectorLng=-0.2, PixelWidth=PITCH / 10, PixelHeight=PITCH / 10))
    (place / "Proj_00120.xim").write_bytes(xim(np.zeros((0, 0))))
    air = folder / "Calibrations" / "AIR-Half-Bowtie-125KV" / "Current"
    air.mkdir(parents=True)
    for name, open_beam, chamber in ("FilterBowtie_CC1", 30000, 250.), ("FilterBowtie_CC2", 30600, 255.), ("FilterBowtie_CW", 9, 250.), ("Filter", 9, 250.):
        (air / f"{name}.xim").write_bytes(xim(np.full((ROWS, COLUMNS), open_beam), KVNormChamber=chamber))
    (folder / "Scan.xml").write_text(f'<?xml version="1.0"?>\n<Scan Version="2.7.0.0"><Acquisitions><StartAngle>180</StartAngle><StopAngle>540</StopAngle><Bowtie>Half</Bowtie><SAD>{SOD}</SAD><SID>{SDD}</SID></Acquisitions></Scan>')
    return "Acquisitions/1", [], "180:-180", ["--detector-offset", "3,-2"]


def put_obi(folder, packed):
    views = counts(folder, 60000, "0:360", "--detector-offset", "4,1")
    place = folder / "Scan0"
    place.mkdir()
    for i, view in enumerate(views):
        (place / f"Proj_{i:04d}.{'hnd' if packed else 'hnc'}").write_bytes(obi(view, 3.0 * i, packed))
    (folder / "air.hnc").write_bytes(obi(np.full((ROWS, COLUMNS), 60000), 0, False))
    (place / "ProjectionInfo.xml").write_text(f"<P><FanType>HalfFan</FanType><CalibratedSAD>{SOD}</CalibratedSAD><CalibratedSID>{SDD}</CalibratedSID>"
                                              "<CalibratedDetectorOffsetX>1.5</CalibratedDetectorOffsetX><DetectorPosLat>2.5</DetectorPosLat>"
                                              "<CalibratedDetectorOffsetY>1</CalibratedDetectorOffsetY></P>")
    return "Scan0", ["--flats", "air.hnc"], "0:360", ["--detector-offset", "4,1"]


def put_his(folder):
    views = 65536 - counts(folder, 65536, "10:370", "--detector-offset", "-3,2")  # RTK, too: 0 is open beam
    place = folder / "img"
    place.mkdir()
    for i in range(0, VIEWS, 2):
        (place / f"{i:05d}.his").write_bytes(his(views[i:i + 2]))
    frames = "".join(f"<Frame><Seq>{i}</Seq><GantryAngle>{10 + 3 * i}</GantryAngle><UCentre>3</UCentre><VCentre>-2</VCentre></Frame>" for i in range(VIEWS))
    (place / "_Frames.xml").write_text(f"<ProjectionSet>\n<Frames>{frames}</Frames></ProjectionSet>")
    return "img", [], "10:370", ["--detector-offset", "-3,2"]


MACHINES = {"xim": put_xim, "hnd": lambda folder: put_obi(folder, True), "hnc": lambda folder: put_obi(folder, False), "his": put_his}


@pytest.fixture(params=MACHINES)
def machine(request, tmp_path):
    return tmp_path, *MACHINES[request.param](tmp_path)


def test_one_argument(machine):
    """The same volume as by the geometry on the command line."""
    folder, scan, options, angles, faults = machine
    made = qb_json("fdk", scan, *options, "--like", "truth.npy", "-o", "v.npy", cwd=folder)
    assert not made["warnings"]
    qb("fdk", "t.npy", "--quantity", "transmission", "--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", angles, *faults, "--like", "truth.npy", "-o", "w.npy", cwd=folder)
    v, w = (np.load(folder / name).astype(float) for name in ("v.npy", "w.npy"))
    assert np.linalg.norm(v - w) < 3e-3 * np.linalg.norm(w)
    told = qb_json("info", scan, cwd=folder)
    assert told["format"] in ("Varian", "Elekta") and told["views"] == VIEWS and (told["sod_mm"], told["sdd_mm"]) == (SOD, SDD)


def test_his_header(tmp_path):
    """Sizes are the header's; a scan without a list of frames has no angles, and other angles are taken."""
    (tmp_path / "a.his").write_bytes(his(np.arange(4 * 8 * 16).reshape(4, 8, 16)))
    told = qb_json("info", "a.his", cwd=tmp_path)
    assert (told["views"], told["rows"], told["columns"]) == (4, 8, 16)
    assert told["quantity"] == "transmission" and "no angles" in " ".join(told["problems"])
    (tmp_path / "_Frames.xml").write_text("<Frame><GantryAngle>1</GantryAngle></Frame>")
    fails(3, "info", "a.his", says=["lists 1 frame for 4 images"], cwd=tmp_path)
    (tmp_path / "_Frames.xml").write_text("<Frame><GantryAngle>1</GantryAngle>")
    fails(3, "info", "a.his", says=["ends within frame 0"], cwd=tmp_path)
    (tmp_path / "_Frames.xml").write_text("<Frame></Frame>" * 4)
    fails(3, "info", "a.his", says=["frame 0 has no <GantryAngle>"], cwd=tmp_path)
    # some programs that anonymise remove letters of the tags
    (tmp_path / "_Frames.xml").write_text("".join(f"<Frame><{tag}>{i}</{tag}><Uentre>1</Uentre><Ventre>2,5</Ventre></Frame>" for i, tag in enumerate(("GantryAngle", "antryAngle", "Gantryngle", "Angle"))))
    told = qb_json("info", "a.his", cwd=tmp_path)
    assert (told["first_angle_deg"], told["last_angle_deg"]) == (0, 3) and "no angles" not in " ".join(told["problems"])
    (tmp_path / "b_Frames.xml").write_text("")
    fails(3, "info", "a.his", says=["several files"], cwd=tmp_path)


def test_his_edge(tmp_path):
    """Four pixels at each edge of a panel are left out, and the others are where they were."""
    image = np.full((2, 260, 256), 65535)
    image[:, 4:-4, 4:-4] = 20000
    image[0, 4, 5] = 0
    (tmp_path / "a.his").write_bytes(his(image))
    told = qb_json("info", "a.his", cwd=tmp_path)
    assert (told["rows"], told["columns"]) == (252, 248) and told["pixel_size_mm"] == pytest.approx(409.6 / 256)
    qb("convert", "a.his", "--angles", "0:180", "-o", "l.npy", cwd=tmp_path)
    want = np.full((252, 248), -np.log((65536 - 20000) / 65536))
    want[0, 1] = 0
    assert np.abs(np.load(tmp_path / "l.npy")[0] - want).max() < 1e-6


def test_settings(tmp_path):
    (tmp_path / "a.xim").write_bytes(xim(np.full((9, 8), 5), KVSourceRtn=1.0))
    assert "sod_mm" not in qb_json("info", "a.xim", cwd=tmp_path)
    for text, words in (("<SAD>1000</SAD>", "states no <SAD> and <SID>"), ("<SAD>1500</SAD><SID>1000</SID>", "1500 mm from the axis"),
                        ("<SAD>x</SAD><SID>1</SID>", "states no <SAD>"), ("<S><SAD>1000</SAD><SID>1500</SID>", "its end tag </S> is missing")):
        (tmp_path / "Scan.xml").write_text(text)
        fails(3, "info", "a.xim", says=[words], cwd=tmp_path)


def test_values_of_differences(tmp_path):
    """Numbers of any size come back, also of the widest steps."""
    image = np.random.default_rng(3).choice([0, 1, -1, 100, 40000, -40000, 2**31 - 1, -2**31], (7, 11))
    flat = image.astype(np.int64)
    (tmp_path / "a.xim").write_bytes(xim(image % 100000))
    np.save(tmp_path / "want.npy", (flat % 100000)[None].astype("i4"))
    assert qb_json("compare", "a.xim", "want.npy", cwd=tmp_path)["max_abs"] == 0
    (tmp_path / "b.hnd").write_bytes(obi(flat[:, :8] % 65536, 0, True))
    np.save(tmp_path / "want.npy", (flat[:, :8] % 65536)[None].astype("i4"))
    assert qb_json("compare", "b.hnd", "want.npy", cwd=tmp_path)["max_abs"] == 0


@pytest.mark.parametrize("name, whole", [("a.xim", xim(np.full((9, 8), 300), KVSourceRtn=1.0)), ("a.hnd", obi(np.full((9, 8), 300), 1, True)),
                                         ("a.hnc", obi(np.full((9, 8), 300), 1, False)), ("a.his", his(np.full((2, 9, 8), 300)))])
def test_cut_and_hostile(tmp_path, name, whole):
    """Files that were cut are refused, at the latest when they are read; absurd sizes are no crash."""
    np.save(tmp_path / "w.npy", np.zeros((2 if name == "a.his" else 1, 9, 8), "f4"))
    for cut in range(0, len(whole), 7):
        (tmp_path / name).write_bytes(whole[:cut])
        fails(3, "compare", name, "w.npy", cwd=tmp_path)
    for at in range(0, min(len(whole), 600), 4):
        (tmp_path / name).write_bytes(whole[:at] + b"\xff\xff\xff\x7f" + whole[at + 4:])
        assert qb_any("compare", name, "w.npy", cwd=tmp_path) in (0, 2, 3)


def qb_any(*args, cwd):
    """The exit code, whatever it is; a signal is none."""
    import subprocess
    from qbtest import QB
    return subprocess.run([QB, *map(str, args)], cwd=cwd, capture_output=True, timeout=60).returncode
