# SPDX-License-Identifier: MIT
"""No output takes the place of anything that the run reads, under whatever name: refused before any work."""
import json
import os
import shlex

import numpy as np
import pytest

from qbtest import SHIM, fails, leftovers, opencl, qb, write_scan  # noqa: F401

COLUMNS, ROWS, VIEWS = 32, 4, 12


@pytest.fixture
def place(tmp_path):
    """A scan of every kind that a run reads from, and what goes with it."""
    os.chdir(tmp_path)
    rng = np.random.default_rng(1)
    p = rng.uniform(100, 200, (VIEWS, ROWS, COLUMNS)).astype(np.uint16)
    write_scan("scan.h5", p, np.arange(VIEWS) * 15.0)
    write_scan("flats.h5", np.full((3, ROWS, COLUMNS), 1000, np.uint16))
    write_scan("darks.h5", np.zeros((3, ROWS, COLUMNS), np.uint16))
    np.save("lines.npy", rng.uniform(0, 1, (VIEWS, ROWS, COLUMNS)).astype(np.float32))
    (tmp_path / "angles.raw").write_text("".join(f"{i * 15}\n" for i in range(VIEWS)))
    (tmp_path / "window.raw").write_text("1\n0.5\n0\n")
    (tmp_path / "options.raw").write_text("center = 15.5\n")
    np.save("weights.npy", np.ones((VIEWS, ROWS, COLUMNS), np.float32))
    np.save("volume.npy", rng.uniform(0, 1, (ROWS, COLUMNS, COLUMNS)).astype(np.float32))
    qb("simulate", "disc", "-o", "s/", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", "0.5",
       "--truth", "grid.npy")
    qb("simulate", "disc", "-o", "cone.h5", "--geometry", "cone", "--sod", "100", "--sdd", "200", "--views", VIEWS,
       "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", "0.5", "--geometry-out", "cone.json")
    return tmp_path


def snapshot(folder):
    return {path: (path.read_bytes(), os.lstat(path).st_ino) for path in sorted(folder.rglob("*")) if path.is_file()}


