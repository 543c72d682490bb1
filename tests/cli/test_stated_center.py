# SPDX-License-Identifier: MIT
"""An axis that a file was written with is where reconstructions put it, and they say so; --center has the last word."""
import os

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

COLUMNS, COLUMN = 40, 17.25
SCAN = ["--views", 36, "--detector", f"{COLUMNS},2", "--pixel-size", 0.7]
VERBS = {"fbp": [], "mbir": ["--equits", 2], "sirt": ["--iterations", 2], "cgls": ["--iterations", 2]}


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """The axis off the middle; what converts it knows where."""
    folder = tmp_path_factory.mktemp("stated")
    middle = (COLUMNS - 1) / 2
    qb("simulate", "shepp-logan", *SCAN, "--center-offset", COLUMN - middle, "-o", folder / "s.h5")
    qb("simulate", "shepp-logan", *SCAN, "--center-offset", COLUMN - middle, "-o", folder / "simulated.sinoparams")
    for name in "converted.sinoparams", "converted.h5":
        qb("convert", folder / "s.h5", "-o", folder / name, "--center", COLUMN)
    qb("convert", folder / "converted.h5", "-o", folder / "again.h5")
    qb("convert", folder / "simulated.sinoparams", "-o", folder / "from_theirs.h5")
    qb("convert", folder / "converted.h5", "-o", folder / "to_theirs.sinoparams")
    return folder


NAMES = ["simulated.sinoparams", "converted.sinoparams", "converted.h5", "again.h5", "from_theirs.h5", "to_theirs.sinoparams"]


def column_of(verb, scan, *how):
    """Where it is put: fbp's report says it, of the others the plan."""
    out = scan.parent / f"{os.getpid()}.npy"
    report = qb_json(*(["plan"] if verb != "fbp" else []), verb, scan, "-o", out, *VERBS[verb], *how)
    out.unlink(missing_ok=True)
    return report["column"]


def said_of(verb, scan, *how):
    out = scan.parent / f"{os.getpid()}.npy"
    done = qb(verb, scan, "-o", out, *VERBS[verb], *how)
    image = np.load(out)
    out.unlink()
    return image, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_it_is_taken_and_told(scans, name):
    info = qb_json("info", scans / name)
    assert info["center"] == pytest.approx(COLUMN, abs=1e-9) and info["center_holds"] is True
    for verb in VERBS if name in NAMES[1:3] else ["fbp", "mbir"]:
        image, said = said_of(verb, scans / name)
        assert f"axis at column {COLUMN}, as {scans / name} states it (--center auto looks for it)" in said and "confidence" not in said
        given, said = said_of(verb, scans / name, "--center", COLUMN)
        assert "states it" not in said and (image == given).all()
        assert column_of(verb, scans / name) == pytest.approx(COLUMN, abs=1e-9)


@pytest.mark.parametrize("verb", VERBS)
def test_auto_looks_for_it(scans, verb):
    for scan in scans / "converted.sinoparams", scans / "converted.h5":
        _, said = said_of(verb, scan, "--center", "auto")
        assert "confidence" in said and "(--center auto)" in said and "states it" not in said
        assert column_of(verb, scan, "--center", "middle") == (COLUMNS - 1) / 2
    said = said_of("fbp", scans / "converted.h5", "--search", "10:25")[1]  # it is looked for there
    assert "confidence" in said and "states it" not in said


def test_what_states_none_is_looked_for_as_before(scans):
    _, said = said_of("fbp", scans / "s.h5")
    assert "confidence" in said
    done = qb("convert", scans / "s.h5", "-o", scans / "none.h5")
    with h5py.File(scans / "none.h5") as file:
        assert "rotation_axis_column" not in file["exchange/data"].attrs
    assert "middle" not in done.stderr and "center" not in qb_json("info", scans / "none.h5")
    with h5py.File(scans / "again.h5") as file:
        assert file["exchange/data"].attrs["rotation_axis_column"] == pytest.approx(COLUMN, abs=1e-9)
    qb("convert", scans / "s.h5", "-o", scans / "middle.h5", "--center", "middle")
    assert qb_json("info", scans / "middle.h5")["center"] == (COLUMNS - 1) / 2


