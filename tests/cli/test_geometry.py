# SPDX-License-Identifier: MIT
"""qb info about geometries: what it says, what it draws, and that scan and geometry fit."""
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from qbtest import fails, provenance_h5, qb, qb_json

CONE = ["--geometry", "cone", "--sod", "500", "--sdd", "800", "--pixel-size", "1.6"]
CIRCLE = ["--sod", "500", "--sdd", "800", "--pixel-size", "1.6", "--detector", "128,96"]


def circle(path, angles=360, views=240, **more):
    """A geometry file written by hand."""
    g = {"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 96, "columns": 128, "sod": 500, "sdd": 800,
         "pixel_size": [1.6, 1.6], "angles_degrees": {"from": 0, "to": angles, "count": views}, **more}
    path.write_text(json.dumps(g))
    return path


def test_a_full_turn(tmp_path):
    g = qb_json("info", "-g", circle(tmp_path / "g.json"))
    assert g["beam"] == "cone" and g["circular"] and g["weights"] == "none" and g["problems"] == []
    assert abs(g["magnification"] - 1.6) < 1e-9 and g["views"] == 240
    assert abs(g["coverage_degrees"] - 360) < 1e-9 and abs(g["step_degrees"] - 1.5) < 1e-9
    # Parker needs 180 degrees and the fan: atan((n - 1) / 2 pixels / sdd) to each side
    half = np.rad2deg(np.arctan(63.5 * 1.6 / 800))
    assert abs(g["needed_degrees"] - 180 - 2 * half) < 1e-6
    assert abs(g["field_radius_mm"] - 500 * np.sin(np.deg2rad(half))) < 1e-6
    assert abs(g["field_height_mm"] - 96 * 1.6 * 500 / 800) < 1e-6
    assert g["volume"]["size"] == [128, 128, 96]


def test_words(tmp_path):
    said = qb("info", "-g", circle(tmp_path / "g.json")).stdout
    for words in ("cone", "240 over 360 degrees", "radius 500 mm", "1.6 times", "128 columns x 96 rows", "flat",
                  "full turn", "no problems found"):
        assert words in said, words


@pytest.mark.parametrize("angles,offset,weights,missing", [
    ("0:360:240", "0,0", "none", 0),
    ("20:220:160", "0,0", "parker", 0),
    ("20:190:160", "0,0", "gaps", None),
    ("0:360:240", "40,0", "wang", 0),
    ("0:360:240", "25px", "wang", 0),
])
def test_weights_are_foreseen(angles, offset, weights, missing):
    g = qb_json("info", *CIRCLE, "--angles", angles, f"--detector-offset={offset}")
    assert g["weights"] == weights
    if missing is not None:
        assert g["missing_degrees"] == missing
    else:
        assert abs(g["missing_degrees"] - (g["needed_degrees"] - 170)) < 1e-6
        assert any("limited angle" in p for p in g["problems"])


def test_offsets_in_pixels_and_mm():
    mm = qb_json("info", *CIRCLE, "--angles", "0:360:90", "--detector-offset=-40,8mm")
    px = qb_json("info", *CIRCLE, "--angles", "0:360:90", "--detector-offset=-25,5px")
    for key in ("offset_u_mm", "offset_v_mm"):
        assert abs(mm[key] - px[key]) < 1e-9
    assert abs(mm["offset_u_mm"] + 40) < 1e-9 and abs(mm["offset_v_mm"] - 8) < 1e-9


def test_faults_are_seen():
    g = qb_json("info", *CIRCLE, "--angles", "0:360:90", "--jitter", "0.8,0,3", "--tilt", "0.2,0,0")
    assert not g["circular"] and 0.5 < g["circular_error_px"] < 2


def test_rows_off_a_level_line():
    for tilt, resampled in (("0.1,0,0", False), ("1,0,0", True), ("0,5,5", False)):
        g = qb_json("info", *CIRCLE, "--angles", "0:360:90", "--tilt", tilt)
        assert g["resampled"] == resampled
    # sin(1 degree) over the width
    g = qb_json("info", *CIRCLE, "--angles", "0:360:90", "--tilt", "1,0,0")
    assert abs(g["row_drift_px"] / (0.0174524 * (g["columns"] - 1)) - 1) < 1e-4


def test_the_volume_decides_what_is_needed():
    """A small volume needs less of the turn than all that the detector sees."""
    whole = qb_json("info", *CIRCLE, "--angles", "0:190:100")
    small = qb_json("info", *CIRCLE, "--angles", "0:190:100", "--size", "32,32,32", "--voxel", "1")
    assert whole["missing_degrees"] > 4 and small["missing_degrees"] == 0
    assert abs(small["needed_degrees"] - 180 - 2 * np.rad2deg(np.arcsin(16 / 500))) < 1e-6


