# SPDX-License-Identifier: MIT
"""sv-mbirct's parameters and slices: scans, weights and images of it come back as what they were made of; what does not
fit together is refused."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, few, qb, qb_json, read_h5

VIEWS, ROWS, COLUMNS, OFFSET, PIXEL = 50, 3, 40, 1.25, 0.5


def write_params(path, **values):
    path.write_text("".join(f"{name}: {value}\n" for name, value in values.items()))


def write_scan(folder, lines, base="shepp", digits=4, first=1, **changes):
    """As svmbir writes it: theta is ours less a quarter turn."""
    theta = np.arange(len(lines)) * np.pi / len(lines) - np.pi / 2
    (folder / "views.txt").write_text("".join(f"{t:.12f}\n" for t in theta))
    values = dict(Geometry="parallel", NChannels=lines.shape[2], NViews=len(lines), NSlices=lines.shape[1], DeltaChannel=PIXEL,
                  CenterOffset=OFFSET, DeltaSlice=PIXEL, FirstSliceNumber=first, ViewAngleList="views.txt")
    write_params(folder / f"{base}.sinoparams", **{**values, **changes})
    for row in range(lines.shape[1]):
        lines[:, row].astype("<f4").tofile(folder / f"{base}_slice{first + row:0{digits}d}.2Dsinodata")
    return folder / f"{base}.sinoparams"


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Line integrals of a disc, and where they lie for those who do not know sv-mbirct."""
    folder = tmp_path_factory.mktemp("lines")
    qb("simulate", "disc", "-o", folder / "s.h5", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}",
       "--pixel-size", PIXEL, "--center-offset", OFFSET)
    lines = -np.log(read_h5(folder / "s.h5").astype(float)).astype(np.float32)
    lines *= 1 + 0.1 * np.arange(ROWS)[:, None]
    np.save(folder / "l.npy", lines)
    return folder / "l.npy"


PLAIN = ["--quantity", "line_integral", "--angles", "0:180", "--pixel-size", PIXEL]


@pytest.mark.parametrize("digits, first", few((4, 1), others=[(1, 0), (3, 998)]))
def test_a_scan_is_the_same_as_plain_numbers(lines, tmp_path, digits, first):
    scan = write_scan(tmp_path, np.load(lines), digits=digits, first=first)
    info = qb_json("info", scan)
    assert "sv-mbirct" in info["format"] and info["center"] == pytest.approx((COLUMNS - 1) / 2 + OFFSET)
    job = ["--equits", 4, "--slices", "0:2", "--center", info["center"]]
    qb("mbir", scan, "-o", tmp_path / "a.npy", *job)
    qb("mbir", lines, *PLAIN, "-o", tmp_path / "b.npy", *job)
    a, b = np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy")
    assert np.abs(a - b).max() < 1e-6 * b.max() and abs(b[0, 18:22, 18:22].mean() - 0.02) < 0.002
    qb("fbp", scan, "-o", tmp_path / "c.npy", "--views", "::2", "--center", info["center"])
    qb("fbp", lines, *PLAIN, "-o", tmp_path / "d.npy", "--views", "::2", "--center", info["center"])
    c, d = np.load(tmp_path / "c.npy"), np.load(tmp_path / "d.npy")
    assert np.abs(c - d).max() < 1e-4 * d.max()


def test_its_weights_and_images(lines, tmp_path):
    data = np.load(lines)
    scan = write_scan(tmp_path, data)
    weights = np.exp(-data)
    for row in range(ROWS):
        weights[:, row].astype("<f4").tofile(tmp_path / f"shepp_slice{1 + row:04d}.2Dweightdata")
    job = ["mbir", scan, "--center", "20.75", "--equits", 3]
    qb(*job, "-o", tmp_path / "rule.npy", "--weights", "transmission")
    qb(*job, "-o", tmp_path / "file.npy", "--weights", tmp_path / "shepp_slice0002.2Dweightdata")
    rule, given = np.load(tmp_path / "rule.npy"), np.load(tmp_path / "file.npy")
    assert np.abs(rule - given).max() < 1e-5 * rule.max()
    write_params(tmp_path / "v.imgparams", Nx=COLUMNS, Ny=COLUMNS, Nz=ROWS, FirstSliceNumber=1, Deltaxy=PIXEL, DeltaZ=PIXEL, ROIRadius=10)
    for z in range(ROWS):
        rule[z].astype("<f4").tofile(tmp_path / f"v_slice{1 + z:04d}.2Dimgdata")
    same = qb_json("compare", tmp_path / "v.imgparams", tmp_path / "rule.npy")
    assert same["max_abs"] == 0
    fails(3, "mbir", tmp_path / "v.imgparams", "-o", tmp_path / "no.npy", says=["v.imgparams", "this is a volume"])