FBP_SERIES = ["fbp", "s/view_*.tif", "--angles", "0:180", "--center", "15.5"]
FBP = ["fbp", "scan.h5", "--flats", "flats.h5", "--center", "15.5"]
LINES = ["fbp", "lines.npy", "--angles", "angles.raw", "--center", "15.5"]
FDK = ["fdk", "cone.h5"]
SQUARES = ["scan.h5", "--flats", "flats.h5", "--center", "15.5", "--iterations", "1"]
CASES = {
    "a member of a pattern": [*FBP_SERIES, "-o", "s/view_%05d.tif"],
    "one member": [*FBP_SERIES, "-o", "s/view_00007.tif"],
    "a member as preview": [*FBP_SERIES, "-o", "v.h5", "--preview", "s/view_00003.tif"],
    "the scan": [*FBP, "-o", "scan.h5"],
    "the scan by a longer way": [*FBP, "-o", "s/../scan.h5"],
    "flats": [*FBP, "-o", "flats.h5"],
    "darks": [*FBP, "--darks", "darks.h5", "-o", "darks.h5"],
    "angles": [*LINES, "-o", "angles.raw"],
    "angles of a choice of lines": ["fbp", "lines.npy", "--angles", f"angles.raw:0:{VIEWS}", "--center", "15.5",
                                    "-o", "angles.raw"],
    "a filter": [*LINES, "--filter", "window.raw", "-o", "window.raw"],
    "a filter with a cut-off": [*LINES, "--filter", "window.raw:0.5", "-o", "window.raw"],
    "a grid": [*LINES, "--like", "grid.npy", "--pixel-size", "0.5", "-o", "grid.npy"],
    "weights": ["mbir", *LINES[1:], "--weights", "weights.npy", "-o", "weights.npy"],
    "an image to begin with": ["mbir", *LINES[1:], "--start", "volume.npy", "-o", "volume.npy"],
    "an image to be near": ["mbir", *LINES[1:], "--prox", "volume.npy", "-o", "volume.npy"],
    "the scan of sirt": ["sirt", *SQUARES, "-o", "scan.h5"],
    "the flats of cgls": ["cgls", *SQUARES, "-o", "flats.h5"],
    "the grid of sirt": ["sirt", *SQUARES, "--pixel-size", "0.5", "--like", "grid.npy", "-o", "grid.npy"],
    "the geometry of cgls": ["cgls", "cone.h5", "-g", "cone.raw", "-o", "cone.raw"],
    "a saved configuration over the flats of sirt": ["sirt", *SQUARES, "-o", "v.h5", "--save-config", "flats.h5"],
    "a saved configuration over the output of cgls": ["cgls", *SQUARES, "-o", "new.raw", "--save-config", "new.raw"],
    "the configuration": [*LINES, "--config", "options.raw", "-o", "options.raw"],
    "the configuration as preview": [*LINES, "--config", "options.raw", "-o", "v.h5", "--preview", "options.raw"],
    "a saved configuration over the scan": [*FBP, "-o", "v.h5", "--save-config", "scan.h5"],
    "a saved configuration over a member": [*FBP_SERIES, "-o", "v.h5", "--save-config", "s/view_00000.tif"],
    "a saved configuration over flats": [*FBP, "-o", "v.h5", "--save-config", "flats.h5"],
    "a saved configuration over the output": [*FBP, "-o", "new.raw", "--save-config", "new.raw"],
    "a saved configuration over itself": [*LINES, "-o", "v.h5", "--config", "options.raw", "--save-config",
                                          "options.raw"],
    "a geometry": [*FDK, "-g", "cone.json", "-o", "v.h5", "--preview", "cone.json"],
    "a geometry as the output": [*FDK, "-g", "cone.raw", "-o", "cone.raw"],
    "the volume of a projection": ["project", "volume.npy", "--voxel", "1", "-g", "parallel", "-o", "volume.npy"],
    "a projection's geometry": ["project", "volume.npy", "--voxel", "1", "-g", "cone.raw", "-o", "cone.raw"],
    "a projection's geometry, rewritten": ["project", "volume.npy", "--voxel", "1", "-g", "cone.json", "-o", "p.h5",
                                           "--geometry-out", "cone.json"],
    "a simulation's geometry": ["simulate", "disc", "-g", "cone.raw", "-o", "cone.raw"],
    "a simulation's geometry, as its truth": ["simulate", "disc", "-g", "cone.raw", "-o", "p.h5", "--truth", "cone.raw"],
    "a center's scan": ["center", "scan.h5", "--flats", "flats.h5", "--save-config", "flats.h5"],
    **{f"{text}, written with an output": [*LINES[:3], text, "--center", "15.5", "-o", output]
       for text, output in (("v.npy.json", "v.npy"), ("v.mhd.raw", "v.mhd"), ("v.vgi", "v.vol"), ("v.vol.info", "v.vol"), ("v.imgparams", "v_slice%04d.2Dimgdata"))},
    "angles, written with a scan": ["convert", "lines.npy", "--angles", "v.angles", "-o", "v.sinoparams"],
    "one name for two": [*FBP, "-o", "new.raw", "--preview", "new.raw"],
    "one name for two, by a longer way": [*FBP, "-o", "new.raw", "--preview", "s/../new.raw"],
    "a geometry where the notes go": ["project", "volume.npy", "--voxel", "1", "-g", "parallel", "-o", "p.npy",
                                      "--geometry-out", "p.npy.json"],
    "scan and truth": ["simulate", "disc", "--views", "4", "--size", "8", "-o", "x.h5", "--truth", "x.h5"],
}


@pytest.mark.parametrize("case", CASES)
def test_refused_and_nothing_touched(place, case):
    if "cone.raw" in CASES[case]:  # a geometry is known by its content
        os.rename("cone.json", "cone.raw")
    words = list(CASES[case])
    if "written with" in case:
        os.rename("angles.raw", words[words.index("--angles") + 1])
    if "--preview" in words:  # which is named .png, or refused for that
        name = words.index("--preview") + 1
        os.symlink(words[name], "look.png")
        words[name] = "look.png"
    before = snapshot(place)
    said = fails(2, *words)
    assert "overwrite" in said or "two outputs" in said, said
    assert snapshot(place) == before


