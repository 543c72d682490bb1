# SPDX-License-Identifier: MIT
"""Geometries that cannot be meant: each is refused with the number that is wrong and what to do, nothing is written."""
import json
import math
import os
import re

import numpy as np
import pytest

from qbtest import fails, qb, qb_json, write_scan

def test_words_of_a_file_do_not_speak_to_the_terminal(scan, refused, tmp_path):
    """What cannot be read is shown, without what would clear the screen or begin another line."""
    bad = "1 0 0 \x1b]0;owned\x07\n\x1b[2J\u009b2J\r0 1"
    (tmp_path / "g.xml").write_text('<?xml version="1.0"?>\n<RTKThreeDCircularGeometry version="3"><Projection><GantryAngle>'
                                    + "12\n\x7f\u009b2Jx" + "</GantryAngle></Projection></RTKThreeDCircularGeometry>")
    (tmp_path / "g.txt").write_text(bad)
    for name in "g.xml", "g.txt":
        said = refused("-g", tmp_path / name, "--pixel-size", "1", says=[name])
        assert said.endswith("\n") and said[:-1].isprintable(), repr(said)


SCAN = ["--sod", "500", "--sdd", "800"]
CONE = ["--geometry", "cone", *SCAN, "--pixel-size", "1.6"]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """40 views of 24 rows x 32 columns over a turn."""
    path = tmp_path_factory.mktemp("bad") / "s.h5"
    qb("simulate", "ball", *CONE, "--detector", "32,24", "--views", "40", "-o", path)
    return path


@pytest.fixture
def refused(scan, tmp_path):
    """qb fdk with these options must fail and write nothing."""

    def run(*options, says, code=3, of=scan):
        out = tmp_path / "v.h5"
        said = fails(code, "fdk", of, *options, "-o", out, says=says)
        assert not out.exists()
        return said

    return run


def matrices(views=40, sod=500.0, sdd=800.0, pixel=1.6, columns=32, rows=24, shift=0.0):
    """[view][3][4] of a circular scan, by the formulas of docs/geometry.md; `shift` moves the source towards the axis."""
    out = []
    for i in range(views):
        t = 2 * math.pi * i / views
        c, s = math.cos(t), math.sin(t)
        near = sod - shift
        source = np.array([near * s, -near * c, 0])
        u, v = pixel * np.array([c, s, 0]), np.array([0, 0, pixel])
        corner = np.array([-(sdd - sod) * s, (sdd - sod) * c, 0]) - (columns - 1) / 2 * u - (rows - 1) / 2 * v
        f = corner - source
        m = np.array([np.cross(v, f), np.cross(f, u), np.cross(u, v)])
        m = np.hstack([m, -(m @ source)[:, None]])
        out.append(m / m[2, 3])
    return np.array(out)


def save(path, m):
    np.savetxt(path, np.asarray(m).reshape(len(m), -1))
    return path


def rtk(path, views=40, sid=500, sdd=800, more="", each=""):
    body = "".join(f"<Projection><GantryAngle>{360 * i / views}</GantryAngle>{each}</Projection>\n" for i in range(views))
    path.write_text('<?xml version="1.0"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version="3">\n'
                    f"<SourceToIsocenterDistance>{sid}</SourceToIsocenterDistance>\n"
                    f"<SourceToDetectorDistance>{sdd}</SourceToDetectorDistance>\n{more}{body}</RTKThreeDCircularGeometry>\n")
    return path


def write_json(path, **more):
    g = {"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 24, "columns": 32, "sod": 500, "sdd": 800,
         "pixel_size": [1.6, 1.6], "angles_degrees": {"from": 0, "to": 360, "count": 40}, **more}
    path.write_text(json.dumps(g))
    return path


def test_the_good_ones_are_good(scan, tmp_path):
    qb("fdk", scan, *SCAN, "-o", tmp_path / "a.h5")
    for g in (save(tmp_path / "m.txt", matrices()), rtk(tmp_path / "g.xml"), write_json(tmp_path / "g.json")):
        qb("fdk", scan, "-g", g, "-o", tmp_path / "b.h5")
        assert qb_json("compare", tmp_path / "a.h5", tmp_path / "b.h5")["rel_l2"] < 1e-5


# ---- the source in the volume, the volume behind the source ----


