# SPDX-License-Identifier: MIT
"""Balls, projected here in float64 as each scanner sees them, are reconstructed by `qb fdk FILE` where they are, within
half a voxel, at their values, within 1 %.

The scanner's own frame: x to the right as the source sees it, y away from it, z up. The object turns counter-clockwise,
seen from above, by the angle of a view. Images of most scanners begin at the top, and z of their volumes counts downwards.
Those of Zeiss begin at the bottom, as CIL places them, and those of Varian and Elekta, too, as RTK does."""
import json

import numpy as np
import pytest

import test_clinical as clinical
import test_ctsimu as ctsimu
import test_dicom as ct_pd
import test_vendor as cabinet
import test_zeiss as zeiss
from compound import compound
from qbtest import qb

BALLS = [((20, -8, 5), 9, 0.030), ((-16, 15, -4), 8, 0.042)]  # voxels; attenuation a voxel
VIEWS, COLUMNS = 120, 96


def lines(sod, sdd, pitch, rows, angles, right=0.0, up=0.0, roll=0.0, bent=False, below=False):
    """Line integrals [view][row][column]. right, up: of the detector's middle from the principal ray, in mm along the
    detector's own axes, which are turned by `roll` degrees counter-clockwise, as the source sees them. A bent detector
    is an arc about the source. below: the first row is the lowest."""
    across, high = np.broadcast_to(pitch, 2)
    voxel, roll = across * sod / sdd, np.radians(roll)
    u = (np.arange(COLUMNS) - (COLUMNS - 1) / 2) * across + right
    v = up + (np.arange(rows) - (rows - 1) / 2) * (high if below else -high)
    x, away = (sdd * np.sin(u / sdd), sdd * np.cos(u / sdd)) if bent else (u, np.full_like(u, sdd))
    ray = np.stack(np.broadcast_arrays(x * np.cos(roll) - v[:, None] * np.sin(roll), away, x * np.sin(roll) + v[:, None] * np.cos(roll)), -1)
    ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
    made = np.zeros((len(angles), rows, COLUMNS))
    for view, a in zip(made, np.radians(angles)):
        for (px, py, pz), radius, value in BALLS:
            to = np.array([px * np.cos(a) - py * np.sin(a), px * np.sin(a) + py * np.cos(a), pz]) * voxel + [0, sod, 0]
            view += value / voxel * 2 * np.sqrt(np.maximum(0, (radius * voxel) ** 2 - to @ to + (ray @ to) ** 2))
    return made


def put_cabinet(name, images, text, white, put=cabinet.put_tiff):
    def write(folder, made):
        (folder / images).parent.mkdir(exist_ok=True)
        for i, view in enumerate(np.round(white * np.exp(-made))):
            put(folder / f"{images}{i + 1:04d}.tif", view)
        words, others = text() if isinstance(text(), tuple) else (text(), {})
        for other, words_of in {name: words, **others}.items():
            (folder / other).write_text(words_of)
        return [name]
    return write


def put_zeiss(folder, made):
    (folder / "s.txrm").write_bytes(compound(zeiss.streams(np.round(zeiss.FLAT * np.exp(-made)))))
    return ["s.txrm"]


def put_views(name, air, view_of, others):
    """A file a view in a folder, and an image of open beam where the format has one."""
    def write(folder, made):
        (folder / "s").mkdir()
        for i, view in enumerate(np.round(60000 * np.exp(-made))):
            (folder / "s" / (name % i)).write_bytes(view_of(i, view))
        for other, data in others.items():
            (folder / other).write_bytes(data)
        return ["s", *air]
    return write


def put_elekta(folder, made):
    (folder / "s").mkdir()
    (folder / "s" / "a.his").write_bytes(clinical.his(65536 - np.round(65536 * np.exp(-made))))
    (folder / "s" / "_Frames.xml").write_text("<Frames>" + "".join(f"<Frame><GantryAngle>{3 * i}</GantryAngle><UCentre>3</UCentre><VCentre>-2</VCentre></Frame>" for i in range(VIEWS)) + "</Frames>")
    return ["s"]