RECON = dict(PriorModel="QGGMRF", InitImageValue=0.01, weightType=2, SigmaY=0.03, p="1.3", q="1.9", T="0.4", SigmaX=0.003, b_nearest=1,
             b_diag=0.5, b_interslice=0.25, StopThreshold=0, MaxIterations=3, Positivity=0, RelaxFactor="1.0")


def test_its_parameters_mean_the_same(lines, tmp_path):
    scan, params = write_scan(tmp_path, np.load(lines)), tmp_path / "r.reconparams"

    def same(words, *more):
        qb("mbir", scan, "-o", tmp_path / "a.npy", "--config", params, *more)
        qb("mbir", scan, "-o", tmp_path / "b.npy", "--center", "stated", *words, *more)
        qb("mbir", lines, *PLAIN, "-o", tmp_path / "c.npy", "--center", (COLUMNS - 1) / 2 + OFFSET, *words, *more)
        a, b, c = (np.load(tmp_path / f"{name}.npy") for name in "abc")
        assert (a == b).all() and np.abs(b - c).max() < 1e-6 * c.max()
    write_params(params, **RECON)
    same(["--start", "0.01", "--weights", "transmission", "--sigma-y", "0.03", "--p", "1.3", "--q", "1.9", "--threshold", "0.4", "--sigma-x",
          "0.003", "--neighbours", "1,0.5,0.25", "--stop", "0", "--equits", 3, "--no-positivity"])
    write_params(params, PriorModel="QGGMRF")  # what it leaves out is as it is there
    words = ["--start", "0.0202527", "--sigma-y", "1", "--p", "1.2", "--q", "2", "--threshold", "0.1", "--neighbours", "1,0.707,1", "--stop", "1"]
    same([*words, "--sigma-x", "0.02", "--equits", 20])
    same([*words, "--equits", 20], "--sigma-x", "0.5")  # flags win
    np.save(tmp_path / "v.npy", np.full((ROWS, COLUMNS, COLUMNS), 0.015, np.float32))
    write_params(params, PriorModel="PandP", SigmaX=0.004, MaxIterations=2)
    same([*words[:4], *words[-2:], "--sigma-p", "0.004", "--equits", 2], "--prox", tmp_path / "v.npy")  # without a prior's p, q and T
    fails(2, "mbir", scan, "-o", tmp_path / "no.npy", "--config", params, "--prox", tmp_path / "v.npy", "--p", "1.5", says=["--p 1.5", "--prox"])
    fails(2, "mbir", scan, "-o", tmp_path / "no.npy", "--config", params, says=["--sigma-p", "--prox"])
    for changes, code, says in [(dict(PriorModel="TV"), 3, ["PriorModel is TV"]), (dict(RelaxFactor="1.5"), 3, ["RelaxFactor is 1.5"]),
                                (dict(weightType=7), 3, ["weightType is 7"]), (dict(weightType=0), 2, ["--weights FILE (weightType 0)"]),
                                (dict(p="3"), 2, ["r.reconparams: p", "--p"]), (dict(SigmaZ=1), 3, ["SigmaZ", "line 16"]),
                                (dict(p="1 2"), 3, ["line 5", "Name: value"]), (dict(Positivity=2), 3, ["Positivity is 2"])]:
        write_params(params, **{**RECON, **changes})
        fails(code, "mbir", scan, "-o", tmp_path / "no.npy", "--config", params, says=[*says, "r.reconparams" if code == 3 else says[0]])
    params.write_text("PriorModel: QGGMRF\np: 1.1\np: 1.2\n")
    fails(3, "mbir", scan, "-o", tmp_path / "no.npy", "--config", params, says=["line 2", "line 3"])
    fails(2, "fbp", scan, "-o", tmp_path / "no.npy", "--config", params, says=["qb mbir"])
    fails(3, "fbp", lines, *PLAIN, "-o", tmp_path / "no.npy", "--center", "stated", says=["does not state", "--center auto"])
    qb("fbp", scan, "-o", tmp_path / "f.npy", "--center", "stated")
    qb("fbp", scan, "-o", tmp_path / "g.npy", "--center", (COLUMNS - 1) / 2 + OFFSET)
    assert (np.load(tmp_path / "f.npy") == np.load(tmp_path / "g.npy")).all() and not (tmp_path / "no.npy").exists()


