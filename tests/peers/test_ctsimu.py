# SPDX-License-Identifier: MIT
"""BAM's own toolbox places source and detector of random scenarios as we do: deviations about any axis and pivot, drifts, what the reconstruction does not know."""
import json
import random

import numpy as np
import pytest
from ctsimu.scenario import Scenario

from qbtest import qb

VIEWS = 7


def amount(dice, low, high, unit):
    told = {"value": dice.uniform(low, high), "unit": unit}
    if dice.random() < 0.5:
        told["drifts"] = [{"value": [dice.uniform(-0.3, 0.3) for _ in range(dice.choice((1, 2, 3, 7)))], "unit": unit,
                           "known_to_reconstruction": dice.random() < 0.7} for _ in range(dice.choice((1, 2)))]
    return told


def vector(numbers, names="xyz"):
    return {name: {"value": value, "unit": "mm"} for name, value in zip(names, numbers)}


def deviation(dice):
    """Small enough that the detector sees the object."""
    turns = dice.random() < 0.6
    axis = dice.choice("xyzuvw") if dice.random() < 0.6 else vector([dice.uniform(-1, 1) for _ in range(3)], dice.choice(("xyz", "uvw")))
    told = {"type": "rotation" if turns else "translation", "axis": axis, "amount": amount(dice, -1, 1, "deg" if turns else "mm"), "known_to_reconstruction": dice.random() < 0.8}
    if turns and dice.random() < 0.5:
        told["pivot"] = vector([dice.uniform(-20, 20) for _ in range(3)], "uvw") if dice.random() < 0.5 else vector([dice.uniform(-20, 20), dice.uniform(100, 140), dice.uniform(-20, 20)])
    return told


def scenario(dice):
    def part(y, u, w, **more):
        center = vector((0, y, 0))
        for item in center.values():
            if dice.random() < 0.4:
                item["drifts"] = [{"value": [dice.uniform(-2, 2) for _ in range(dice.choice((1, 2, 4)))], "unit": "mm"}]
        return {"center": center, "vector_u": vector(u), "vector_w": vector(w), "deviations": [deviation(dice) for _ in range(dice.choice((0, 1, 2, 3)))], **more}
    return {"file": {"file_type": "CTSimU Scenario", "file_format_version": {"major": 1, "minor": 2}},
            "geometry": {"source": part(0, (1, 0, 0), (0, 1, 0), type="cone"), "stage": part(120, (1, 0, 0), (0, 0, 1)), "detector": part(400, (1, 0, 0), (0, -1, 0))},
            "detector": {"columns": {"value": 64}, "rows": {"value": 40}, "pixel_pitch": {"u": {"value": 0.5, "unit": "mm"}, "v": {"value": 0.4, "unit": "mm"}}},
            "acquisition": {"start_angle": {"value": dice.uniform(-50, 50), "unit": "deg"}, "stop_angle": {"value": dice.uniform(90, 400), "unit": "deg"},
                            "direction": dice.choice(("CW", "CCW")), "number_of_projections": {"value": VIEWS}, "include_final_angle": dice.random() < 0.5},
            "source": {"model": "any"}, "materials": [], "samples": []}  # without these the toolbox leaves out the deviations of the source, or fails


def of_toolbox(told, frame):
    told.set_frame(frame, reconstruction=True)
    g = told.current_geometry()
    source, middle, stage, u, v = (np.array([p.x(), p.y(), p.z()]) for p in (g.source.center, g.detector.center, g.stage.center, g.detector.u, g.detector.v))
    turn = np.array([[p.x(), p.y(), p.z()] for p in (g.stage.u, g.stage.v, g.stage.w)])
    u, v = u * g.detector.pitch_u, v * g.detector.pitch_v
    first = middle - (g.detector.pixels_u - 1) / 2 * u - (g.detector.pixels_v - 1) / 2 * v
    return [turn @ way for way in (source - stage, first - stage, u, v)]


@pytest.mark.parametrize("seed", range(12))
def test_random_scenarios(tmp_path, seed):
    (tmp_path / "s.json").write_text(json.dumps(scenario(random.Random(seed))))
    qb("simulate", "ball", "-g", "s.json", "--geometry-out", "g.json", "-o", "t.sim", cwd=tmp_path)
    views = json.loads((tmp_path / "g.json").read_text())["views"]
    told = Scenario(str(tmp_path / "s.json"))
    assert len(views) == VIEWS
    for frame, view in enumerate(views):
        assert np.allclose([view[name] for name in ("source", "detector", "u", "v")], of_toolbox(told, frame), atol=1e-9)
