# SPDX-License-Identifier: MIT
"""Scenarios of CTSimU as geometry files: placement, deviations, drifts, binning."""
import copy
import json

import numpy as np
import pytest

from qbtest import fails, qb

VIEWS, ROWS, COLUMNS, PITCH, SOD, SDD = 60, 40, 64, 0.5, 120, 400


def vector(x, y, z, unit="mm"):
    return {name: {"value": value, "unit": unit} for name, value in zip("xyz", (x, y, z))}


SCENARIO = {
    "file": {"file_type": "CTSimU Scenario", "file_format_version": {"major": 1, "minor": 2}},
    "geometry": {"source": {"type": "cone", "center": vector(0, 0, 0), "vector_u": vector(1, 0, 0), "vector_w": vector(0, 2, 0)},
                 "stage": {"center": vector(0, SOD, 0), "vector_u": vector(1, 0, 0), "vector_w": vector(0, 0, 1)},
                 "detector": {"center": vector(0, SDD / 10, 0, "cm"), "vector_u": vector(1, 0, 0), "vector_w": vector(0, -1, 0), "deviations": []}},
    "detector": {"columns": {"value": COLUMNS}, "rows": {"value": ROWS}, "pixel_pitch": {"u": {"value": PITCH, "unit": "mm"}, "v": {"value": 1000 * PITCH, "unit": "um"}}},
    "acquisition": {"start_angle": {"value": 0, "unit": "deg"}, "stop_angle": {"value": 360, "unit": "deg"}, "direction": "CW",
                    "number_of_projections": {"value": VIEWS}, "include_final_angle": False, "pixel_binning": {"u": 1, "v": 1}},
}


def read(folder, scenario):
    """The views that are read from it."""
    (folder / "s.json").write_text(json.dumps(scenario))
    qb("simulate", "ball", "-g", "s.json", "--geometry-out", "g.json", "-o", "t.sim", cwd=folder)
    return json.loads((folder / "g.json").read_text())["views"]


def test_the_same_volume(tmp_path):
    """An object that is no mirror image of itself, by the scenario and by the options."""
    options = ["--sod", SOD, "--sdd", SDD, "--pixel-size", PITCH, "--angles", "0:360"]
    qb("simulate", "spheres", "--geometry", "cone", "--detector", f"{COLUMNS},{ROWS}", "--views", VIEWS, *options, "--size", "40,40,24", "--truth", "truth.npy",
       "-o", "t.npy", cwd=tmp_path)
    (tmp_path / "s.json").write_text(json.dumps(SCENARIO))
    qb("fdk", "t.npy", "--quantity", "transmission", "-g", "s.json", "--like", "truth.npy", "-o", "v.npy", cwd=tmp_path)
    qb("fdk", "t.npy", "--quantity", "transmission", *options, "--like", "truth.npy", "-o", "w.npy", cwd=tmp_path)
    v, w = (np.load(tmp_path / name) for name in ("v.npy", "w.npy"))
    assert np.linalg.norm(v - w) < 1e-4 * np.linalg.norm(w)


def test_deviations_and_drifts(tmp_path):
    """In the stage's own frame, as formulas have it."""
    scenario = copy.deepcopy(SCENARIO)
    g = scenario["geometry"]
    g["source"]["center"]["z"]["drifts"] = [{"value": [0, 2, 3], "unit": "mm"}, {"value": 0.1, "unit": "cm"}, {"value": 7, "unit": "mm", "known_to_reconstruction": False}]
    g["detector"]["deviations"] = [{"type": "rotation", "axis": "w", "amount": {"value": 3, "unit": "deg"}},
                                   {"type": "translation", "axis": {"x": {"value": 0}, "y": {"value": 0}, "z": {"value": 5}},
                                    "amount": {"value": 1, "unit": "mm", "drifts": {"value": [0, 4], "unit": "mm"}}},
                                   {"type": "rotation", "axis": "z", "amount": {"value": 30, "unit": "deg"}, "known_to_reconstruction": False}]
    g["stage"]["deviations"] = [{"type": "rotation", "axis": "x", "amount": {"value": 2, "unit": "deg"}, "pivot": vector(0, 0, 0)}]
    scenario["acquisition"].update(direction="CCW", include_final_angle=True, start_angle={"value": 10, "unit": "deg"})

    def turn(axis, angle):
        k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k

    for i, view in enumerate(read(tmp_path, scenario)):
        part = i / (VIEWS - 1)
        lean = turn([1, 0, 0], np.radians(2))
        stage = lean @ turn([0, 0, 1], np.radians(10 + 350 * part)) @ np.eye(3)  # columns: u, v, w
        middle = lean @ [0, SOD, 0]
        source = np.array([0, 0, np.interp(part, [0, 0.5, 1], [0, 2, 3]) + 1])
        roll = turn([0, -1, 0], np.radians(3))
        u, v = roll @ [1, 0, 0], roll @ np.cross([0, -1, 0], [1, 0, 0])
        first = np.array([0, SDD, 1 + 4 * part]) - PITCH * ((COLUMNS - 1) / 2 * u + (ROWS - 1) / 2 * v)
        for name, want in (("source", stage.T @ (source - middle)), ("detector", stage.T @ (first - middle)), ("u", PITCH * stage.T @ u), ("v", PITCH * stage.T @ v)):
            assert np.allclose(view[name], want, atol=1e-6), (i, name)