def test_images_go_out_and_come_back(lines, tmp_path):
    scan = write_scan(tmp_path, np.load(lines))
    job = ["mbir", scan, "--center", "20.75", "--equits", 2, "--slices", "1:3"]
    qb(*job, "-o", tmp_path / "plain.npy")
    qb(*job, "-o", tmp_path / "v_slice%04d.2Dimgdata")
    plain = np.load(tmp_path / "plain.npy")
    for z in range(2):  # as sv-mbirct would read them, by the numbers of the scan's slices, which begin with 1
        image = np.fromfile(tmp_path / f"v_slice{2 + z:04d}.2Dimgdata", "<f4").reshape(COLUMNS, COLUMNS)
        assert (image == plain[z]).all()
    said = dict(line.split(": ") for line in (tmp_path / "v.imgparams").read_text().splitlines())
    assert said == dict(Nx="40", Ny="40", Nz="2", FirstSliceNumber="2", Deltaxy="0.5", DeltaZ="0.5", ROIRadius="10")
    assert qb_json("compare", tmp_path / "v.imgparams", tmp_path / "plain.npy")["max_abs"] == 0
    again = qb("info", tmp_path / "v.imgparams").stdout
    assert "mbir" in again and "--slices 1:3" in again  # the command that repeats it
    qb("project", tmp_path / "v.imgparams", "-g", "parallel", "--angles", "0:180:90", "-o", tmp_path / "p.npy")
    for name, says, *more in (("w%04d.2Dimgdata", "BASE_slice%04d.2Dimgdata"), ("w_slice%06d.2Dimgdata", "four digits"),
                              ("w_slice%04d.2Dimgdata", "float32", "--dtype", "float16"), ("w.imgparams", "BASE_slice%04d.2Dimgdata")):
        fails(2, *job, *more, "-o", tmp_path / name, says=[says])
    fails(2, "mbir", scan, "-o", tmp_path / "v_slice%04d.2Dimgdata", "--slices", "0:2", says=["older series"])
    fails(2, "simulate", "disc", "-o", tmp_path / "w_slice%04d.2Dimgdata", "--views", 2, "--detector", "8,1", says=["BASE.sinoparams"])
    assert not list(tmp_path.glob("w*")) and not list(tmp_path.glob(".*"))


SCAN = ["--views", 30, "--detector", "24,3", "--pixel-size", 0.7, "--center-offset", 1.5, "--angles", "10:190"]


def read_scan(path, views, rows, columns):
    """[view][row][column], angles and parameters as sv-mbirct would read them: nothing of quickbeam's."""
    said = dict(line.split(": ") for line in path.read_text().splitlines())
    assert [int(said[k]) for k in ("NViews", "NSlices", "NChannels")] == [views, rows, columns]
    first = int(said["FirstSliceNumber"])
    slices = [np.fromfile(path.parent / f"{path.stem}_slice{first + r:04d}.2Dsinodata", "<f4") for r in range(rows)]
    theta = np.loadtxt(path.parent / said["ViewAngleList"])
    return np.array([s.reshape(views, columns) for s in slices]).transpose(1, 0, 2), theta, said