@pytest.mark.parametrize("verb", ["fbp", "sirt", "cgls", "mbir"])
def test_what_is_saved_besides_comes_with_the_output(place, verb):
    """Both or none; and the command that is kept names files so that it does the same in any folder."""
    how = [verb, "scan.h5", "--flats", "flats.h5", "--center", "15.5", *(["--iterations", "1"] if verb in ("sirt", "cgls") else [])]
    before = snapshot(place)
    fails(3, *how, "-o", "v.npy", "--save-config", "no/such/c.conf", says=["no/such"])
    assert snapshot(place) == before
    qb(*how, "-o", "v.npy", "--save-config", "c.conf")
    words = shlex.split(json.loads((place / "v.npy.json").read_text())["provenance"]["command"])
    first = (place / "v.npy").read_bytes()
    (place / "elsewhere").mkdir()
    (place / "v.npy").unlink()
    qb(*words[1:], cwd=place / "elsewhere")
    assert (place / "v.npy").read_bytes() == first and not leftovers(place / "elsewhere") and (place / "c.conf").exists()
    qb(verb, "scan.h5", "--config", "c.conf", "-o", "again.npy")
    assert (place / "again.npy").read_bytes() == first


def test_other_names_of_one_file(place):
    """Hard and symbolic links lead to the input, too; both names are told."""
    os.link("flats.h5", "hard.h5")
    os.symlink("flats.h5", "soft.h5")
    before = snapshot(place)
    for name in ("hard.h5", "soft.h5"):
        said = fails(2, *FBP, "-o", name)
        assert name in said and "flats.h5" in said, said
    assert snapshot(place) == before


TWO_THINGS = {
    "an image of a folder to be": ("out/slice_00002.tif", [*LINES, "-o", "out/", "--preview", "look.png"]),
    "an image of a pattern": ("slice_002.tif", [*LINES, "-o", "slice_%03d.tif", "--preview", "look.png"]),
    "a part": ("v.h5.parts/00.h5", [*LINES, "-o", "v.h5", "--parts", "2", "--preview", "look.png"]),
    "notes": ("v.npy.json", [*LINES, "-o", "v.npy", "--preview", "look.png"]),
    "an image, for a configuration": ("out/slice_00002.tif", [*LINES, "-o", "out/", "--save-config", "look.png"]),
    "one pattern for two": (None, ["simulate", "disc", "--views", "4", "--size", "8", "-o", "x_%04d.tif", "--truth",
                                   "x_%04d.tif"]),
}


@pytest.mark.parametrize("case", TWO_THINGS)
@pytest.mark.parametrize("folder", ["not there", "there", "a link to nowhere"])
def test_where_a_link_leads_that_leads_to_nothing_yet(place, case, folder):
    """What is not there has neither device nor inode: its folder has them, and the last word of its name."""
    leads, words = TWO_THINGS[case]
    if leads:
        os.symlink(leads, "first.png")
        os.symlink("first.png", "look.png")
    if folder == "there":
        os.mkdir("out")
    elif folder == "a link to nowhere":
        os.symlink("real", "out")
    before = snapshot(place)
    said = fails(2, *words)
    assert "overwrite" in said or "two outputs" in said, said
    assert snapshot(place) == before and not os.path.exists("real")


def test_a_sweep_spares_its_members(place):
    """Here the name of one slice is a second name of the scan."""
    sweep = ["fbp", "lines.npy", "--angles", "0:180", "--center", "15:16:0.5", "-o", "sweep"]
    qb(*sweep)
    name = sorted(os.listdir("sweep"))[1]
    os.remove(f"sweep/{name}")
    os.link("lines.npy", f"sweep/{name}")
    before = snapshot(place)
    fails(2, *sweep, says=[name, "lines.npy", "overwrite"])
    assert snapshot(place) == before


def test_what_is_not_read_may_be_replaced(place):
    """The check is about inputs only: an older output goes, a neighbour of the inputs is welcome."""
    for _ in range(2):
        qb(*FBP_SERIES, "-o", "s_out/slice_%05d.tif")
        qb(*FBP, "-o", "v.h5", "--preview", "v.png", "--save-config", "v.cfg")
        qb("project", "volume.npy", "--voxel", "1", "-g", "cone.json", "-o", "p.npy", "--geometry-out", "again.json")
    assert not [name for name in leftovers(place) if name.startswith(".")]


def test_the_tuning_file(place, opencl):
    (place / "tuning.raw").write_text("[]")
    before = snapshot(place)
    fails(2, *LINES, "-o", "tuning.raw", "--device", opencl, says=["tuning.raw", "overwrite"],
          env={**os.environ, "QB_TUNING": str(place / "tuning.raw"), "QB_LIBOPENCL": SHIM})
    assert snapshot(place) == before


def test_a_dry_run_says_it_too(place):
    fails(2, "plan", *FBP_SERIES, "-o", "s/view_%05d.tif", says=["view_0", "overwrite"])