def write_nxtomo(scans, path):
    with h5py.File(scans / "s.h5") as file, h5py.File(path, "w") as to:
        lines, theta = -np.log(file["exchange/data"][:]), file["exchange/theta"][:]
        entry = to.create_group("entry")
        entry.attrs["NX_class"] = "NXentry"
        entry["definition"] = "NXtomo"
        entry["instrument/detector/data"] = lines.astype(np.float32)
        entry["instrument/detector/image_key"] = np.zeros(len(lines), int)
        entry["instrument/detector/x_rotation_axis_pixel_position"] = 12.0
        entry["sample/rotation_angle"] = theta
        entry["sample/rotation_angle"].attrs["units"] = "degrees"


def test_a_motor_s_estimate_is_asked_for(scans, tmp_path):
    """NXtomo's: what a motor says of it may be pixels away."""
    scan = tmp_path / "n.nx"
    write_nxtomo(scans, scan)
    info = qb_json("info", scan)
    assert info["center"] == 12 and info["center_holds"] is False and "--center stated goes by it" in qb("info", scan).stdout
    how = ["--quantity", "line_integral"]
    assert "confidence" in said_of("fbp", scan, *how)[1]
    assert column_of("fbp", scan, *how, "--center", "stated") == 12
    done = qb("convert", scan, "-o", tmp_path / "l.h5", *how)
    assert "may be an estimate" in done.stderr and "center" not in qb_json("info", tmp_path / "l.h5")
    qb("convert", scan, "-o", tmp_path / "l.h5", *how, "--center", "stated")
    assert qb_json("info", tmp_path / "l.h5")["center"] == 12
    assert "as " in said_of("fbp", tmp_path / "l.h5")[1] and "confidence" not in said_of("fbp", tmp_path / "l.h5")[1]


@pytest.mark.parametrize("verb", ["fbp", "mbir", "sirt"])
def test_one_that_is_not_on_the_detector_is_looked_for(scans, tmp_path, verb):
    for at in -3, COLUMNS + 2:
        (tmp_path / "l.h5").write_bytes((scans / "converted.h5").read_bytes())
        with h5py.File(tmp_path / "l.h5", "r+") as file:
            file["exchange/data"].attrs["rotation_axis_column"] = float(at)
        report = qb_json(verb, tmp_path / "l.h5", "-o", tmp_path / "v.npy", *VERBS[verb])
        assert any(f"column {at}, outside its columns 0 to {COLUMNS - 1}: it is not used" in w for w in report["warnings"])
        found = report["center"]["column"]
        assert found == pytest.approx(COLUMN, abs=3) and found != COLUMN
        fails(3, verb, tmp_path / "l.h5", "-o", tmp_path / "v.npy", "--center", "stated", says=["--center auto"])
    with h5py.File(tmp_path / "l.h5", "r+") as file:
        file["exchange/data"].attrs["rotation_axis_column"] = np.nan
    assert "center" in qb_json(verb, tmp_path / "l.h5", "-o", tmp_path / "v.npy", *VERBS[verb])


def test_of_a_cone_beam_the_geometry_says_where_it_is(tmp_path):
    qb("simulate", "ball", "--geometry", "cone", "--sod", 400, "--sdd", 600, "--views", 4, "--detector", "16,1", "-o", tmp_path / "c.h5")
    fails(2, "convert", tmp_path / "c.h5", "-o", tmp_path / "l.h5", "--center", 8, says=["--center 8", "cone"])
    qb("convert", tmp_path / "c.h5", "-o", tmp_path / "l.h5")
    assert "center" not in qb_json("info", tmp_path / "l.h5")


def test_a_config_keeps_the_choice(scans, tmp_path):
    """What a run was told is what its saved options tell the next: nothing, or where."""
    for how, column in ([], COLUMN), (["--center", "middle"], (COLUMNS - 1) / 2):
        qb("fbp", scans / "converted.h5", "-o", tmp_path / "w.npy", *how, "--save-config", tmp_path / "c.conf")
        assert column_of("fbp", scans / "converted.h5", "--config", tmp_path / "c.conf") == column