@pytest.mark.parametrize("photons, seed", [(0, 1), (3000, 5)])
def test_simulated_scans_go_out_and_come_back(tmp_path, photons, seed):
    """The line integrals, noise and all, of the same scan in HDF5; to other programs and to quickbeam."""
    how = ["simulate", "shepp-logan", *SCAN, "--photons", photons, "--seed", seed, "--rings", 0.02]
    qb(*how, "-o", tmp_path / "s.h5")
    done = qb(*how, "-o", tmp_path / "s.sinoparams")
    assert "cannot hold" not in done.stderr
    lines, theta, said = read_scan(tmp_path / "s.sinoparams", 30, 3, 24)
    assert said["Geometry"] == "parallel" and (float(said["DeltaChannel"]), float(said["CenterOffset"])) == (0.7, 1.5)
    assert theta == pytest.approx(np.radians(10 + 6 * np.arange(30)) - np.pi / 2, abs=1e-12)
    with h5py.File(tmp_path / "s.h5") as file:
        numbers = file["exchange/data"][:].astype(float)
        if photons:
            dark = file["exchange/data_dark"][:].astype(float).mean(0)
            numbers = (numbers - dark) / (file["exchange/data_white"][:].astype(float).mean(0) - dark)
    expected = -np.log(np.maximum(numbers, 1e-6))
    assert lines == pytest.approx(expected, abs=1e-4) and lines.max() > 0.1
    info = qb_json("info", tmp_path / "s.sinoparams")
    assert info["center"] == pytest.approx(13)
    assert json.loads((tmp_path / "s.sinoparams.json").read_text())["provenance"]["phantom"] == "shepp-logan"
    for name in "s.h5", "s.sinoparams":
        qb("mbir", tmp_path / name, "-o", tmp_path / f"{name}.npy", "--center", 13, "--equits", 2, "--pixel-size", 0.7)
    a, b = np.load(tmp_path / "s.h5.npy"), np.load(tmp_path / "s.sinoparams.npy")
    assert np.abs(a - b).max() < 2e-3 * a.max()


def test_line_integrals_of_a_volume_go_out_and_come_back(tmp_path):
    qb("simulate", "disc", "-o", tmp_path / "x.npy", *SCAN, "--truth", tmp_path / "v.mha")
    ways = ["project", tmp_path / "v.mha", "-g", "parallel", *SCAN, "--geometry-out", tmp_path / "g.json"]
    qb(*ways, "-o", tmp_path / "p.npy")
    qb(*ways, "-o", tmp_path / "p.sinoparams")
    qb("project", tmp_path / "v.mha", "-g", tmp_path / "g.json", "-o", tmp_path / "f.sinoparams")
    plain = np.load(tmp_path / "p.npy")
    for name in "p", "f":
        lines, theta, said = read_scan(tmp_path / f"{name}.sinoparams", 30, 3, 24)
        assert (lines == plain).all() and float(said["CenterOffset"]) == pytest.approx(1.5, abs=1e-6)
        assert theta[0] == pytest.approx(np.radians(10) - np.pi / 2, abs=1e-9)