def test_source_inside_the_volume(refused, tmp_path):
    big = ["--voxel", "40"]
    refused(*SCAN, *big, says=["view 0", "140 mm inside the volume"])
    refused("-g", save(tmp_path / "m.txt", matrices()), *big, says=["view 0", "inside the volume"])
    refused("-g", rtk(tmp_path / "g.xml"), *big, says=["view 0", "inside the volume"])
    refused("-g", write_json(tmp_path / "g.json"), *big, says=["view 0", "inside the volume"])


def test_one_bad_view_among_good_ones(refused, tmp_path):
    m = matrices()
    m[17] = matrices(shift=495)[17]
    refused("-g", save(tmp_path / "m.txt", m), says=["view 17", "inside the volume"])


def test_the_volume_behind_the_source(refused, tmp_path):
    aside = ["--size", "8", "--offset", "520,0,0", "--voxel", "1"]
    for geometry in (SCAN, ["-g", save(tmp_path / "m.txt", matrices())], ["-g", rtk(tmp_path / "g.xml")]):
        refused(*geometry, *aside, says=["view ", "behind the source", "w = -"])


def test_the_axis_behind_the_source(refused, tmp_path):
    refused("-g", rtk(tmp_path / "g.xml", sid=-500), says=["SourceToIsocenterDistance is -500"])
    away = [{"source": [0, 500, 0], "detector": [-25, 1300, -19], "u": [1.6, 0, 0], "v": [0, 0, 1.6]}] * 40
    g = write_json(tmp_path / "g.json", views=away)
    for key in ("sod", "sdd", "pixel_size", "angles_degrees"):
        text = json.loads(g.read_text())
        del text[key]
        g.write_text(json.dumps(text))
    refused("-g", g, says=["view 0", "not in front of the source"])


def test_a_volume_that_no_view_sees(refused, scan, tmp_path):
    far = ["--size", "8,8,8", "--offset", "0,0,200"]
    refused(*SCAN, *far, says=["no view sees any of the volume", "rows", "32 x 24"])
    refused("-g", rtk(tmp_path / "g.xml", each="<ProjectionOffsetY>900</ProjectionOffsetY>"),
            says=["no view sees any of the volume"])
    para = tmp_path / "p.h5"
    qb("simulate", "disc", "--detector", "32,4", "--views", "20", "--pixel-size", "1", "-o", para)
    fails(3, "fbp", para, "--center", "15.5", "--size", "8,8", "--offset", "60,0", "-o", tmp_path / "v.h5",
          says=["56 mm from the axis", "see 16 mm"])


# ---- units ----


@pytest.mark.parametrize("options,says", [
    (["--sod", "0.5", "--sdd", "0.8", "--pixel-size", "1.6"], ["1.6 mm", "0.8 mm", "in mm?"]),
    (["--sod", "0.5", "--sdd", "0.8", "--pixel-size", "0.6"], ["19.2 mm", "0.8 mm", "in mm?"]),
])
def test_metres_among_millimetres(refused, options, says):
    refused(*options, says=says)


def test_detector_nearer_than_the_axis(refused):
    refused("--sod", "500", "--sdd", "300", code=2, says=["500", "300", "not the smaller"])


@pytest.mark.parametrize("sod,sdd,pixel,says", [("1", "800", "1.6", "magnification of 800"), ("50", "80", "8", "fan of 114"),
                                                ("500", "800", "0.0016", "fan of only 0.00")])
def test_what_is_odd_is_said(scan, tmp_path, sod, sdd, pixel, says):
    done = qb("fdk", scan, "--sod", sod, "--sdd", sdd, "--pixel-size", pixel, "--size", "8", "--voxel", "0.0001", "--dry-run",
              "-o", tmp_path / "v.h5")
    assert says in done.stderr and "in mm?" in done.stderr
    g = qb_json("info", "--sod", sod, "--sdd", sdd, "--pixel-size", pixel, "--detector", "32,24", "--angles", "0:360:40")
    assert any(says in p for p in g["problems"])


@pytest.mark.parametrize("views,apart", [(1, 360), (2, 180), (12, 30)])
def test_very_few_views(views, apart):
    g = qb_json("info", *SCAN, "--pixel-size", "1.6", "--detector", "32,24", "--angles", f"0:360:{views}")
    assert any(f"{views} view{' is' if views == 1 else 's are'} too few, {apart} degrees apart" in p for p in g["problems"]), g["problems"]


