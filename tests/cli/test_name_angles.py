# SPDX-License-Identifier: MIT
"""--angles-from-names: angles that stand in the names of the files."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

VIEWS = 12


def put(folder, name):
    """A scan whose files are called name(number, degrees)."""
    qb("simulate", "spheres", "--views", VIEWS, "--detector", "32,8", "--pixel-size", 1, "-o", "made/", cwd=folder)
    (folder / "v").mkdir()
    for i, path in enumerate(sorted((folder / "made").iterdir())):
        path.rename(folder / "v" / name(i, 15 * i))


@pytest.mark.parametrize("name, pattern", [
    (lambda i, a: f"GR_{a:05.1f}_{i:03d}.tif", "GR_{}_*.tif"),
    (lambda i, a: f"s{i:02d}_{a}.000deg.tif", "*_{}deg.tif"),
    (lambda i, a: f"a{a:03d},50_n{i:03d}.tif", "a{}_n*.tif"),
])
def test_the_same_volume(tmp_path, name, pattern):
    put(tmp_path, name)
    first = 0.5 if pattern[0] == "a" else 0
    for options, out in ((["--angles-from-names", pattern], "a.npy"), (["--angles", f"{first}:{180 + first}"], "b.npy")):
        qb("fbp", "v", "--quantity", "transmission", *options, "-o", out, cwd=tmp_path)
    assert np.allclose(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"), atol=1e-6)
    told = qb_json("info", "v", "--angles-from-names", pattern, cwd=tmp_path)
    assert told["first_angle_deg"] == pytest.approx(first) and told["last_angle_deg"] == pytest.approx(165 + first)
    assert told["angles_from"] == f"--angles-from-names {pattern}"
    told = qb_json("info", "v", "--angles-from-names", pattern, "--views", "2:5", cwd=tmp_path)
    assert told["first_angle_deg"] == pytest.approx(30 + first)


def test_refused(tmp_path):
    put(tmp_path, lambda i, a: f"v_{a - 30}_{i:03d}.tif")
    assert qb_json("info", "v/*.tif", "--angles-from-names", "v_{}_*.tif", cwd=tmp_path)["lowest_angle_deg"] == -30
    for code, pattern, words in ((2, "v_*.tif", "with one {}"), (2, "{}_{}", "with one {}"), (3, "w_{}_*.tif", "does not fit the name v_"),
                                 (3, "*" * 40 + "{}x", "does not fit the name v_")):
        fails(code, "info", "v/*.tif", "--angles-from-names", pattern, says=[words], cwd=tmp_path)
    fails(2, "info", "v/*.tif", "--angles", "0:180", "--angles-from-names", "v_{}_*.tif", says=["leave one out"], cwd=tmp_path)
    qb("simulate", "spheres", "--views", VIEWS, "--detector", "32,8", "-o", "one.tif", cwd=tmp_path)
    fails(3, "info", "one.tif", "--angles-from-names", "{}.tif", says=[f"{VIEWS} views in 1 file"], cwd=tmp_path)
