# SPDX-License-Identifier: MIT
"""The lines of Python in docs/coming-from.md, against the programs they speak of."""
import json
import re

import astra
import itk
import numpy as np
import pytest

from qbtest import ROOT, qb, read_h5, write_scan

rtk = itk.RTK
PAGE = (ROOT / "docs" / "coming-from.md").read_text()


def lines(program, **names):
    """What the Python of a program's section makes of `names`; lines that want others are left out."""
    section = re.search(rf"^## {program}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S).group(1)
    names["np"] = np
    done = 0
    for line in "".join(re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)).splitlines():
        try:
            exec(line, names)
            done += 1
        except NameError:
            continue
    assert done
    return names


def blob(n, at, width):
    """A ball with a soft edge on the grid [z][y][x], `at` = (x, y, z) in voxels from the middle."""
    z, y, x = np.ogrid[:n[2], :n[1], :n[0]]
    r2 = sum((a - (m - 1) / 2 - c) ** 2 for a, m, c in zip((x, y, z), n, at))
    return np.exp(-r2 / (2 * width ** 2)).astype(np.float32)



@pytest.mark.parametrize("shift", [0.0, 3.0, -5.5])
def test_astra_in_two_dimensions(tmp_path, shift):
    """A sinogram with the axis beside the middle, made by ASTRA of its own picture, comes back as that picture."""
    n, theta = 96, np.arange(150) * np.pi / 150
    truth = blob((n, n, 1), (14, 8, 0), 4)[0] + 0.5 * blob((n, n, 1), (-20, -11, 0), 3)[0]
    theirs = astra.create_vol_geom(n, n)
    columns = astra.geom_postalignment(astra.create_proj_geom("parallel", 1.0, n, theta), shift)
    projector = astra.create_projector("linear" if shift == 0 else "line", columns, theirs)
    _, sinogram = astra.create_sino(truth[::-1], projector)
    astra.clear()
    got = lines("ASTRA", sinogram=sinogram, theta=theta, shift=shift, reconstruction=truth[::-1])
    assert np.array_equal(got["ours"], truth)
    write_scan(tmp_path / "s.h5", got["lines"].astype(np.float32), np.rad2deg(theta), quantity="line_integral")
    qb("fbp", tmp_path / "s.h5", "--center", got["center"], "-o", tmp_path / "v.h5")
    ours = read_h5(tmp_path / "v.h5")[0]
    assert np.linalg.norm(ours - truth) < 0.03 * np.linalg.norm(truth)
    assert np.linalg.norm(np.roll(ours, 1, 1) - truth) > 0.15 * np.linalg.norm(truth)  # a pixel beside


def test_astra_cone(tmp_path):
    """The vectors of a circle with a shifted detector are those of our geometry file."""
    columns, rows, theta = 50, 40, np.arange(7) * 0.4
    circle = astra.create_proj_geom("cone", 1.5, 1.5, rows, columns, theta, 200.0, 100.0)
    vectors = astra.geom_2vec(astra.geom_postalignment(circle, (3.0, 0.0)))["Vectors"]
    qb("simulate", "ball", "--geometry", "cone", "--sod", 200, "--sdd", 300, "--pixel-size", 1.5, "--detector",
       f"{columns},{rows}", "--views", 7, "--angles", f"0:{np.rad2deg(2.8)}", "--detector-offset", "3,0px",
       "-o", tmp_path / "s.h5", "--geometry-out", tmp_path / "g.json")
    for view, (s, d, u, v) in zip(json.loads((tmp_path / "g.json").read_text())["views"], vectors.reshape(-1, 4, 3)):
        first = lines("ASTRA", d=d, u=u, v=v, columns=columns, rows=rows)["first"]
        for name, theirs in {"source": s, "detector": first, "u": u, "v": v}.items():
            assert np.allclose(view[name], theirs, atol=1e-9), name


def test_rtk_volume(tmp_path):
    """A volume and its projections by RTK: laid as the line says, ours are the same."""
    image = itk.Image[itk.F, 3]
    n, height, columns, rows, angles = 20, 14, 64, 40, 7 + 60.0 * np.arange(6)
    size = n, height, n  # their y is the axis
    volume = blob(size, (3, -1, -2), 1.5) + 0.5 * blob(size, (-2, 1.5, 3), 1.2)
    theirs = itk.image_from_array(volume)
    theirs.SetOrigin([-(n - 1) / 2, -(height - 1) / 2, -(n - 1) / 2])
    geometry = rtk.ThreeDCircularProjectionGeometry.New()
    for angle in angles:
        geometry.AddProjection(300.0, 450.0, float(angle))
    stack = rtk.ConstantImageSource[image].New()
    stack.SetOrigin([-(columns - 1) / 2 * 1.5, -(rows - 1) / 2 * 1.5, 0.0])
    stack.SetSpacing([1.5, 1.5, 1.0])
    stack.SetSize([columns, rows, len(angles)])
    joseph = rtk.JosephForwardProjectionImageFilter[image, image].New()
    joseph.SetInput(0, stack.GetOutput())
    joseph.SetInput(1, theirs)
    joseph.SetGeometry(geometry)
    joseph.Update()
    expected = itk.array_from_image(joseph.GetOutput())
    np.save(tmp_path / "v.npy", np.ascontiguousarray(lines("RTK", volume=volume)["ours"]))
    qb("project", tmp_path / "v.npy", "--voxel", 1, "--sod", 300, "--sdd", 450, "--pixel-size", 1.5, "--detector",
       f"{columns},{rows}", "--angles", "7:367:6", "-o", tmp_path / "p.npy")
    ours = np.load(tmp_path / "p.npy")
    assert np.linalg.norm(ours - expected) < 2e-3 * np.linalg.norm(expected)
