# SPDX-License-Identifier: MIT
"""A geometry file and the scan that it is for: the same views of both, and angles that belong together."""
import json
import re

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5

VIEWS = 48
CIRCLE = ["--sod", "500", "--sdd", "800"]


@pytest.fixture
def folder(tmp_path):
    """s.h5, a scan with its angles, and its geometry in g.json and g.xml."""
    for name in ("g.json", "g.xml"):
        qb("simulate", "spheres", "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "32,16", "--views", VIEWS,
           "-o", "s.h5", "--geometry-out", name, cwd=tmp_path)
    return tmp_path


@pytest.mark.parametrize("views", ["4:44", ":40:2", "1::3"])
@pytest.mark.parametrize("name", ["g.json", "g.xml"])
def test_views_are_chosen_from_both(folder, name, views):
    some = ["s.h5", "--views", views, "--allow-limited"]
    qb("fdk", *some, *CIRCLE, "-o", "a.h5", cwd=folder)
    said = qb("fdk", *some, "-g", name, "-o", "b.h5", cwd=folder).stderr
    count = len(range(VIEWS)[slice(*(int(n) if n else None for n in views.split(":")))])
    assert f"{count} of the {VIEWS} views of {name} are taken" in said and "belong" not in said
    assert qb_json("compare", "a.h5", "b.h5", cwd=folder)["rel_l2"] < 1e-5
    assert qb_json("info", *some[:3], "-g", name, cwd=folder)["geometry"]["step_degrees"] == pytest.approx(
        qb_json("info", *some[:3], *CIRCLE, cwd=folder)["geometry"]["step_degrees"])


def test_a_geometry_of_the_chosen_views_is_taken_as_it_is(folder):
    """It has a view for each of the scan's, and no more can be chosen from it."""
    qb("simulate", "spheres", "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "32,16", "--views", VIEWS // 2,
       "-o", "half.h5", "--geometry-out", "half.json", cwd=folder)
    said = qb("fdk", "s.h5", "--views", "::2", "-g", "half.json", "-o", "a.h5", cwd=folder).stderr
    assert "chooses" not in said and "belong" not in said
    qb("fdk", "s.h5", "--views", "::2", "-g", "g.json", "-o", "b.h5", cwd=folder)
    assert (read_h5(folder / "a.h5") == read_h5(folder / "b.h5")).all()
    fails(3, "fdk", "s.h5", "--views", "::3", "-g", "half.json", "-o", "c.h5", cwd=folder, says=["24 views", "are 16"])


STEP = 360 / VIEWS


@pytest.mark.parametrize("change,apart", [
    (lambda t: t, None),
    (lambda t: 77 - t, None),            # another zero, the other sense of rotation
    (lambda t: np.mod(t + 200, 360), None),
    (lambda t: t + 0.4 * STEP * np.sin(t), None),
    (lambda t: t * VIEWS / (VIEWS - 1), STEP),  # the end of the turn counted twice
    (lambda t: t / 2, 180 - STEP / 2),
    (lambda t: np.where(np.arange(VIEWS) == 20, t + 50, t), 50),
])
def test_angles_that_do_not_fit_are_told(folder, change, apart):
    with h5py.File(folder / "s.h5", "a") as f:
        f["/exchange/theta"][...] = change(f["/exchange/theta"][...])
    said = qb("fdk", "s.h5", "-g", "g.xml", "-o", "v.h5", cwd=folder).stderr
    found = re.search(r"differ by up to (\S+) degrees", said)
    assert (found is None) == (apart is None), said
    if apart:
        assert float(found[1]) == pytest.approx(apart, rel=0.01) and f"a step is {STEP:g}" in said


