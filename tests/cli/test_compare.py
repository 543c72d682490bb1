# SPDX-License-Identifier: MIT
"""qb compare: what files state about their numbers is compared before the numbers are."""
import numpy as np
import pytest
import tifffile

from qbtest import fails, qb, qb_json


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same scan as a volume of attenuation and of Hounsfield units, without and with another pixel size."""
    path = tmp_path_factory.mktemp("compare")
    qb("simulate", "disc", "-o", "s.h5", "--detector", "32,3", "--views", "48", "--pixel-size", "0.5", cwd=path)
    for kind in ("h5", "mha", "tif", "npy", "raw"):
        qb("fbp", "s.h5", "--center", "15.5", "-o", f"mu.{kind}", cwd=path)
        qb("fbp", "s.h5", "--center", "15.5", "--pixel-size", "0.6", "-o", f"wide.{kind}", cwd=path)
        qb("fbp", "s.h5", "--center", "15.5", "--hu", "0.02", "-o", f"hu.{kind}", cwd=path)
    return path


KINDS = pytest.mark.parametrize("a,b", [("h5", "h5"), ("mha", "tif"), ("npy", "raw"), ("tif", "npy"), ("raw", "mha")])


@KINDS
def test_the_same_thing_is_compared_without_a_word(folder, a, b):
    assert qb("compare", f"mu.{a}", f"mu.{b}", cwd=folder).stderr == ""


@KINDS
def test_another_quantity_is_refused(folder, a, b):
    fails(3, "compare", f"mu.{a}", f"hu.{b}", cwd=folder, says=[f"mu.{a} holds attenuation, hu.{b} Hounsfield", "--any-quantity"])
    done = qb("compare", f"mu.{a}", f"hu.{b}", "--any-quantity", cwd=folder)
    assert "units differ: 1/mm" in done.stderr and "rmse" in done.stdout
    fails(3, "compare", "s.h5", f"mu.{a}", cwd=folder, says=["holds transmission"])


@KINDS
def test_other_voxels_are_told(folder, a, b):
    done = qb("compare", f"mu.{a}", f"wide.{b}", cwd=folder)
    assert f"voxel sizes differ: 0.5 x 0.5 x 0.5 mm in mu.{a}, 0.6 x 0.6 x 0.6 mm in wide.{b}" in done.stderr
    assert "rmse" in done.stdout and set(qb_json("compare", f"mu.{a}", f"wide.{b}", cwd=folder)) >= {"rmse", "ssim"}


def test_what_says_nothing_goes_with_everything(folder):
    for side in ("mu", "hu"):
        (folder / f"bare_{side}.npy").write_bytes((folder / f"{side}.npy").read_bytes())
        assert qb("compare", f"bare_{side}.npy", "mu.h5", cwd=folder).stderr == ""
        # A volume by another program: its kind is known, what its values are is not.
        tifffile.imwrite(folder / f"imagej_{side}.tif", np.load(folder / f"{side}.npy"), imagej=True, resolution=(2, 2), metadata={"unit": "mm", "spacing": 0.5})
        assert qb_json("info", f"imagej_{side}.tif", cwd=folder)["quantity"] == "volume"
        assert qb("compare", f"imagej_{side}.tif", f"{side}.mha", cwd=folder).stderr == ""