def test_a_scan_in_hdf5_becomes_one_of_sv_mbirct_s(tmp_path):
    """Counts by their flats and darks, with what else is asked for; there and back the same numbers."""
    qb("simulate", "shepp-logan", *SCAN, "--photons", 3000, "-o", tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5") as file:
        numbers, dark = file["exchange/data"][:].astype(float), file["exchange/data_dark"][:].astype(float).mean(0)
        expected = -np.log(np.maximum((numbers - dark) / (file["exchange/data_white"][:].astype(float).mean(0) - dark), 1e-6))
    qb("convert", tmp_path / "s.h5", "-o", tmp_path / "l.sinoparams", "--center", 13)
    lines, theta, said = read_scan(tmp_path / "l.sinoparams", 30, 3, 24)
    assert lines == pytest.approx(expected, abs=1e-4)
    assert theta == pytest.approx(np.radians(10 + 6 * np.arange(30)) - np.pi / 2, abs=1e-9)
    assert [float(said[k]) for k in ("CenterOffset", "DeltaChannel")] == pytest.approx([1.5, 0.7])
    qb("convert", tmp_path / "l.sinoparams", "-o", tmp_path / "again.sinoparams")  # which states its axis
    told = qb_json("convert", tmp_path / "l.sinoparams", "-o", tmp_path / "back.h5", "--threads", 1)
    assert {k: told[k] for k in ("output", "views", "column", "preparation")} == {
        "output": str(tmp_path / "back.h5"), "views": 30, "column": 13, "preparation": {"clamped": 0, "not_finite": 0, "dead": 0, "saturated": 0}}
    gone = qb("convert", tmp_path / "l.sinoparams", "-o", tmp_path / "back.npy")
    assert "back.npy will not state its axis, which falls on column 13" in gone.stderr
    assert (read_h5(tmp_path / "back.h5") == lines).all()
    assert (read_scan(tmp_path / "again.sinoparams", 30, 3, 24)[0] == lines).all()
    assert "CenterOffset: 1.5\n" in (tmp_path / "again.sinoparams").read_text()
    assert qb_json("info", tmp_path / "back.h5")["quantity"] == "line_integral"
    kept = json.loads((tmp_path / "l.sinoparams.json").read_text())["provenance"]
    assert kept["command"].startswith("qb convert") and str(tmp_path / "s.h5") in kept["command"]  # what repeats it
    done = qb("convert", tmp_path / "s.h5", "-o", tmp_path / "half.sinoparams", "--views", "1::2", "--hardening", "0.1")
    assert "does not state its axis" in done.stderr
    qb("convert", tmp_path / "l.sinoparams", "-o", tmp_path / "LOUD.SINOPARAMS")
    assert "CenterOffset: 1.5\n" in (tmp_path / "LOUD.sinoparams").read_text()
    half, theta, said = read_scan(tmp_path / "half.sinoparams", 15, 3, 24)
    assert half == pytest.approx((expected + 0.1 * expected**2)[1::2], abs=1e-3) and float(said["CenterOffset"]) == 0
    assert theta == pytest.approx(np.radians(16 + 12 * np.arange(15)) - np.pi / 2, abs=1e-9)


def test_convert_tells_what_it_raised_and_what_was_missing(tmp_path):
    share = np.full((6, 2, 8), 0.5, np.float32)
    share[0, 0, 2:5], share[2, 1, 4], share[3, 1, 5] = 1e-9, np.nan, np.inf
    np.save(tmp_path / "s.npy", share)
    told = qb_json("convert", tmp_path / "s.npy", "-o", tmp_path / "l.npy", "--angles", "0:180", "--quantity", "transmission")
    assert told["preparation"] == {"clamped": 3, "not_finite": 2, "dead": 0, "saturated": 0} and "column" not in told
    assert [w.split()[0] for w in told["warnings"]] == ["3", "2"]
    kept = json.loads((tmp_path / "l.npy.json").read_text())["provenance"]
    assert kept["preparation"] == told["preparation"] and kept["views"] == told["views"] == 6


@pytest.mark.parametrize("kind", ["npy", "h5", "mha"])
def test_convert_makes_up_no_beam(tmp_path, kind):
    """A scan that does not say whether its beam is parallel is converted to one that does not either."""
    np.save(tmp_path / "s.npy", np.random.default_rng(3).random((12, 5, 16)).astype(np.float32))
    qb("convert", tmp_path / "s.npy", "-o", tmp_path / f"l.{kind}", "--angles", "0:360", "--quantity", "line_integral")
    qb("plan", "fdk", tmp_path / f"l.{kind}", "--sod", 50, "--sdd", 70, "--pixel-size", 1, "--angles", "0:360", "-o", tmp_path / "v.npy")
    qb("plan", "fbp", tmp_path / f"l.{kind}", "--center", "middle", "--angles", "0:360", "-o", tmp_path / "v.npy")
    for beam, other in (("cone", "fbp"), ("parallel", "fdk")):  # what is stated is kept
        cone = ["--sod", 50, "--sdd", 70]
        qb("simulate", "ball", "--geometry", beam, *(cone if beam == "cone" else []), "--views", 8, "--detector", "16,5", "--pixel-size", 1, "-o", tmp_path / "b.h5", "-q")
        qb("convert", tmp_path / "b.h5", "-o", tmp_path / f"c.{kind}", "-q")
        fails(3, "plan", other, tmp_path / f"c.{kind}", *(cone if other == "fdk" else []), "-o", tmp_path / "v.npy", says=["beam"])


def test_what_convert_refuses(lines, tmp_path):
    qb("simulate", "disc", *SCAN, "-o", tmp_path / "s.h5")
    out = ["-o", tmp_path / "x.sinoparams"]
    fails(3, "convert", tmp_path / "s.h5", *out, "--center", "stated", says=["does not state its axis"])
    fails(2, "convert", tmp_path / "s.h5", *out, "--center", "there", says=["--center there"])
    fails(2, "convert", tmp_path / "s.h5", *out, "--center", 24, says=["--center 24", "0..23"])
    fails(2, "convert", tmp_path / "s.h5", "-o", tmp_path / "x.npy", "--center", 13, says=["--center", "x.npy does not state its axis"])
    fails(3, "convert", lines, *out, says=["angles"])
    fails(2, "convert", tmp_path / "s.h5", says=["--output"])
    fails(2, "convert", tmp_path / "s.h5", "-o", tmp_path / "s.h5", says=["s.h5"])
    fails(2, "convert", tmp_path / "s.h5", *out, "--max-ram", "1M", says=["--max-ram"])
    scan = write_scan(tmp_path, np.load(lines))
    before = (tmp_path / "shepp_slice0001.2Dsinodata").read_bytes()
    fails(2, "convert", scan, "-o", scan, says=["shepp.sinoparams"])
    assert (tmp_path / "shepp_slice0001.2Dsinodata").read_bytes() == before
    assert not list(tmp_path.glob("x*")) and not list(tmp_path.glob(".*"))


def test_scans_that_sv_mbirct_does_not_know(tmp_path):
    qb("simulate", "ball", "-o", tmp_path / "b.npy", *SCAN, "--truth", tmp_path / "v.mha")
    cone = ["--geometry", "cone", "--sod", 400, "--sdd", 600, "--views", 4, "--detector", "16,1"]
    fails(2, "simulate", "disc", *cone, "-o", tmp_path / "c.sinoparams", says=["parallel"])
    fails(2, "project", tmp_path / "v.mha", "-g", "parallel", *SCAN, "-o", tmp_path / "c.sinoparams", "--dtype", "float16", says=["--dtype"])
    fails(2, "fbp", tmp_path / "b.npy", "--center", 13, "--angles", "10:190", "--quantity", "transmission", "-o", tmp_path / "c.sinoparams",
          says=["BASE_slice%04d.2Dimgdata"])
    bent = {"quickbeam_geometry": 1, "units": "mm", "beam": "parallel", "rows": 1, "columns": 8, "pixel_size": [1, 1], "views": [
        {"source": [-np.sin(t), np.cos(t), 0], "detector": [-(3.5 + t) * np.cos(t), -(3.5 + t) * np.sin(t), 0], "u": [np.cos(t), np.sin(t), 0], "v": [0, 0, 1]}
        for t in np.arange(6) / 2]}
    (tmp_path / "bent.json").write_text(json.dumps(bent))
    fails(2, "simulate", "disc", "-g", tmp_path / "bent.json", "-o", tmp_path / "c.sinoparams", says=["one column"])
    assert not list(tmp_path.glob("c*")) and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("how", [("mbir", "--equits", 1), ("fbp",), ("sirt", "--iterations", 1)])
def test_images_have_the_numbers_of_their_slices(lines, tmp_path, how):
    """Those of another program's scan are counted on from its first; ours, and other kinds of files, from 0."""
    scan = write_scan(tmp_path, np.load(lines), first=41)
    center = () if how[0] == "sirt" else ("--center", "20.75")
    qb(how[0], scan, *how[1:], *center, "-o", tmp_path / "v_slice%04d.2Dimgdata")
    assert sorted(p.name for p in tmp_path.glob("v_*")) == [f"v_slice{41 + z:04d}.2Dimgdata" for z in range(ROWS)]
    assert "FirstSliceNumber: 41\n" in (tmp_path / "v.imgparams").read_text()
    qb(how[0], scan, *how[1:], *center, "-o", tmp_path / "t%04d.tif")
    qb(how[0], lines, *PLAIN, *how[1:], *center, "-o", tmp_path / "w_slice%04d.2Dimgdata")
    assert sorted(p.name for p in [*tmp_path.glob("t*.tif"), *tmp_path.glob("w_*")]) == [
        *(f"t{z:04d}.tif" for z in range(ROWS)), *(f"w_slice{z:04d}.2Dimgdata" for z in range(ROWS))]


@pytest.mark.parametrize("changes, says", [
    (dict(NViews=VIEWS + 1), ["slice0001", f"{VIEWS + 1} x {COLUMNS}"]), (dict(NViews=-3), ["NViews is -3"]), (dict(NChannels=0), ["NChannels is 0"]),
    (dict(NChannels="40.5"), ["whole number"]), (dict(NSlices=9), ["slice0004", "9 slices"]), (dict(NSlices="nan"), ["NSlices is nan"]),
    (dict(NViews=10**9, NChannels=10**9), ["slice0001"]), (dict(DeltaChannel=0), ["DeltaChannel is 0"]), (dict(DeltaChannel="-1"), ["DeltaChannel is -1"]),
    (dict(FirstSliceNumber=2), ["slice0004", "does not exist"]), (dict(CenterOffset="x"), ["CenterOffset is x"]), (dict(ViewAngleList="none.txt"), ["none.txt"]),
    (dict(Geometry="cone"), ["Geometry is cone", "fan-curved or fan-flat"]), (dict(Geometry="fan-curved"), ["shepp.sinoparams", "DistSourceDetector"]),
    (dict(Geometry="fan-flat", DistSourceDetector=-3, Magnification=2), ["DistSourceDetector is -3"]),
    (dict(Geometry="fan-flat", DistSourceDetector=300), ["Magnification"]),
    (dict(Geometry="fan-flat", DistSourceDetector=300, Magnification="0.5"), ["Magnification is 0.5", "from 1 to"]),
])
def test_what_does_not_fit(lines, tmp_path, changes, says):
    scan = write_scan(tmp_path, np.load(lines), **changes)
    if changes.get("FirstSliceNumber") == 2:
        (tmp_path / "shepp_slice0002.2Dsinodata").rename(tmp_path / "shepp_slice0009.2Dsinodata")
        says = ["slice0002", "does not exist"]
    done = qb("info", scan, code=3)
    assert all(word in done.stderr for word in says), done.stderr


SOD, SDD, WIDE = 60, 100, 0.9
FAN = dict(DistSourceDetector=SDD, Magnification=SDD / SOD, DeltaChannel=WIDE, CenterOffset=OFFSET, DeltaSlice=0.54)


def fan_lines(beam, views):
    """A disc of 0.02 and radius 5 at (3, -2), in sv-mbirct's own words: the source at (cos, sin), the ray of a channel turned
    by alpha, the other way round than ours."""
    theta = np.arange(views)[:, None] * 2 * np.pi / views - np.pi / 2
    t = (np.arange(COLUMNS) - (COLUMNS - 1) / 2 - OFFSET) * WIDE / SDD
    way = theta + (t if beam == "fan-curved" else np.arctan(t))
    x, y = 3 - SOD * np.cos(theta), -2 - SOD * np.sin(theta)
    miss = np.sin(way) * x - np.cos(way) * y
    return (0.02 * 2 * np.sqrt(np.maximum(25 - miss**2, 0)))[:, None].astype(np.float32)


@pytest.mark.parametrize("beam", ["fan-flat", "fan-curved"])
def test_fans(beam, tmp_path):
    """The disc is where it is said to be; by the geometry in its words and in ours within rounding the same; fans one above the
    other are each by itself."""
    views, job = 72, ["--neighbours", "1,0.7,0", "--sigma-x", 0.002, "--sigma-y", 0.02, "--stop", 0.01, "--equits", 60]
    one = fan_lines(beam, views)
    (tmp_path / "one").mkdir()
    scan = write_scan(tmp_path / "one", one, Geometry=beam, **FAN)
    theta = np.arange(views) * 2 * np.pi / views - np.pi / 2
    (tmp_path / "one" / "views.txt").write_text("".join(f"{t:.12f}\n" for t in theta))
    assert qb_json("info", scan)["beam"] == "cone"
    qb("mbir", scan, "-o", tmp_path / "v.npy", *job)
    v = np.load(tmp_path / "v.npy")
    y, x = (np.mgrid[:COLUMNS, :COLUMNS] - (COLUMNS - 1) / 2) * WIDE * SOD / SDD
    away = np.hypot(x - 3, y + 2)
    assert abs(v[0][away < 4].mean() - 0.02) < 2e-4 and v[0][(away > 6) & (np.hypot(x, y) < 9)].max() < 2e-3
    np.save(tmp_path / "l.npy", one[:, :, ::-1])
    ours = ["--quantity", "line_integral", "--angles", "0:360", "--sod", SOD, "--sdd", SDD, "--pixel-size", WIDE, "--detector-offset", f"{OFFSET},0px"]
    qb("mbir", tmp_path / "l.npy", *ours, "--detector-radius", SDD if beam == "fan-curved" else 0, "-o", tmp_path / "w.npy", *job)
    assert np.abs(v - np.load(tmp_path / "w.npy")).max() < 1e-5 * v.max()
    qb("fdk", scan, "-o", tmp_path / "f.npy")  # one row is a cone's, too
    assert abs(np.load(tmp_path / "f.npy")[0][away < 4].mean() - 0.02) < 1e-3
    many = one * (1 + 0.1 * np.arange(9)[:, None]).astype(np.float32)
    stack = write_scan(tmp_path, many, Geometry=beam, **FAN)
    (tmp_path / "views.txt").write_bytes((tmp_path / "one" / "views.txt").read_bytes())
    params = tmp_path / "r.reconparams"
    write_params(params, PriorModel="QGGMRF", b_interslice=0, SigmaX=0.002, SigmaY=0.02)
    qb("mbir", stack, "-o", tmp_path / "s.h5", *job)
    s = read_h5(tmp_path / "s.h5")
    assert s.shape == (9, COLUMNS, COLUMNS) and np.abs(s[0] - v[0]).max() < 5e-3 * v.max()
    assert np.abs(s[8][away < 4].mean() - 0.036) < 4e-4 and "0.54 mm" in qb("info", tmp_path / "s.h5").stdout
    qb("mbir", stack, "-o", tmp_path / "c.npy", "--config", params, "--slices", "8:9")
    assert np.abs(np.load(tmp_path / "c.npy")[0][away < 4].mean() - 0.036) < 4e-4
    assert "--sod and --sdd replace the geometry" in qb("mbir", stack, "-o", tmp_path / "n.npy", *ours[4:8], "--slices", "4:5").stderr
    for verb in ("fdk", "sirt"):
        fails(3, verb, stack, "-o", tmp_path / "no.npy", says=["9 rows are fans", "qb mbir"])
    fails(3, "fbp", stack, "-o", tmp_path / "no.npy", says=["shepp.sinoparams", "cone"])
    fails(2, "mbir", stack, "-o", tmp_path / "no.npy", "--center", 20, says=["--center 20", "states where the axis falls"])
    assert not (tmp_path / "no.npy").exists()


def test_what_is_cut_short(lines, tmp_path):
    data = np.load(lines)
    scan = write_scan(tmp_path, data)
    text, slice2, views = scan.read_text(), tmp_path / "shepp_slice0002.2Dsinodata", tmp_path / "views.txt"
    for at in range(0, text.index("ViewAngleList"), 29):
        scan.write_text(text[:at])
        fails(3, "info", scan, says=["shepp"])
    scan.write_text(text)
    whole = slice2.read_bytes()
    for bad in (whole[:-1], whole + b"x", b""):
        slice2.write_bytes(bad)
        fails(3, "info", scan, says=["slice0002", str(len(bad))])
    slice2.write_bytes(whole)
    angles = views.read_text()
    for bad in (angles[:100], angles + "0.5\n", angles + "word", ""):
        views.write_text(bad)
        fails(3, "info", scan, says=["views.txt"])
    scan.write_bytes(b"\0" * 70000)
    fails(3, "info", scan, says=["shepp.sinoparams"])