@pytest.mark.parametrize("volume,says", [
    (["--offset", "480,0,0"], "behind the source"),
    (["--size", "16,16,16", "--offset", "0,0,400"], "no view sees any of the volume"),
    (["--voxel", "10"], "inside the volume"),
    (["--voxel", "2"], "its rim is incomplete"),
])
def test_a_volume_that_does_not_suit(volume, says):
    g = qb_json("info", *CIRCLE, "--angles", "0:360:360", *volume)
    assert any(says in p for p in g["problems"]), g["problems"]


def drawing(path):
    """The two panels of a drawing, whose texts and shapes have places."""
    root = ElementTree.parse(path).getroot()
    svg = "{http://www.w3.org/2000/svg}"
    assert root.tag == svg + "svg" and root.get("viewBox") == "0 0 1280 640"
    return [{kind: [e for e in panel.iter(svg + kind)] for kind in ("text", "path", "circle", "rect")}
            for panel in root.findall(svg + "svg")]


def test_picture(tmp_path):
    file = tmp_path / "g.svg"
    qb("info", "-g", circle(tmp_path / "g.json"), "--preview", file)
    above, side = drawing(file)
    assert file.stat().st_size < 60000
    # the source of view 0 lies straight below the axis, the detector above it: 500 mm and 300 mm from it
    field, source = above["circle"]
    x, y = (float(source.get(k)) for k in ("cx", "cy"))
    assert abs(x - float(field.get("cx"))) < 0.1 and y > 500
    scale = (y - float(field.get("cy"))) / 500
    first = next(p for p in above["path"] if p.get("class") == "D")
    places = np.array(re.findall(r"[ML](-?[0-9.]+) (-?[0-9.]+)", first.get("d")), float)
    assert np.allclose(places[:, 1], float(field.get("cy")) - 300 * scale, atol=0.3)
    assert abs(np.ptp(places[:, 0]) - 128 * 1.6 * scale) < 0.3
    box = side["rect"][0]  # 128 x 128 x 96 voxels of 1 mm
    assert abs(float(box.get("width")) - 128 * scale) < 0.3 and abs(float(box.get("height")) - 96 * scale) < 0.3
    words = [t.text for t in above["text"]]
    assert {"x", "y", "volume", "first source", "first detector"} <= set(words) and any(w.endswith(" mm") for w in words)
    for text in above["text"] + side["text"]:
        assert 0 <= float(text.get("x")) <= 640 and 0 <= float(text.get("y")) <= 640, text.text
    fails(2, "info", "-g", tmp_path / "g.json", "--preview", tmp_path / "g.png", says=["g.png", ".svg"])
    assert not (tmp_path / "g.png").exists()


def test_scan_and_geometry(tmp_path):
    scan = tmp_path / "s.h5"
    qb("simulate", "ball", *CONE, "--detector", "128,96", "--views", "240", "-o", scan)
    info = qb_json("info", scan, "-g", circle(tmp_path / "g.json"))
    assert info["views"] == 240 and info["geometry"]["views"] == 240 and info["geometry"]["problems"] == []
    info = qb_json("info", scan, "--sod", "500", "--sdd", "800")
    assert abs(info["geometry"]["magnification"] - 1.6) < 1e-9
    fails_after = qb("info", scan, "-g", circle(tmp_path / "h.json", views=200), code=3)
    assert "200 views" in fails_after.stderr and "240" in fails_after.stderr
    fails_after = qb("info", scan, "-g", circle(tmp_path / "h.json", rows=90), code=3)
    assert "90 rows" in fails_after.stderr and "96" in fails_after.stderr


def test_scan_and_geometry_of_different_beams(tmp_path):
    scan = tmp_path / "p.h5"
    qb("simulate", "disc", "--detector", "128,96", "--views", "240", "--pixel-size", "1.6", "-o", scan)
    done = qb("info", scan, "-g", circle(tmp_path / "g.json"), code=3)
    assert "parallel" in done.stderr and "a cone" in done.stderr


def test_a_geometry_is_known_by_its_name(tmp_path):
    g = circle(tmp_path / "g.json")
    assert qb("info", g).stdout == qb("info", "-g", g).stdout


def test_usage(tmp_path):
    fails(2, "info", says=["qb info"])
    fails(2, "info", "--sod", "500", "--sdd", "800", "--pixel-size", "1", "--detector", "9", says=["--angles FROM:TO:N"])
    fails(2, "info", "--sod", "500", "--sdd", "800", "--pixel-size", "1", "--angles", "0:360:9", says=["--detector"])
    fails(2, "info", "--sod", "500", "--sdd", "800", "--angles", "0:360:9", "--detector", "9", says=["--pixel-size"])
    fails(2, "info", tmp_path / "s.h5", "--preview", "x.svg", says=["--preview", "-g FILE"])
    fails(2, "info", "-g", circle(tmp_path / "g.json"), "--sod", "4", says=["--sod"])
    fails(3, "info", "-g", tmp_path / "none.json", says=["none.json"])


