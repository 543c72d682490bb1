# SPDX-License-Identifier: MIT
"""Which files of a folder or a pattern are read, and in which order: the number that counts up decides, what cannot be told is refused."""
import re

import numpy as np
import pytest

from qbtest import fails, qb, qb_json

tifffile = pytest.importorskip("tifffile")
N = 40


def names_of(how):
    """View i is in file i of these."""
    order = np.random.default_rng(3).permutation(N)
    stamp = np.random.default_rng(4).integers(100000, 999999, N)
    return [how(i, int(order[i]), int(stamp[i])) for i in range(N)]


RIGHT = {
    "angle before number": lambda i, k, r: f"GR_{k * 4.5:06.2f}_{i:04}.tif",
    "angle in whole steps": lambda i, k, r: f"GR_{2 * k}_{i}.tif",
    "angle with a sign": lambda i, k, r: f"proj_{i - 20}.tif",
    "plus and minus": lambda i, k, r: f"proj_{i - 20:+04}.tif",
    "from -90": lambda i, k, r: f"proj_{-90 + 4 * i}.tif",
    "decimals": lambda i, k, r: f"p_{i * 4.5:.2f}.tif",
    "decimal comma, sign": lambda i, k, r: f"p_{i * 4.5 - 90:.1f}.tif".replace(".", ",", 1),
    "date and noise": lambda i, k, r: f"t20230407_{r}_{i + 1}.tif",
    "date changes": lambda i, k, r: f"t202304{7 + i // 30:02}_{r}_{i + 1:03}.tif",
    "dash that is no sign": lambda i, k, r: f"a_-{i}.tif",
    "not padded": lambda i, k, r: f"scan2-{i}.tif",
    "two that agree": lambda i, k, r: f"a_{10 + 2 * i}_{i}.tif",
    "long prefix": lambda i, k, r: f"x12345678901234567890{i:03}.tif",
}


def fill(folder, names):
    folder.mkdir()
    for i, name in enumerate(names):
        tifffile.imwrite(folder / name, np.full((3, 8), 100 + i, np.uint16))


def order_read(folder, path, cwd):
    """The views in the order in which they are read."""
    qb("convert", path, "-o", cwd / "l.npy", "--angles", "0:180", "--quantity", "line_integral", "--pixel-size", 1, cwd=cwd)
    return np.load(cwd / "l.npy")[:, 0, 0]


@pytest.mark.parametrize("case", RIGHT)
@pytest.mark.parametrize("pattern", ["", "/*.tif"])
def test_the_number_that_counts_decides(tmp_path, case, pattern):
    names = names_of(RIGHT[case])
    fill(tmp_path / "v", names)
    assert np.array_equal(order_read(tmp_path, "v" + pattern, tmp_path), 100 + np.arange(N))
    told = qb("info", "v" + pattern, "--angles", "0:180", cwd=tmp_path)
    line = f"{N} files, {names[0]} to {names[-1]}"
    assert line in told.stdout
    done = qb("fbp", "v" + pattern, "-o", "v.npy", "--angles", "0:180", "--quantity", "line_integral", "--center", 3.5, cwd=tmp_path)
    assert line in done.stderr and "missing" not in done.stderr


def test_two_that_disagree_are_refused(tmp_path):
    names = names_of(lambda i, k, r: f"GR_{k:03}_{i:03}.tif")
    fill(tmp_path / "v", names)
    for path in "v", "v/GR_*.tif":
        said = fails(3, "info", path, says=["two numbers count", "GR_*_%03d.tif"], cwd=tmp_path)
    pattern = re.search(r"such as (\S+)", said).group(1)
    assert np.array_equal(order_read(tmp_path, f"v/{pattern}", tmp_path), 100 + np.arange(N))
    first = np.argsort(names_of(lambda i, k, r: k))
    assert np.array_equal(order_read(tmp_path, "v/GR_%03d_*.tif", tmp_path), 100 + first)
    fails(2, "info", "v/*_%03d*.tif", says=["not both"], cwd=tmp_path)


def test_none_that_counts_is_refused(tmp_path):
    fill(tmp_path / "v", names_of(lambda i, k, r: f"s_{r}_{r * 7919 % 1000003}.tif"))
    fails(3, "fbp", "v", "-o", "v.npy", "--angles", "0:180", says=["none counts up"], cwd=tmp_path)


@pytest.mark.parametrize("stray", ["S_180deg.tif", "S_0041 copy.tif", "S_0041(1).tif", "S_0041_180.tif"])
def test_strays_are_refused(tmp_path, stray):
    """Patterns get the check that folders have."""
    fill(tmp_path / "v", [f"S_{i:04}.tif" for i in range(N)])
    tifffile.imwrite(tmp_path / "v" / stray, np.full((3, 8), 9, np.uint16))
    for path in "v", "v/S_*.tif":
        fails(3, "fbp", path, "-o", "v.npy", "--angles", "0:180", says=["more than one series", stray], cwd=tmp_path)
    assert np.array_equal(order_read(tmp_path, "v/S_%04d.tif", tmp_path), 100 + np.arange(N))


def test_one_number_twice(tmp_path):
    fill(tmp_path / "v", ["p_1.tif", "p_01.tif"])
    fails(3, "info", "v", says=["same number 1"], cwd=tmp_path)
    fill(tmp_path / "w", ["p_1.tif", "p_01.tif", "p_2.tif"])
    fails(3, "info", "w/p_%d.tif", says=["same number 1"], cwd=tmp_path)


def test_holes_in_a_number_among_others(tmp_path):
    names = names_of(lambda i, k, r: f"GR_{k * 4.5:06.2f}_{i:04}.tif")
    fill(tmp_path / "v", names)
    (tmp_path / "v" / names[7]).unlink()
    assert any("number 7 is missing" in p and "[file-missing]" in p for p in qb_json("info", "v", cwd=tmp_path)["problems"])
    fails(3, "info", "v/GR_*_%04d.tif", says=["number 7 is missing"], cwd=tmp_path)


def test_a_numbered_pattern_takes_its_negative_numbers(tmp_path):
    fill(tmp_path / "v", [f"proj_{-90 + 4 * i}.tif" for i in range(N)])
    assert np.array_equal(order_read(tmp_path, "v/proj_%d.tif", tmp_path), 100 + np.arange(N))


def test_flats_and_darks_are_told(tmp_path):
    fill(tmp_path / "v", [f"p_{i}.tif" for i in range(N)])
    fill(tmp_path / "f", [f"flat_{i}.tif" for i in range(3)])
    done = qb("info", "v", "--angles", "0:180", "--flats", "f", "--darks", "f/flat_*.tif", cwd=tmp_path)
    assert "--flats f: 3 files, flat_0.tif to flat_2.tif" in done.stderr and "--darks f/flat_*.tif: 3 files" in done.stderr


def test_two_spellings_of_the_ending(tmp_path):
    """A folder takes both; a pattern takes what it says, and the holes are told."""
    fill(tmp_path / "v", [f"p_{i:03}.{'TIF' if i % 7 == 3 else 'tif'}" for i in range(N)])
    assert np.array_equal(order_read(tmp_path, "v", tmp_path), 100 + np.arange(N))
    assert any("number 3 is missing" in problem for problem in qb_json("info", tmp_path / "v" / "p_*.tif")["problems"])
