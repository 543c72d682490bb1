# SPDX-License-Identifier: MIT
"""What can be refused is refused before work starts; options mean what they say."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, read_mha, write_scan


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("promises")
    qb("simulate", "spheres", "-o", "s.h5", "--views", 60, "--detector", "48,8", "--pixel-size", 0.5, cwd=folder)
    return folder


@pytest.mark.parametrize("code,args,says", [
    (2, ["-o", "v.what"], ["v.what", "which kind of file"]),
    (1, ["-o", "no/such/v.h5"], ["no/such"]),
    (2, ["-o", "v.h5", "--preview", "v.jpeg"], ["v.jpeg", "ends in .png"]),
    (2, ["-o", "v.h5", "--hu", "0"], ["--hu 0"]),
    (2, ["-o", "v.h5", "--slices", "3:9"], ["--slices 3:9"]),
    (2, ["-o", "v.h5", "-x"], ["has no option -x"]),
])
def test_before_the_axis_is_looked_for(folder, code, args, says):
    said = fails(code, "fbp", "s.h5", *args, says=says, cwd=folder)
    assert "reading rows" not in said and "no option --x" not in said


def test_no_room_is_known_before_work(folder, tmp_path):
    """A sparse file system is not at hand: a volume larger than any disk is."""
    said = fails(1, "fbp", "s.h5", "-o", "v.raw", "--size", "60000,60000,8", "--voxel", "0.001", "--max-ram", "900G",
                 says=["v.raw needs"], cwd=folder)
    assert "reading rows" not in said


def test_a_configuration_carries_no_outputs(folder, tmp_path):
    qb("fbp", "s.h5", "-o", tmp_path / "a.h5", "--preview", tmp_path / "a.png", "--center", 23.5, "--save-config",
       tmp_path / "c", cwd=folder)
    text = (tmp_path / "c").read_text()
    assert "center = 23.5" in text and "output =" not in text and "preview =" not in text
    fails(2, "fbp", "s.h5", "--config", tmp_path / "c", says=["-o"], cwd=folder)
    qb("fbp", "s.h5", "--config", tmp_path / "c", "-o", tmp_path / "b.h5", cwd=folder)
    (tmp_path / "c").write_text("center = 23.5\noutput = a.h5\n")
    fails(2, "fbp", "s.h5", "--config", tmp_path / "c", "-o", "b.h5", says=["c line 2", "--output"], cwd=folder)


def test_a_voxel_is_one_everywhere(tmp_path):
    """A box of voxels of 0.25 mm before pixels of 0.5 mm: the phantom is half as large."""
    args = ["simulate", "disc", "--views", 90, "--detector", "64,4", "--pixel-size", 0.5, "--size", "64,64,4"]
    qb(*args, "--voxel", 0.25, "-o", "s.h5", "--truth", "t.mha", cwd=tmp_path)
    assert read_mha(tmp_path / "t.mha")[1]["ElementSpacing"].split() == ["0.25"] * 3
    qb("fbp", "s.h5", "-o", "v.h5", "--center", 31.5, "--size", "64,64", "--voxel", 0.25, cwd=tmp_path)
    volume, truth = read_h5(tmp_path / "v.h5")[1], read_mha(tmp_path / "t.mha")[0][1]
    y, x = np.mgrid[:64, :64] - 31.5
    assert abs(volume[np.hypot(x, y) < 20].mean() / 0.02 - 1) < 0.01
    assert truth[np.hypot(x, y) < 24].min() > 0.019 and truth[np.hypot(x, y) > 27].max() == 0


def test_corners_are_not_outside(tmp_path):
    """A square as wide as the field of a half fan is what one wants; one wider than that is told."""
    qb("simulate", "disc", "-o", "s.h5", "--views", 240, "--angles", "0:360", "--detector", "64,2", "--pixel-size", 0.5,
       "--center-offset", 16, cwd=tmp_path)
    told = qb("fbp", "s.h5", "-o", "v.h5", "--center", 47.5, "--size", "96,96", cwd=tmp_path).stderr
    assert "warning" not in told and "21.5 % of the voxels" in told.replace("21.4", "21.5").replace("21.6", "21.5")
    assert "warning: " in qb("fbp", "s.h5", "-o", "v.h5", "--center", 47.5, "--size", "110,110", cwd=tmp_path).stderr


def test_rings_of_rows_that_are_left_out(tmp_path):
    """Nothing is measured on rows that no slice needs: a stripe there is not among what is reported."""
    rng = np.random.default_rng(3)
    lines = 1 + 0.01 * rng.normal(size=(90, 7, 48)).astype(np.float32)
    lines[:, :, 20] += 0.05
    lines[:, 1, 30] += 5
    write_scan(tmp_path / "s.h5", lines, np.arange(90) * 2.0, quantity="line_integral")
    args = ["fbp", "s.h5", "--center", 23.5, "--rings", "sort"]
    every = qb(*args, "-o", "a.h5", cwd=tmp_path)
    some = qb(*args, "-o", "b.h5", "--slices", "0:7:3", cwd=tmp_path)
    largest = [float(d.stderr.split("at most ")[1].split()[0].rstrip(";")) for d in (every, some)]
    assert largest[0] > 1 and largest[1] < 0.3
    a, b = read_h5(tmp_path / "a.h5"), read_h5(tmp_path / "b.h5")
    assert abs(a[::3] - b).max() < 2e-3 * abs(a).max()