def put_ct_pd(folder, made):
    """Its columns and rows run against those of this frame, and it counts angles from behind: 180 degrees minus ours."""
    (folder / "s").mkdir()
    for i, view in enumerate(np.round(made[:, ::-1, ::-1] / 2e-5)):
        (folder / "s" / f"{i:04}.dcm").write_bytes(ct_pd.dicom(i + 1, view, 2e-5, 0, np.pi - np.radians(3 * i), 0, (0, 0, 0)))
    return ["s"]


def put_ctsimu(folder, made):
    scenario = json.loads(json.dumps(ctsimu.SCENARIO))
    scenario["geometry"]["detector"].update(center=ctsimu.vector(1.2, ctsimu.SDD, 0.6), vector_w=ctsimu.vector(0, 1, 0))
    scenario["acquisition"].update(direction="CCW", number_of_projections={"value": VIEWS})
    scenario["detector"].update(columns={"value": COLUMNS}, rows={"value": 64})
    (folder / "s.json").write_text(json.dumps(scenario))
    np.save(folder / "p.npy", made.astype("f4"))
    return ["p.npy", "-g", "s.json"]


LAB = {"sod": cabinet.SOD, "sdd": cabinet.SDD, "pitch": cabinet.PITCH, "rows": 64}
GANTRY = {"sod": clinical.SOD, "sdd": clinical.SDD, "pitch": clinical.PITCH, "rows": 64, "below": True}
TURN = 3.0 * np.arange(VIEWS)
XIM = {"KVDetectorLat": 0.3, "KVDetectorLng": -0.2, "PixelWidth": clinical.PITCH / 10, "PixelHeight": clinical.PITCH / 10}
OBI = (f"<P><FanType>FullFan</FanType><CalibratedSAD>{clinical.SOD}</CalibratedSAD><CalibratedSID>{clinical.SDD}</CalibratedSID><CalibratedDetectorOffsetX>1.5</CalibratedDetectorOffsetX>"
       "<DetectorPosLat>2.5</DetectorPosLat><CalibratedDetectorOffsetY>1</CalibratedDetectorOffsetY></P>").encode()
AIR = np.full((64, COLUMNS), 60000)
nikon_other = {"CentreOfRotationTop": None, "CentreOfRotationBottom": None, "ObjectOffsetX": 1.2 * cabinet.SOD / cabinet.SDD, "ObjectRoll": -1.5}

