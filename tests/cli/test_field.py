# SPDX-License-Identifier: MIT
"""What a scan cannot give is said: paths that are none for FDK, voxels that no view sees, every warning in the metadata."""
import json

import h5py
import numpy as np
import pytest

from qbtest import fails, qb, qb_json, read_h5, write_scan

CIRCLE = ["--geometry", "cone", "--sod", "200", "--sdd", "400", "--views", "60", "--detector", "48,32", "--pixel-size", "1"]


def told(path):
    with h5py.File(path) as f:
        return json.loads(f["/process/quickbeam/provenance"][()])


def helix(folder, pitch, lift=0):
    """A simulated circle, and the same scan stated with sources and detectors that rise, or are all lifted or lowered."""
    qb("simulate", "ball", "-o", "c.h5", *CIRCLE, cwd=folder)
    views = []
    for i in range(60):
        t, z = 2 * np.pi * i / 60, pitch * (i / 60 - 0.5)
        toward, u, v = np.array([-np.sin(t), np.cos(t), 0]), np.array([np.cos(t), np.sin(t), 0]), np.array([0, 0, 1.0])
        first = 200 * toward - 23.5 * u - 15.5 * v + [0, 0, z - lift]
        views.append({"source": list(-200 * toward + [0, 0, z + lift]), "detector": list(first), "u": list(u), "v": list(v)})
    (folder / "h.json").write_text(json.dumps({"quickbeam_geometry": 1, "units": "mm", "beam": "cone", "rows": 32,
                                               "columns": 48, "views": views}))


def test_a_helix_is_refused(tmp_path):
    helix(tmp_path, 20)
    report = qb_json("info", "-g", "h.json", cwd=tmp_path)
    sentence = next(p for p in report["problems"] if "FDK is made for circles" in p)
    fails(3, "fdk", "c.h5", "-g", "h.json", "-o", "v.h5", says=[sentence, "sirt, cgls", "--force"], cwd=tmp_path)
    assert not (tmp_path / "v.h5").exists()
    done = qb_json("fdk", "c.h5", "-g", "h.json", "-o", "v.h5", "--force", cwd=tmp_path)
    assert any(sentence in w for w in done["warnings"])
    assert any(sentence in w for w in told(tmp_path / "v.h5")["warnings"])
    plan = qb_json("plan", "fdk", "c.h5", "-g", "h.json", "-o", "v.h5", "--force", cwd=tmp_path)
    assert any(sentence in w for w in plan["warnings"])


def test_every_warning_is_in_the_result_and_in_the_metadata(tmp_path):
    """Of the scan, of the plan and of the run: what stderr shows as a warning."""
    data = np.random.default_rng(1).random((40, 3, 32)).astype(np.float32)
    data[3, 1, 5] = np.nan
    write_scan(tmp_path / "s.h5", data, np.arange(40) * 3.0, quantity="line_integral")  # a third is missing; no pixel size
    done = qb("fbp", "s.h5", "-o", "v.h5", "--center", "15.5", "--json", cwd=tmp_path)
    said = [line[len("warning: "):] for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert any("no pixel size" in w for w in said) and any("limited angle" in w for w in said)
    assert json.loads(done.stdout)["warnings"] == said
    assert told(tmp_path / "v.h5")["warnings"] == said
    assert qb_json("devices", cwd=tmp_path)["warnings"] == []


def test_nothing_to_warn_of_is_an_empty_list(tmp_path):
    qb("simulate", "disc", "-o", "s.h5", "--views", 60, "--detector", "32,2", "--pixel-size", "0.1", cwd=tmp_path)
    assert qb_json("fbp", "s.h5", "-o", "v.h5", "--center", "15.5", cwd=tmp_path)["warnings"] == []
    assert told(tmp_path / "v.h5")["warnings"] == []