@pytest.mark.parametrize("ending", ["json", "xml", "txt", "csv"])
def test_simulate_writes_the_geometry(tmp_path, ending):
    """What simulate writes is the scan's geometry: fdk gives the same volume as with the circle's numbers."""
    scan, g = tmp_path / "s.h5", tmp_path / f"g.{ending}"
    qb("simulate", "spheres", *CONE, "--detector", "64,48", "--views", "60", "-o", scan, "--geometry-out", g)
    info = qb_json("info", scan, "-g", g)["geometry"]
    assert info["circular"] and abs(info["sdd_mm"] - 800) < 1e-6 and info["problems"] == []
    alone = qb_json("info", "-g", g)  # our files say what the pixels are
    assert alone["columns"] == 64 and alone["rows"] == 48 and abs(alone["pixel_u_mm"] - 1.6) < 1e-9
    qb("fdk", scan, "-g", g, "-o", tmp_path / "a.h5")
    qb("fdk", scan, "--sod", "500", "--sdd", "800", "-o", tmp_path / "b.h5")
    assert qb_json("compare", tmp_path / "a.h5", tmp_path / "b.h5")["rel_l2"] < 1e-6
    if ending != "json":
        fails(3, "info", "-g", g, "--detector", "64,47", says=["48 rows"])
        fails(3, "info", "-g", g, "--pixel-size", "0.16", says=["1.6 mm", "0.16"])


def test_an_unknown_ending_is_refused_before_the_work(tmp_path):
    fails(2, "simulate", "ball", *CONE, "-o", tmp_path / "s.h5", "--geometry-out", tmp_path / "g.geo", says=["g.geo", ".xml"])
    assert not (tmp_path / "s.h5").exists()


RTK = """<?xml version="1.0"?>
<!DOCTYPE RTKGEOMETRY>
<RTKThreeDCircularGeometry version="3">
  <SourceToIsocenterDistance>500</SourceToIsocenterDistance>
  <SourceToDetectorDistance>800</SourceToDetectorDistance>
  %s
</RTKThreeDCircularGeometry>
"""


def rtk(path, angles, more=""):
    views = "".join(f"<Projection><GantryAngle>{a}</GantryAngle>{more}</Projection>\n" for a in angles)
    path.write_text(RTK % views)
    return path


def test_a_foreign_xml(tmp_path):
    """RTK's files say nothing of the pixels: what can be told is told, what cannot is asked for."""
    g = rtk(tmp_path / "g.xml", range(0, 200, 2))
    info = qb_json("info", "-g", g)
    assert info["views"] == 100 and abs(info["magnification"] - 1.6) < 1e-9
    assert abs(info["coverage_degrees"] - 200) < 1e-9 and "weights" not in info and "field_radius_mm" not in info
    assert any("--detector" in p for p in info["problems"])
    assert "100 over 200 degrees" in qb("info", "-g", g).stdout
    info = qb_json("info", "-g", g, "--detector", "128,96", "--pixel-size", "1.6")
    assert info["weights"] == "parker" and info["problems"] == []
    fails(2, "info", "-g", g, "--preview", tmp_path / "g.svg", says=["--detector"])
    fails(2, "info", "-g", g, "--detector", "128,96", says=["--pixel-size"])


def test_the_volume_remembers_its_geometry(tmp_path):
    scan = tmp_path / "s.h5"
    qb("simulate", "ball", *CONE, "--detector", "64,48", "--views", "60", "-o", scan)
    qb("fdk", scan, "--sod", "500", "--sdd", "800", "--detector-offset", "2,1", "--allow-limited", "--filter", "hann", "-o",
       tmp_path / "v.h5")
    plan = provenance_h5(tmp_path / "v.h5")["plan"]
    g = plan["geometry"]
    assert abs(g["sod_mm"] - 500) < 1e-9 and abs(g["offset_u_mm"] - 2) < 1e-9 and abs(g["offset_v_mm"] - 1) < 1e-9
    assert g["views"] == 60 and abs(g["pixel_u_mm"] - 1.6) < 1e-9
    assert plan["options"]["filter"] == "hann" and plan["options"]["allow-limited"] == "true"


def test_a_bent_detector(tmp_path):
    bent = [*CIRCLE[:-1], "356,96", "--detector-radius", "500", "--angles", "0:360:90"]
    g = qb_json("info", *bent, "--preview", tmp_path / "b.svg")
    assert drawing(tmp_path / "b.svg")
    assert g["detector_radius_mm"] == 500 and g["problems"] == []
    said = qb("info", *bent).stdout
    assert "curved, radius 500 mm" in said and "qb fdk resamples" in said
    far = qb_json("info", *bent, "--size", "8,8,8", "--offset", "0,0,300")
    assert any("no view sees" in p for p in far["problems"])