def test_pixels_that_contradict(refused, tmp_path):
    g = write_json(tmp_path / "g.json", pixel_size=[0.0016, 0.0016], sod=0.5, sdd=0.8)
    refused("-g", g, says=["0.0016 mm", "1.6 mm", "a factor of 1000", "--pixel-size"])
    # a file of columns and rows in one pitch, the matrices in another
    m = matrices()
    m[:, 1] *= 1.1
    refused("-g", save(tmp_path / "m.txt", m), says=["view 0", "rows 1.45", "1.6"])


# ---- views and angles ----


@pytest.mark.parametrize("views", [1, 39, 41, 400])
def test_missing_views(refused, tmp_path, views):
    refused("-g", save(tmp_path / "m.txt", matrices(views)), says=[f"{views} view", "40"])
    refused("-g", rtk(tmp_path / "g.xml", views), says=[f"{views} view", "40"])
    refused("-g", write_json(tmp_path / "g.json", angles_degrees=list(range(views))), says=[f"{views} view", "40"])
    (tmp_path / "a.txt").write_text("".join(f"{9 * i}\n" for i in range(views)))
    refused(*SCAN, "--angles", tmp_path / "a.txt", says=[f"{views} angle", "40 views"])
    refused(*SCAN, "--angles", f"0:360:{views}", says=[f"{views} angle", "40 views"])


def test_half_a_matrix(refused, tmp_path):
    g = tmp_path / "m.txt"
    g.write_text(" ".join(["1"] * 479))
    refused("-g", g, says=["479 numbers", "12"])


@pytest.fixture(scope="module")
def fine(tmp_path_factory):
    """The same with 180 views: a step is a degree or less."""
    path = tmp_path_factory.mktemp("fine") / "s.h5"
    qb("simulate", "ball", *CONE, "--detector", "32,24", "--views", "180", "-o", path)
    return path


@pytest.mark.parametrize("angles", ["0:180", "0:120"])
def test_a_short_scan_that_is_too_short(fine, refused, tmp_path, angles):
    """The fan of 15.5 pixels to each side at 800 mm adds 2 atan(15.5 1.6 / 800) to half a turn; less for the volume's 16 mm."""
    fan = 2 * math.degrees(min(math.atan(15.5 * 1.6 / 800), math.asin(16 / 500)))
    said = refused(*SCAN, "--angles", angles, of=fine, says=["limited angle", "--allow-limited"])
    number = [float(n) for n in re.search(r"limited angle: ([\d.]+) of the ([\d.]+) degrees", said).groups()]
    assert abs(number[1] - (180 + fan)) < 0.01 and abs(number[0] - (180 + fan - float(angles[2:]))) < 0.01
    done = qb("fdk", fine, *SCAN, "--angles", angles, "--allow-limited", "-o", tmp_path / "v.h5")
    assert "limited angle" in done.stderr
    plan = qb_json("plan", "fdk", fine, *SCAN, "--angles", angles, "--allow-limited", "-o", tmp_path / "w.h5")
    assert abs(plan["missing_deg"] - number[0]) < 0.01


def test_a_smaller_volume_needs_less(fine, refused, tmp_path):
    said = refused(*SCAN, "--angles", "0:182", of=fine, says=["limited angle", "mm of the axis"])
    radius = float(said.split("within ")[1].split()[0])
    assert abs(radius - 500 * math.sin(math.radians(1))) < 0.01
    qb("fdk", fine, *SCAN, "--angles", "0:182", "--size", "8", "--voxel", "2", "-o", tmp_path / "v.h5")


def test_a_step_too_few_is_no_limited_angle(scan, tmp_path):
    done = qb("fdk", scan, *SCAN, "--angles", "0:180", "-o", tmp_path / "v.h5")
    assert "limited angle" in done.stderr


def test_an_offset_detector_needs_the_turn(scan, refused, tmp_path):
    """But for what both of its sides see: the short one ends at (15.5 1.6 - 10) mm, 800 mm from the source."""
    turn = ["--detector-offset", "10,0", "--angles", "0:220"]
    said = refused(*SCAN, *turn, says=["limited angle", "140 of the 360"])
    radius = float(said.split("within ")[1].split()[0])
    assert abs(radius - 500 * math.sin(math.atan((15.5 * 1.6 - 10) / 800))) < 0.01
    qb("fdk", scan, *SCAN, *turn, "--size", "8", "--voxel", str(radius / 4.01), "-o", tmp_path / "v.h5")


