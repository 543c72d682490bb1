# SPDX-License-Identifier: MIT
"""Images that qb mbir is given (--start, --prox, --reference) are compared with the scan: one of another unit, orientation or place is
named with what mends it, and a start that is far off is refused."""
import numpy as np
import pytest

from qbtest import fails, qb, qb_json

SHORT = ["--equits", 3]
CONE = ["--sod", 200, "--sdd", 400]
BEAMS = {"parallel": (["--detector", "64,4", "--views", 90, "--pixel-size", "0.5"], ["--center", "31.5"]),
         "fan": (["--geometry", "cone", *CONE, "--detector", "64,1", "--views", 90, "--pixel-size", 1], CONE),
         "cone": (["--geometry", "cone", *CONE, "--detector", "48,48", "--views", 60, "--pixel-size", 1], CONE)}


class Case:
    def __init__(self, folder, beam, phantom="foam"):
        made, used = BEAMS[beam]
        self.beam, self.folder = beam, folder
        qb("simulate", phantom, *made, "--photons", 50000, "-o", folder / "s.h5", "--truth", folder / "t.npy")
        self.truth, self.scan = np.load(folder / "t.npy"), [folder / "s.h5", *used]

    def run(self, image, *more, option="--start", code=0):
        np.save(self.folder / "i.npy", np.ascontiguousarray(image, np.float32))
        return qb("mbir", *self.scan, option, self.folder / "i.npy", "-o", self.folder / "v.npy", *SHORT, *more, code=code).stderr


@pytest.fixture(scope="module", params=BEAMS)
def case(request, tmp_path_factory):
    return Case(tmp_path_factory.mktemp(request.param), request.param)


WRONG = {"cm": (lambda v: 10 * v, "times too large: give it in 1/mm"), "um": (lambda v: v / 1000, "times too small: give it in 1/mm"),
         "x": (lambda v: v[:, :, ::-1], "fits the scan better mirrored along x"),
         "exchanged": (lambda v: np.swapaxes(v, 1, 2), "fits the scan better after numpy.transpose(image, (0, 2, 1))")}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_named(case, kind):
    make, words = WRONG[kind]
    for option in ("--start", "--reference") if kind == "x" else ("--start",):
        said = case.run(make(case.truth), option=option)
        assert f"{option} {case.folder}/i.npy" in said and words in said and "[image-misfit]" in said, said


@pytest.mark.parametrize("scale, words", [(1000, "times too large"), (None, "looks like Hounsfield units, of water at 0.02")])
def test_a_start_far_off_is_refused(case, scale, words):
    """As a reference it does no harm: a warning."""
    image = 1000 * case.truth if scale else 1000 * (case.truth / 0.02 - 1)
    assert words in case.run(image, code=3)
    assert not (case.folder / "w.npy").exists()
    assert words in case.run(image, option="--reference")


def test_a_good_one_is_used_in_silence(case):
    for image in (case.truth, 0.9 * case.truth, np.zeros_like(case.truth)):
        for option in ("--start", "--reference", "--prox"):
            assert "image-" not in case.run(image, option=option)


def test_axes_in_all_orders(tmp_path):
    """The words are what numpy must do."""
    case = Case(tmp_path, "cone")
    for order in ((2, 1, 0), (1, 2, 0), (2, 0, 1)):
        wrong = np.transpose(case.truth, np.argsort(order))
        assert np.array_equal(np.transpose(wrong, order), case.truth)
        assert f"after numpy.transpose(image, ({order[0]}, {order[1]}, {order[2]})) [" in case.run(wrong)
    assert "mirrored along z" in case.run(case.truth[::-1])
    assert "times as far from the scan as zeros are" in case.run(-3 * case.truth)


@pytest.mark.parametrize("beam", BEAMS)
def test_moved(tmp_path, beam):
    case = Case(tmp_path, beam, "disc")
    said = case.run(np.roll(case.truth, (-3, 5), (1, 2)))
    assert "lies 5 voxels too far along x and -3 along y" in said and "[image-misfit]" in said, said


def test_what_files_state(tmp_path):
    """Hounsfield units are taken with --hu; another voxel or place is named."""
    case = Case(tmp_path, "parallel")
    start = tmp_path / "hu.mha"
    how = ["mbir", *case.scan, *SHORT, "-o", tmp_path / "v.mha"]
    qb("fbp", *case.scan, "--hu", "0.02", "-o", tmp_path / "hu.h5")
    assert "say with --hu" in fails(2, *how, "--start", tmp_path / "hu.h5")
    assert "image-" not in qb(*how, "--start", tmp_path / "hu.h5", "--hu", "0.02").stderr
    qb("fbp", *case.scan, "-o", tmp_path / "v1.h5")
    plain = qb_json("compare", tmp_path / "v.mha", tmp_path / "v.mha")
    assert plain["rmse"] == 0
    assert "image-" not in qb(*how, "--start", tmp_path / "v1.h5").stderr
    for more, words in ((["--voxel", "0.4"], "states voxels of 0.4 mm along x, the volume has 0.5"),
                        (["--offset", "3,0,0"], "states an offset of 3 mm along x, the volume has 0")):
        qb("fbp", *case.scan, *more, "-o", start)
        said = qb(*how, "--start", start).stderr
        assert words in said and "[image-grid]" in said, said


def test_few_equits_say_how_far_they_are(tmp_path):
    """Too few to forecast: how much the image still changed."""
    for beam in ("parallel", "cone"):
        case = Case(tmp_path, beam)
        said = case.run(case.truth / 1000)
        assert "mbir stopped after 3 equits" in said and "[mbir-not-converged]" in said, said
        assert "too few to forecast the cost; the image changed by" in said