@pytest.mark.parametrize("kind", ["h5", "npy", "zarr", "mha"])
def test_a_file_of_ours_keeps_the_geometry(tmp_path, kind):
    """What a scanner would state goes with the images, into a converted file, too: fdk needs no option."""
    scan, other = f"s.{kind}", f"t.{kind}"
    make = ["simulate", "disc", "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "24,8", "--views", VIEWS, "-o", scan]
    qb(*make, "--detector-offset", "2.4,0", "--geometry-out", "g.json", cwd=tmp_path)
    told = qb("info", scan, cwd=tmp_path).stdout
    assert "500 mm from the axis, 800 mm from the detector" in told and "300 mm behind the axis, magnified 1.6 times, its middle at 2.4,0 mm" in told
    found = qb_json("info", scan, cwd=tmp_path)
    assert (found["sod_mm"], found["sdd_mm"], found["magnification"], found["detector_offset_mm"]) == (500, 800, 1.6, [2.4, 0])
    qb("convert", scan, "-o", other, cwd=tmp_path)
    qb("convert", scan, "--crop", "2:22", "-o", f"cropped.{kind}", cwd=tmp_path)
    volume = {}
    for name, how in {"stated": [scan], "file": [scan, "-g", "g.json"], "converted": [other], "cropped": [f"cropped.{kind}", "--size", "24,24,8"],
                      "cropping": [scan, "--crop", "2:22", "--size", "24,24,8"]}.items():
        qb("fdk", *how, "-o", "v.npy", cwd=tmp_path)
        volume[name] = np.load(tmp_path / "v.npy")
    for a, b in (("stated", "file"), ("stated", "converted"), ("cropped", "cropping")):
        assert np.linalg.norm(volume[a] - volume[b]) < 1e-6 * np.linalg.norm(volume[a]), (a, b)
    qb(*make, "--tilt", "0.2,0,0", "--center-offset", "1.5", cwd=tmp_path)  # no scanner would state these faults
    assert kind == "mha" or "detector_offset_mm" not in qb_json("info", scan, cwd=tmp_path)  # MetaImage has its Offset


@pytest.mark.parametrize("how", [["--crop", "0:24,0:5"], ["--crop", "3:24"], ["--bin", "2"], ["--flip", "u", "--crop", "1:24,2:8"]])
def test_images_that_are_cropped_or_binned_keep_their_place(tmp_path, how):
    """A circle whose detector has no offset, and 25 columns and 9 rows, so that binning leaves one of each over."""
    qb("simulate", "foam", "-g", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "25,9", "--views", VIEWS, "-o", "s.h5", cwd=tmp_path)
    qb("convert", "s.h5", *how, "-o", "c.npy", cwd=tmp_path)
    qb("fdk", "s.h5", *how, "--size", "24,24,8", "-o", "a.npy", cwd=tmp_path)
    qb("fdk", "c.npy", "--size", "24,24,8", "-o", "b.npy", cwd=tmp_path)
    a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
    assert np.linalg.norm(a - b) < 1e-6 * np.linalg.norm(a)


def test_a_geometry_of_views_goes_with_the_images(tmp_path):
    """A circle that wobbles, by simulate, project and convert; and not with views that were taken away since."""
    qb("simulate", "foam", "-g", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "24,8", "--views", VIEWS, "--jitter", "1,1,2,0", "-o", "j.npy", "--geometry-out", "g.json", cwd=tmp_path)
    qb("simulate", "foam", "-g", "g.json", "-o", "s.h5", "--truth", "t.npy", cwd=tmp_path)
    qb("convert", "s.h5", "--views", "::2", "-o", "half.h5", cwd=tmp_path)
    qb("project", "t.npy", "-g", "g.json", "-o", "p.h5", cwd=tmp_path)
    for name, same in (("s.h5", ["s.h5", "-g", "g.json"]), ("half.h5", ["s.h5", "-g", "g.json", "--views", "::2"]), ("p.h5", ["p.h5", "-g", "g.json"])):
        qb("fdk", name, "-o", "a.npy", cwd=tmp_path)
        qb("fdk", *same, "-o", "b.npy", cwd=tmp_path)
        a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
        assert np.linalg.norm(a - b) < 1e-6 * np.linalg.norm(b), name
    turned = " ".join(qb_json("info", "p.h5", "--flip", "u", cwd=tmp_path)["problems"])
    assert "of the images as stored, and is not used with --rotate or --flip" in turned
    fails(3, "fdk", "p.h5", "--flip", "v", "-o", "a.npy", cwd=tmp_path, says="is not used with --rotate or --flip: give -g FILE")
    with h5py.File(tmp_path / "p.h5", "a") as f:  # the views in reverse order, their angles with them
        for name in ("data", "theta"):
            f[f"/exchange/{name}"][...] = f[f"/exchange/{name}"][...][::-1]
    assert "its angles are no longer those of the geometry" in " ".join(qb_json("info", "p.h5", cwd=tmp_path)["problems"])
    with h5py.File(tmp_path / "p.h5", "a") as f:
        lines = f["/exchange/data"][:40]
        del f["/exchange/data"]
        f["/exchange/data"] = lines
    assert "has the geometry of 48 views of 8 x 24 pixels, it holds 40 of 8 x 24: the geometry is not used" in " ".join(
        qb_json("info", "p.h5", "--angles", "0:300", cwd=tmp_path)["problems"])


def test_distances_that_a_file_lacks_are_not_made_up(folder):
    with h5py.File(folder / "s.h5", "a") as f:
        words = f["/process/quickbeam/provenance"][()]
    for text in (None, b"{", words.replace(b'"sod":', b'"sxd":'), words.replace(b'"sod":\t500', b'"sod":\t1e999')):
        with h5py.File(folder / "s.h5", "a") as f:
            del f["/process/quickbeam/provenance"]
            if text is not None:
                f["/process/quickbeam/provenance"] = text
        told = qb("info", "s.h5", cwd=folder).stdout
        assert "source      the file does not say where" in told
        assert ("the geometry in its provenance is not used" in told) == (text is not None)
        assert "sod_mm" not in qb_json("info", "s.h5", cwd=folder)
        assert "the file does not say where" not in qb("info", "s.h5", *CIRCLE, cwd=folder).stdout
        if text is None:
            with h5py.File(folder / "s.h5", "a") as f:
                f["/process/quickbeam/provenance"] = b"{}"


@pytest.mark.parametrize("kept", [[1, 2], "text", 5, {}, {"views": []}, {"sod": -5}, {"quickbeam_geometry": 2}, {"offset": ["x", 1]}, {"rows": 1e15},
                                  {"angles_degrees": {"from": 0, "to": 360, "count": 1 << 24}}])
def test_a_hostile_geometry_in_the_provenance(tmp_path, kept):
    qb("simulate", "ball", "-g", "cone", *CIRCLE, "--pixel-size", 1, "--detector", "8,4", "--views", 20, "-o", "s.npy", cwd=tmp_path)
    side = json.loads((tmp_path / "s.npy.json").read_text())
    stated = side["provenance"]["scan_geometry"]
    side["provenance"]["scan_geometry"] = {**stated, **kept} if kept and isinstance(kept, dict) else kept
    (tmp_path / "s.npy.json").write_text(json.dumps(side))
    assert "the geometry in its provenance is not used" in qb("info", "s.npy", cwd=tmp_path).stdout
    fails(3, "fdk", "s.npy", "-g", "s.npy", "-o", "v.npy", cwd=tmp_path, says="s.npy")


def test_the_user_s_angles_beside_a_geometry_of_views(tmp_path):
    """They cannot both hold: neither wins in silence. The search for the axis cannot use such a geometry."""
    qb("simulate", "foam", "-g", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "24,8", "--views", VIEWS, "--jitter", "1,1,2,0", "-o", "j.npy", "--geometry-out", "g.json", cwd=tmp_path)
    qb("simulate", "foam", "-g", "g.json", "-o", "s.npy", cwd=tmp_path)
    qb("fdk", "s.npy", "--angles", "0:360", "-o", "v.npy", cwd=tmp_path)
    fails(2, "fdk", "s.npy", "--angles", "0:180", "-o", "v.npy", says=["--angles and the geometry of s.npy differ", "leave --angles out"], cwd=tmp_path)
    qb("fdk", "s.npy", "--angles", "0:200", *CIRCLE, "-o", "v.npy", cwd=tmp_path)
    fails(3, "center", "s.npy", says=["s.npy states where the axis falls in each view"], cwd=tmp_path)
    qb("center", "s.npy", *CIRCLE, cwd=tmp_path)


@pytest.mark.parametrize("kind", ["h5", "tif", "mha"])
def test_provenance_that_is_no_json_is_said(tmp_path, kind):
    """Of a volume and of a scan, whose geometry is lost with it."""
    qb("simulate", "disc", "--geometry", "cone", *CIRCLE, "--pixel-size", "1.6", "--detector", "24,8", "--views", 12, "-o", f"s.{kind}", cwd=tmp_path)
    path = tmp_path / f"s.{kind}"
    if kind == "h5":
        with h5py.File(path, "a") as f:
            text = f["/process/quickbeam/provenance"][()]
            del f["/process/quickbeam/provenance"]
            f["/process/quickbeam/provenance"] = text[:-9]
    else:
        path.write_bytes(path.read_bytes().replace(b'"scan_geometry"', b'"scan_geometry\n'))
    assert any("provenance is not valid JSON" in p for p in qb_json("info", path, "--angles", "0:360")["problems"])
    qb("fdk", path, "--angles", "0:360", *CIRCLE, "--pixel-size", "1.6", "--quantity", "transmission", "-o", path.with_name("v.npy"))