@pytest.mark.parametrize("text", ["0:1e300", "-1e7:0", "1e300:2e300:40"])
def test_angles_of_absurd_size(refused, text):
    refused(*SCAN, f"--angles={text}", code=2, says=["--angles", "1e+06 degrees"])


def test_absurd_angles_in_files(refused, scan, tmp_path):
    (tmp_path / "a.txt").write_text("1\n" * 38 + "1e300\n3\n")
    refused(*SCAN, "--angles", tmp_path / "a.txt", says=["view 38", "1e+300"])
    (tmp_path / "a.txt").write_text("1\n" * 38 + "nan\n3\n")
    refused(*SCAN, "--angles", tmp_path / "a.txt", says=["a.txt", "line 39"])
    refused("-g", write_json(tmp_path / "g.json", angles_degrees=[0] * 39 + [3e6]), says=["view 39", "3e+06"])
    refused("-g", rtk(tmp_path / "g.xml", each="<InPlaneAngle>1e300</InPlaneAngle>"), says=["InPlaneAngle", "1e+300"])
    data = np.ones((5, 4, 6), np.float32)
    far = write_scan(tmp_path / "far.h5", data, [0, 1, 2, 3, 1e12], quantity="line_integral", pixel=1)
    assert any("1e+12" in p for p in qb_json("info", far)["problems"])
    refused(*SCAN, of=far, says=["far.h5", "angles"])


# ---- numbers that are none ----


@pytest.mark.parametrize("word", ["nan", "inf", "-inf", "1e999", "1e300", "twelve", "0x"])
def test_no_numbers(refused, tmp_path, word):
    m = tmp_path / "m.txt"
    lines = [" ".join(map(repr, row)) for row in matrices().reshape(40, 12).tolist()]
    lines[3] = " ".join([*lines[3].split()[:5], word, *lines[3].split()[6:]])
    m.write_text("\n".join(lines))
    refused("-g", m, says=["m.txt", "view 3" if word == "1e300" else "line 4"])
    refused("-g", rtk(tmp_path / "g.xml", more=f"<SourceOffsetX>{word}</SourceOffsetX>"), says=["g.xml"])
    g = write_json(tmp_path / "g.json")
    g.write_text(g.read_text().replace("500", word))
    refused("-g", g, says=["g.json"])


def test_no_numbers_in_npy(refused, tmp_path):
    m = matrices()
    m[7, 1, 2] = np.nan
    np.save(tmp_path / "m.npy", m)
    refused("-g", tmp_path / "m.npy", says=["view 7", "not finite"])
    np.save(tmp_path / "m.npy", matrices().reshape(40, 4, 3))
    refused("-g", tmp_path / "m.npy", says=["40, 4, 3"])


@pytest.mark.parametrize("change,says", [
    (lambda m: m * [[1], [0], [1]], "singular"),
    (lambda m: m * [[1], [1], [0]], "singular"),
    (lambda m: np.vstack([m[0], m[0], m[2]]), "singular"),
    (lambda m: m * 0, "singular"),
    (lambda m: m * [1, 1, 1, 0], "w = 0"),
])
def test_matrices_of_lower_rank(refused, tmp_path, change, says):
    m = matrices()
    m[5] = change(m[5])
    refused("-g", save(tmp_path / "m.txt", m), says=["view 5", says])


def test_lengths_that_are_no_lengths(refused, tmp_path):
    for more, says in (({"sod": -500}, "-500"), ({"sod": 0}, "source to axis 0"), ({"pixel_size": [0, 1.6]}, "0 x 1.6"),
                       ({"pixel_size": [1.6]}, "pixel_size"), ({"sdd": 400}, "400"), ({"sod": "500"}, "sod"),
                       ({"rows": 0}, "rows"), ({"rows": 24.5}, "24.5"), ({"columns": 1e30}, "1e+30"), ({"units": "m"}, "units"),
                       ({"units": "cm"}, "cm"), ({"tilt_degrees": [0, 95, 0]}, "95"), ({"jitter": [1e300, 0, 1, 0]}, "1e+300"),
                       ({"radius": -1}, "-1"), ({"beam": "fan"}, "fan"), ({"sid": 500}, "sid")):
        refused("-g", write_json(tmp_path / "g.json", **more), says=["g.json", says])


# ---- text that is no geometry ----


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '{"quickbeam_geometry": 2}', '{"a":' * 2000, "[" * 100000,
                                  '{"quickbeam_geometry": 1, "views": [{}]}', "{}"])