# how the scan is seen; how its files are written, which says what comes after `qb fdk`; whether z of the volume goes up
SCANNERS = {
    "nikon": ({**LAB, "angles": 30 + TURN, "right": -1.2, "roll": 1.5}, put_cabinet("a.xtekct", "Scan 1/bug_", cabinet.nikon, 60000), False),
    "nikon turned": ({**LAB, "angles": -30 - TURN, "right": -1.2, "roll": 1.5}, put_cabinet("a.xtekct", "Scan 1/bug_", lambda: cabinet.nikon(**nikon_other), 60000), False),
    "zeiss": ({**LAB, "angles": TURN - 180, "below": True}, put_zeiss, True),
    # line 30 from below of 64: the detector's middle is 1.5 lines above it
    "bruker": ({**LAB, "angles": TURN, "up": 0.6}, put_cabinet("bone.log", "bone_", cabinet.skyscan, 65535), False),
    "bruker clockwise": ({**LAB, "angles": -TURN, "up": 0.6}, put_cabinet("bone.log", "bone_", lambda: cabinet.skyscan(**{"Rotation Direction": "CW"}), 65535), False),
    "ge": ({**LAB, "angles": TURN}, lambda *how: put_cabinet("part.pca", "part_", cabinet.phoenix, 50000)(*how) + ["--air", "0:4,0:64", "--darks", "none"], False),
    "nsi": ({**LAB, "angles": TURN, "right": -1.2, "up": -0.6, "roll": -1.5}, put_cabinet("bar.nsipro", "Radiographs-bar/bar_", cabinet.nsi, 60000, cabinet.put_stored), False),
    "diondo": ({**LAB, "angles": TURN, "right": -1.2}, put_cabinet("a.xml", "Projection/_0012,50_", cabinet.diondo, 65535, cabinet.put_raw), False),
    "yxlon": ({**LAB, "angles": TURN - 20, "right": -1.2, "up": -0.6}, put_cabinet("ScanParameter.xml", "Projections/p_", cabinet.yxlon, 65535), False),
    "yxlon raw": ({**LAB, "angles": TURN, "right": -1.2}, put_cabinet("a.txt", "Projektionen/p_", cabinet.yxlon_lines, 65535, cabinet.put_raw_below), False),
    "varian xim": ({**GANTRY, "angles": TURN - 180, "right": 3, "up": -2}, put_views("Proj_%05d.xim", ["--flats", "air.xim"], lambda i, view: clinical.xim(view, KVSourceRtn=3.0 * i, **XIM), {
        "air.xim": clinical.xim(AIR), "Scan.xml": f'<Scan Version="2.7"><SAD>{clinical.SOD}</SAD><SID>{clinical.SDD}</SID></Scan>'.encode()}), True),
    "varian hnd": ({**GANTRY, "angles": -TURN, "right": 4, "up": 1}, put_views("Proj_%04d.hnd", ["--flats", "air.hnc"], lambda i, view: clinical.obi(view, 3.0 * i, True), {
        "air.hnc": clinical.obi(AIR, 0, False), "ProjectionInfo.xml": OBI}), True),
    "elekta": ({**GANTRY, "pitch": 409.6 / COLUMNS, "rows": COLUMNS, "angles": -TURN, "right": -3, "up": 2}, put_elekta, True),
    "dicom": ({"sod": ct_pd.RHO, "sdd": ct_pd.DISTANCE, "pitch": ct_pd.PITCH, "rows": ct_pd.ROWS, "angles": TURN, "right": 0.5, "up": 0.625, "bent": True}, put_ct_pd, True),
    "ctsimu": ({**LAB, "pitch": ctsimu.PITCH, "angles": TURN, "right": 1.2, "up": 0.6}, put_ctsimu, True),
}


@pytest.mark.parametrize("name", SCANNERS)
def test_balls(tmp_path, name):
    seen, write, z_up = SCANNERS[name]
    qb("fdk", *write(tmp_path, lines(**seen)), "-o", "v.npy", cwd=tmp_path)
    assert ("z_down" in json.loads((tmp_path / "v.npy.json").read_text())) != z_up  # other programs show no mirror image
    volume, told = np.load(tmp_path / "v.npy").astype(float), json.loads((tmp_path / "v.npy.json").read_text())
    size, middle = told["voxel_mm"][::-1], told["offset_mm"][::-1]
    at = np.meshgrid(*((np.arange(n) - (n - 1) / 2) * s + o for n, s, o in zip(volume.shape, size, middle)), indexing="ij")
    voxel = np.max(np.broadcast_to(seen["pitch"], 2)[0] * seen["sod"] / seen["sdd"])
    for (x, y, z), radius, value in BALLS:
        place = np.array([z if z_up else -z, y, x]) * voxel
        far = np.sqrt(sum((a - p) ** 2 for a, p in zip(at, place)))
        part = np.where(far < (radius + 4) * voxel, np.maximum(volume - value / voxel / 3, 0), 0)
        assert part.any(), place
        assert [(a * part).sum() / part.sum() for a in at] == pytest.approx(place, abs=0.5 * voxel)
        assert volume[far < (radius - 3) * voxel].mean() == pytest.approx(value / voxel, rel=0.01)