def test_binning(tmp_path):
    scenario = copy.deepcopy(SCENARIO)
    scenario["acquisition"]["pixel_binning"] = {"u": 2, "v": 4}
    view = read(tmp_path, scenario)[0]
    assert np.allclose(view["u"], [2 * PITCH, 0, 0]) and np.allclose(view["v"], [0, 0, 4 * PITCH])


@pytest.mark.parametrize("path, value, words", [
    (["geometry", "source", "type"], "parallel", "'parallel'; cone is read"),
    (["geometry", "source", "center"], None, "a vector is missing"),
    (["geometry", "detector", "vector_u"], vector(0, 1, 0), "not at right angles"),
    (["geometry", "detector", "vector_u"], vector(0, 0, 0), "no direction"),
    (["geometry", "stage", "deviation"], {}, "before 1.0"),
    (["geometry", "detector", "deviations"], [{"type": "bend", "axis": "x", "amount": {"value": 1}}], "neither translation nor rotation"),
    (["geometry", "detector", "deviations"], [{"type": "rotation", "axis": "q", "amount": {"value": 1}}], "none of x y z u v w"),
    (["geometry", "detector", "deviations"], [{"type": "rotation", "axis": "x", "amount": {"value": 1, "unit": "ell"}}], "unit 'ell'"),
    (["geometry", "detector", "deviations"], [{"type": "rotation", "axis": "x", "amount": {"value": 1, "drifts": [{"file": "d.csv"}]}}], "in a file of its own"),
    (["acquisition", "number_of_projections"], 0, "'number_of_projections' is 0"),
    (["detector", "pixel_pitch", "u"], {"value": -1}, "'pixel_pitch' is -1"),
    (["acquisition", "direction"], "left", "direction is 'left': correct it to CW or CCW"),
    (["acquisition", "include_final_angle"], "true", "neither true nor false"),
    (["acquisition", "stop_angle"], {"value": -90, "unit": "deg"}, "stop_angle lies 90 degrees below its start_angle"),
    (["file", "file_format_version"], {"major": 2, "minor": 0}, "file_format_version is 2"),
    (["file", "file_format_version"], {"major": "2", "minor": 0}, "file_format_version is 2"),
    (["file", "file_format_version"], "2.1", "file_format_version is 2.1"),
    (["file", "file_format_version"], "new", "file_format_version 'new' is no number: correct it to 1"),
    (["detector", "type"], "curved", "its detector is 'curved'; flat ones are read"),
    (["geometry", "detector", "deviations"], [{"type": "translation", "axis": "u", "amount": {"value": 1, "unit": "deg"}}], "'amount' has the unit 'deg': correct it to mm"),
    (["geometry", "detector", "deviations"], [{"type": "rotation", "axis": "u", "amount": {"value": 1, "unit": "mm"}}], "'amount' has the unit 'mm': correct it to deg or rad"),
    (["geometry", "source", "center", "x"], {"value": 1, "unit": "deg"}, "'x' has the unit 'deg': correct it to mm"), (["acquisition", "stop_angle"], {"value": 360, "unit": "mm"}, "'stop_angle' has the unit 'mm'"),
])
def test_refused(tmp_path, path, value, words):
    scenario = copy.deepcopy(SCENARIO)
    where = scenario
    for key in path[:-1]:
        where = where[key]
    where[path[-1]] = value
    (tmp_path / "s.json").write_text(json.dumps(scenario))
    fails(3, "simulate", "ball", "-g", "s.json", "-o", "t.sim", says=[words], cwd=tmp_path)