def test_malformed_json(refused, tmp_path, text):
    (tmp_path / "g.json").write_text(text)
    refused("-g", tmp_path / "g.json", says=["g.json"])


def test_json_of_very_many_values(refused, tmp_path):
    (tmp_path / "g.json").write_text('{"comment": [' + "0," * (17 << 20) + "0]}")
    refused("-g", tmp_path / "g.json", says=["g.json", "at most"])


BOMB = """<?xml version="1.0"?>
<!DOCTYPE RTKGEOMETRY [
 <!ENTITY a "aaaaaaaaaa"> <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"> <!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<RTKThreeDCircularGeometry version="3">&c;</RTKThreeDCircularGeometry>
"""


@pytest.mark.parametrize("text,says", [
    ("<", "line 1"),
    ("<a></b>", "a"),
    ("<RTKThreeDCircularGeometry version='3'>", "line"),
    ("<RTKThreeDCircularGeometry version='3'></RTKThreeDCircularGeometry>", "no Projection"),
    ("<RTKThreeDCircularGeometry version='9'></RTKThreeDCircularGeometry>", "version"),
    ("<RTKThreeDCircularGeometry version='3'>" + "<a>" * 50000, "deep"),
    ("<RTKThreeDCircularGeometry version='3'><GantryAngle>" + "1" * 100000, "1024 characters"),
    (BOMB, "entity"),
    ("<!DOCTYPE x SYSTEM 'file:///etc/hostname' [<!ENTITY % p SYSTEM 'file:///etc/hostname'> %p;]><x/>", "entity"),
])
def test_malformed_xml(refused, tmp_path, text, says):
    (tmp_path / "g.xml").write_text(text)
    refused("-g", tmp_path / "g.xml", says=["g.xml", says])


def test_binary_is_no_geometry(refused, tmp_path):
    (tmp_path / "g.bin").write_bytes(bytes(range(256)) * 10)
    refused("-g", tmp_path / "g.bin", says=["g.bin"])
    refused("-g", tmp_path, says=["not a file"])


# ---- the wrong verb ----


def test_the_wrong_verb(scan, refused, tmp_path):
    fails(3, "fbp", scan, "-o", tmp_path / "v.h5", says=["s.h5", "cone", "qb fdk"])
    para = tmp_path / "p.h5"
    qb("simulate", "disc", "--detector", "32,4", "--views", "20", "--pixel-size", "1", "-o", para)
    refused(*SCAN, of=para, says=["p.h5", "parallel", "qb fbp"])
    assert qb_json("info", scan)["beam"] == "cone" and qb_json("info", para)["beam"] == "parallel"


@pytest.mark.parametrize("kind", ["mha", "npy", "tif", "raw"])
def test_other_files_say_their_beam_too(tmp_path, kind):
    scan = tmp_path / f"s.{kind}"
    qb("simulate", "ball", *CONE, "--detector", "32,24", "--views", "40", "-o", scan)
    fails(3, "fbp", scan, "--angles", "0:360", "-o", tmp_path / "v.h5", says=["qb fdk"])


def test_nothing_usable_gives_no_volume(refused, tmp_path):
    dead = write_scan(tmp_path / "dead.h5", np.full((40, 24, 32), np.nan, np.float32), np.arange(40) * 9,
                      quantity="line_integral", pixel=1.6)
    refused(*SCAN, of=dead, says=["dead.h5", "none of its 40 views can be used"])


def test_simulate_and_project_know_units_too(tmp_path):
    out = tmp_path / "s.h5"
    metres = ["--sod", "500", "--sdd", "800", "--pixel-size", "900"]
    fails(3, "simulate", "ball", "--geometry", "cone", *metres, "--detector", "32,24", "--views", "40", "--size", "8", "-o", out,
          says=["900 mm", "800 mm", "in mm?"])
    qb("simulate", "ball", *CONE, "--detector", "32,24", "--views", "40", "-o", out, "--truth", tmp_path / "t.h5")
    fails(3, "project", tmp_path / "t.h5", *metres, "--angles", "0:360:40", "--detector", "32,24", "-o", tmp_path / "p.h5",
          says=["900 mm", "in mm?"])
    assert not (tmp_path / "p.h5").exists()
    qb("project", tmp_path / "t.h5", *SCAN, "--pixel-size", "1.6", "--angles", "0:360:40", "--detector", "32,24", "-o", tmp_path / "p.h5")
    assert qb_json("info", tmp_path / "p.h5")["beam"] == "cone"


# ---- files that are no files, files that would be lost ----


def test_very_large_and_endless_files(refused, tmp_path):
    with open(tmp_path / "g.xml", "wb") as f:
        f.truncate(1 << 31)
    refused("-g", tmp_path / "g.xml", says=["g.xml", "2147483648 bytes", "at most"])
    os.mkfifo(tmp_path / "pipe")
    refused("-g", tmp_path / "pipe", says=["pipe", "not a file"])
    refused("-g", "/dev/zero", says=["/dev/zero", "not a file"])


def test_nothing_that_is_read_is_overwritten(scan, tmp_path):
    np.save(tmp_path / "m.npy", matrices())
    before = (tmp_path / "m.npy").read_bytes()
    fails(2, "fdk", scan, "-g", tmp_path / "m.npy", "-o", tmp_path / "m.npy", says=["overwrite", "m.npy"])
    for name, what in (("m.png", "m.npy"), ("m.svg", "m.npy"), ("s.svg", scan)):
        (tmp_path / name).symlink_to(what)
    fails(2, "fdk", scan, "-g", tmp_path / "m.npy", "-o", tmp_path / "v.h5", "--preview", tmp_path / "m.png", says=["overwrite"])
    fails(2, "info", scan, "-g", tmp_path / "m.npy", "--preview", tmp_path / "m.svg", says=["overwrite"])
    fails(2, "info", scan, "-g", tmp_path / "m.npy", "--preview", tmp_path / "s.svg", says=["overwrite"])
    assert (tmp_path / "m.npy").read_bytes() == before


# ---- what can be said, and what to do ----

def test_an_axis_off_the_panel_is_told_with_the_rest(tmp_path):
    """All that does not depend on the field of view is printed, and the problem as one."""
    words = ["info", "--sod", 100, "--sdd", 150, "--detector", "64,8", "--pixel-size", 1, "--detector-offset", "80,0", "--angles", "0:360:30"]
    said = qb(*words).stdout
    assert "source" in said and "64 columns x 8 rows" in said and "80, 0 mm off the principal ray" in said
    assert "problem     view 0: the detector" in said and "does not see the rotation axis" in said and "all views see" not in said
    told = qb_json(*words)
    assert told["views"] == 30 and abs(told["sod_mm"] - 100) < 1e-9 and abs(told["offset_u_mm"] - 80) < 1e-6 and len(told["problems"]) == 1
    assert "field_radius_mm" not in told and "coverage_degrees" not in told


def test_the_other_verb_is_named(tmp_path):
    detector = ["--detector", "32,4", "--pixel-size", 1, "--views", 20, "-q"]
    qb("simulate", "disc", *detector, "-o", "p.npy", "--geometry-out", "p.xml", cwd=tmp_path)
    qb("simulate", "disc", "--geometry", "cone", "--sod", 100, "--sdd", 150, *detector, "-o", "c.npy", cwd=tmp_path)
    (tmp_path / "p.npy.json").unlink()  # it stated the beam
    scan = ["p.npy", "-g", "p.xml", "--quantity", "transmission", "-o"]
    fails(3, "fdk", *scan, "x.npy", cwd=tmp_path, says=["parallel beam", "use qb fbp -g"])
    qb("fbp", *scan, "x.npy", cwd=tmp_path)
    mu = np.load(tmp_path / "x.npy")[2, 12:20, 12:20].mean()
    assert abs(mu / 0.02 - 1) < 0.02  # a disc's: the advice is good
    flat = ["--detector", "32,8", "--pixel-size", "1,0.5", "--views", 20, "-q"]
    qb("simulate", "disc", *flat, "-o", "q.npy", "--geometry-out", "q.xml", cwd=tmp_path)
    (tmp_path / "q.npy.json").unlink()
    qb("fbp", "q.npy", "-g", "q.xml", *scan[3:], "q_v.npy", cwd=tmp_path)  # onto a level detector of square pixels
    assert json.loads((tmp_path / "q_v.npy.json").read_text())["voxel_mm"] == [1, 1, 1]
    assert np.abs(np.load(tmp_path / "q_v.npy")[2:6, 12:20, 12:20].mean((1, 2)) / 0.02 - 1).max() < 0.02
