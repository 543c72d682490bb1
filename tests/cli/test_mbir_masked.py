# SPDX-License-Identifier: MIT
"""qb mbir of data of which some was not measured: it weighs nothing, whoever descends; what there was of it is told; nothing at
all of a slice is refused. Data that are no line integrals: what overflows is named, and zeros do not come without a word."""
import json
import re
import subprocess

import numpy as np
import pytest

from qbtest import MPIRUN, NO_RANKS, PATIENCE, QB, RANKS_ENV, devices, fails, few, instead, qb, qb_json, write_scan
from test_mbirct import write_scan as write_mbirct
from test_resume import killed

VIEWS, ROWS, COLUMNS = 60, 4, 48
LINES = ["--keep-all-views", "--quantity", "line_integral", "--angles", "0:180", "--pixel-size", "1", "--center", (COLUMNS - 1) / 2]
SIGMAS = ["--sigma-x", "0.002", "--sigma-y", "0.03"]
APART = ["--neighbours", "1,0.7,0"]
WATER = 0.02


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A head whose slices differ, and what of it is not there: a third of the views, a column of a slice, single values."""
    folder = tmp_path_factory.mktemp("lost")
    qb("simulate", "shepp-logan", "-o", folder / "s.h5", "--views", VIEWS, "--detector", f"{COLUMNS},{ROWS}", "--pixel-size", 1,
       "--photons", 50000, "--truth", folder / "truth.npy")
    counts, flat, dark = (read_of(folder / "s.h5", name) for name in ("data", "data_white", "data_dark"))
    full = -np.log(np.maximum((counts - dark.mean(0)) / (flat.mean(0) - dark.mean(0)), 1e-6))
    rng = np.random.default_rng(20261123)
    gone = rng.random(full.shape) < 0.02
    gone[rng.choice(VIEWS, 20, replace=False)] = True
    gone[:, 2, 20:22] = True
    lost = np.where(gone, np.where(rng.random(full.shape) < 0.1, -np.inf, np.nan), full)
    for name, values in (("full", full), ("lost", lost), ("weights", ~gone)):
        np.save(folder / f"{name}.npy", values.astype(np.float32))
    return folder, gone


def read_of(path, name):
    import h5py
    with h5py.File(path) as f:
        return f[f"exchange/{name}"][:].astype(float)


def hounsfield(a, b):
    return 1000 / WATER * np.sqrt(np.square(a.astype(float) - b).mean())


WAYS = {"joined": [], "one by one": APART, "in vectors": [*APART, "--matrix", "floats"], "coarse": ["--coarse", 1],
        "transmission": ["--weights", "transmission"], "emission": ["--weights", "emission", *APART]}
DEVICES = {"tiles": [], "local": [*APART, "--kernel", "icd_supervoxel.local"], "global": [*APART, "--kernel", "icd_supervoxel.global"],
           "tiles, apart": [*APART, "--kernel", "icd_supervoxel.tiles"], "transmission, tiles": ["--weights", "transmission"],
           "root, local": [*APART, "--weights", "transmission_root", "--kernel", "icd_supervoxel.local"]}


def image_of(path, out, *more):
    report = qb_json("mbir", path, *instead([*LINES, *SIGMAS], *more), "-o", out)
    return np.load(out), report


def weights_by_hand(folder, rule):
    """Of the data as they were: 0 where nothing is there, else by the rule."""
    full, some = np.load(folder / "full.npy"), np.load(folder / "weights.npy")
    made = {"transmission": np.exp(-full), "transmission_root": np.exp(-full / 2), "emission": 1 / (np.abs(full) + 0.1)}.get(rule, 1)
    return (some * made).astype(np.float32)


def check(data, tmp_path, how, stop="0.01", most=0.5):
    """Begun with nothing, where little changes any more: what weights of zero come to."""
    folder, gone = data
    still = ["--start", "0", "--stop", stop, "--equits", 60]
    rule = how[how.index("--weights") + 1] if "--weights" in how else None
    rest = [word for word in how if word not in ("--weights", rule)]
    np.save(tmp_path / "w.npy", weights_by_hand(folder, rule))
    got, report = image_of(folder / "lost.npy", tmp_path / "a.npy", *how, *still)
    want, _ = image_of(folder / "full.npy", tmp_path / "b.npy", *rest, *still, "--weights", tmp_path / "w.npy")
    assert hounsfield(got, want) < most
    slab, = report["convergence"]["slabs"]
    assert slab["not_measured"] == gone.sum() and slab["views_without"] == 20
    assert all(b <= a * 1.0001 for a, b in zip(slab["cost"], slab["cost"][1:]))
    given, _ = image_of(folder / "lost.npy", tmp_path / "e.npy", *rest, *still, "--weights", tmp_path / "w.npy")
    assert hounsfield(given, want) < most


@pytest.mark.parametrize("way", WAYS)
def test_what_was_not_measured_weighs_nothing(data, tmp_path, way):
    check(data, tmp_path, WAYS[way])
    folder, _ = data
    lost, full = (image_of(folder / f"{name}.npy", tmp_path / "v.npy", *WAYS[way])[0] for name in ("lost", "full"))
    truth = np.load(folder / "truth.npy")
    assert hounsfield(lost, truth) < 1.7 * hounsfield(full, truth)


@pytest.mark.parametrize("way", few("tiles", "root, local", "global", others=["local", "tiles, apart", "transmission, tiles"]))
def test_nor_on_a_device(data, tmp_path, way):
    if not any(d["device"] == "opencl:0" for d in devices()):
        pytest.skip("there is no OpenCL device")
    check(data, tmp_path, ["--device", "opencl", *DEVICES[way]], stop="0.1", most=2)


@pytest.mark.parametrize("device, group", [("cpu", 16), ("opencl", 128)])
def test_slices_without_gaps_keep_their_bits(data, tmp_path, device, group):
    """Their slab has weights then, of which theirs are 1: those that descend beside a gap, in a group, alone differ."""
    if not any(d["device"].startswith(device) for d in [{"device": "cpu"}, *devices()]):
        pytest.skip("there is no OpenCL device")
    folder, _ = data
    lines = np.tile(np.load(folder / "full.npy")[::4, :1], (1, group + 1, 1))
    np.save(tmp_path / "full.npy", lines)
    lines[7, group] = np.nan
    np.save(tmp_path / "lost.npy", lines)
    how = [*APART, "--device", device, "--threads", 2, "--equits", 1, *(["--kernel", "icd_supervoxel.tiles"] if device == "opencl" else [])]
    full, lost = (image_of(tmp_path / f"{name}.npy", tmp_path / "v.npy", *how)[0] for name in ("full", "lost"))
    assert (full[:group] == lost[:group]).all() and (full[group] != lost[group]).any()


def test_the_start_makes_up_for_views(data, tmp_path):
    """Filtered back-projection fills gaps within rows, and other views count for those that have none."""
    folder, _ = data
    lines = np.load(folder / "full.npy")
    lines[1::2] = np.nan
    lines[::2, :, 10] = np.nan
    np.save(tmp_path / "half.npy", lines)
    for more in [], APART:
        images = [image_of(path, tmp_path / "v.npy", *more, "--sigma-y", 1e6, "--sigma-x", 1e6, "--p", 2, "--equits", 1)[0]
                  for path in (folder / "full.npy", tmp_path / "half.npy")]  # what hardly moves from there
        middle = [image[:, 14:34, 14:34].mean() for image in images]
        assert middle[1] == pytest.approx(middle[0], rel=0.05)


def test_coarser_voxels_know_of_it(data, tmp_path):
    """What they begin a descent with is what weights of zero begin it with."""
    folder, _ = data
    how = ["--coarse", 1, "--start", 0, "--equits", 1]
    got, want = (image_of(folder / name, tmp_path / "v.npy", *how, *more)[0]
                 for name, more in (("lost.npy", []), ("full.npy", ["--weights", folder / "weights.npy"])))
    assert hounsfield(got, want) < 2


def test_as_sv_mbirct_has_it(data, tmp_path):
    """Slices as svmbir writes them, NaN among their numbers."""
    folder, gone = data
    scan = write_mbirct(tmp_path, np.load(folder / "lost.npy"), DeltaChannel=1, DeltaSlice=1, CenterOffset=0)
    report = qb_json("mbir", scan, "--keep-all-views", *LINES[-2:], *SIGMAS, "--equits", 4, "-o", tmp_path / "a.npy")
    assert report["convergence"]["slabs"][0]["not_measured"] == gone.sum()
    want, _ = image_of(folder / "lost.npy", tmp_path / "b.npy", "--equits", 4)
    assert hounsfield(np.load(tmp_path / "a.npy"), want) < 0.1


def test_sigmas_are_told_from_what_was_measured(data, tmp_path):
    folder, gone = data
    told = {}
    for name in ("full", "lost"):
        report = qb_json("mbir", folder / f"{name}.npy", *LINES, "-o", tmp_path / "v.npy", "--equits", 1)
        told[name] = report["convergence"]
        warned = [w for w in report["warnings"] if "not measured" in w]
        assert len(warned) == (name == "lost") and all(f"{gone.sum()} values" in w for w in warned)
    for sigma in ("sigma_x", "sigma_y"):
        assert told["lost"][sigma] == pytest.approx(told["full"][sigma], rel=0.03) and told["lost"][sigma] != told["full"][sigma]
    said = qb("mbir", folder / "lost.npy", *LINES, "-o", tmp_path / "v.npy", "--equits", 1).stderr
    assert re.search(rf"slices 0 to 3: {gone.sum()} of {gone.size} line integrals .* weigh nothing; 20 of 60 views have none", said)


def test_dead_pixels_of_flats(tmp_path):
    """As line integrals that are none."""
    scan, out = tmp_path / "s.h5", tmp_path / "v.npy"
    qb("simulate", "disc", "-o", scan, "--views", 40, "--detector", "48,2", "--pixel-size", 1, "--photons", 20000)
    counts, flats, darks = (read_of(scan, name) for name in ("data", "data_white", "data_dark"))
    flats[:, 1, 20:24] = 0
    write_scan(tmp_path / "dead.h5", counts.astype(np.float32), np.arange(40) * 4.5, flats.astype(np.float32), darks.astype(np.float32), pixel=1)
    how = [*APART, *SIGMAS, "--center", 23.5, "--start", 0, "--equits", 30]
    report = qb_json("mbir", tmp_path / "dead.h5", "-o", out, *how)
    assert report["preparation"]["dead"] == 160 and report["convergence"]["slabs"][0]["not_measured"] == 160
    assert any("4 of 96 flat pixels are dead: they count as not measured" in w for w in report["warnings"])
    assert report["convergence"]["slabs"][0]["views_without"] == 0
    weights = np.ones(counts.shape, np.float32)
    weights[:, 1, 20:24] = 0
    np.save(tmp_path / "w.npy", weights)
    qb("mbir", scan, "-o", tmp_path / "w_out.npy", *how, "--weights", tmp_path / "w.npy")
    assert hounsfield(np.load(out), np.load(tmp_path / "w_out.npy")) < 0.5


def test_a_fan(tmp_path):
    circle = ["--sod", 300, "--sdd", 500]
    scan, out = tmp_path / "s.h5", tmp_path / "v.npy"
    qb("simulate", "shepp-logan", "--geometry", "cone", *circle, "--pixel-size", 1.4, "--detector", "96,1", "--views", 60, "-o", scan)
    share = read_of(scan, "data")
    share[5:50:3] = np.nan
    write_scan(tmp_path / "lost.h5", share.astype(np.float32), np.arange(60) * 6.0, pixel=1.4, quantity="transmission")
    weights = np.ones(share.shape, np.float32)
    weights[5:50:3] = 0
    np.save(tmp_path / "w.npy", weights)
    how = [*circle, "--keep-all-views", *SIGMAS, "--stop", "0.01", "--equits", 100]
    report = qb_json("mbir", tmp_path / "lost.h5", "-o", out, *how)
    assert report["convergence"]["slabs"][0]["views_without"] == 15
    qb("mbir", scan, "-o", tmp_path / "want.npy", *how, "--weights", tmp_path / "w.npy")
    assert hounsfield(np.load(out), np.load(tmp_path / "want.npy")) < 2
    qb("mbir", tmp_path / "lost.h5", "-o", out, *how[:-4], "--equits", 1)  # already the start is of use
    assert hounsfield(np.load(out), np.load(tmp_path / "want.npy")) < 60


def test_nothing_of_a_slice(data, tmp_path):
    folder, _ = data
    lines, out = np.load(folder / "full.npy"), tmp_path / "v.npy"
    for rows, more, says in ([3], [], ["of 1 slice", "the first of them 3", "60 x 48", "--slices"]), \
                            ([2, 3], APART, ["of 2 slices", "the first of them 2"]), (range(1, 4), ["--slices", "1:3"], ["none of its"]):
        gone = lines.copy()
        gone[:, list(rows)] = np.nan
        np.save(tmp_path / "gone.npy", gone)
        fails(3, "mbir", tmp_path / "gone.npy", *LINES, "-o", out, *more, says=["gone.npy", *says])
        assert not out.exists()
    qb("mbir", tmp_path / "gone.npy", *LINES, "-o", out, "--slices", "0:1", "--equits", 1)


@pytest.mark.parametrize("device", ["cpu", "opencl"])
def test_numbers_that_overflow(data, tmp_path, device):
    if not any(d["device"].startswith(device) for d in [{"device": "cpu"}, *devices()]):
        pytest.skip("there is no OpenCL device")
    folder, _ = data
    lines, base = np.load(folder / "full.npy"), [tmp_path / "odd.npy", *LINES, "-o", tmp_path / "v.npy", "--device", device, "--slices", "1:4"]
    lines[5, 2, 40] = 1e30  # beyond what an object makes: not measured
    np.save(tmp_path / "odd.npy", lines)
    assert "1 of 8640 line integrals" in qb("mbir", *base, "--equits", 1).stderr
    lines[5, 2, 40] = -95
    np.save(tmp_path / "odd.npy", lines)
    fails(3, "mbir", *base, "--weights", "transmission", says=["weight of view 5, slice 1, column 40", "-95", "NaN"])
    qb("mbir", *base, "--equits", 1)


def test_data_that_are_negative(data, tmp_path):
    folder, _ = data
    lines, base = np.load(folder / "full.npy"), ["mbir", tmp_path / "odd.npy", *LINES, "-o", tmp_path / "v.npy", "--equits", 2]

    def warned(odd, *more):
        np.save(tmp_path / "odd.npy", odd)
        return [w for w in qb_json(*base, *more)["warnings"] if "negative" in w]
    text, = warned(-lines)
    share = 100 * (lines > 0).mean()
    assert float(text.split(" %")[0]) == pytest.approx(share, rel=0.02) and float(text.split("mean is ")[1].split(":")[0]) == pytest.approx(-lines.mean(), rel=0.02)
    assert "--quantity" in text and not np.load(tmp_path / "v.npy").any()
    assert len(warned(-lines, *APART)) == 1
    assert not warned(-lines, "--no-positivity") and np.load(tmp_path / "v.npy").min() < -0.01
    assert not warned(lines) and not warned(np.random.default_rng(3).normal(0, 0.1, lines.shape).astype(np.float32))  # of air alone


def test_no_room_for_weights(data, tmp_path):
    """The plan of unweighted data counts none; where some are needed and there is no room, it says so."""
    folder, _ = data
    how = ["mbir", *LINES, "-o", tmp_path / "v.npy", "--equits", 1, "--matrix", "fly"]
    for name in ("full", "lost"):  # so many slices that their weights take 4 MiB: what a process holds before differs by 100 KiB
        np.save(tmp_path / f"{name}.npy", np.repeat(np.load(folder / f"{name}.npy"), 96, axis=1))
    need = qb_json(*how[:1], tmp_path / "lost.npy", *how[1:], "--dry-run")["memory_bytes"]
    cap = ["--max-ram", f"{need // 1024 + 1024}K"]
    qb(*how[:1], tmp_path / "full.npy", *how[1:], *cap)
    fails(1, *how[:1], tmp_path / "lost.npy", *how[1:], *cap, says=["not measured", "weights that say so", "--max-ram"])
    qb(*how[:1], tmp_path / "lost.npy", *how[1:], "--max-ram", f"{2 * need // 1024}K")


def test_going_on_and_another_mask(data, tmp_path):
    folder, _ = data
    wide = np.tile(np.load(folder / "lost.npy"), (1, 8, 1))
    np.save(tmp_path / "lost.npy", wide)
    whole, out, kept = tmp_path / "whole.npy", tmp_path / "out.npy", tmp_path / "out.npy.checkpoint"
    how = ["--stop", 0, "--equits", 20, "--checkpoint", "0.001", "--threads", 1]
    job = [*LINES, *SIGMAS, *how]
    image_of(tmp_path / "lost.npy", whole, *how)
    for _ in range(12):
        if killed(["mbir", tmp_path / "lost.npy", *job, "-o", out], kept, 0):
            break
        out.unlink()
    wide[3, 1, 7] = 0.3 if np.isnan(wide[3, 1, 7]) else np.nan
    np.save(tmp_path / "other.npy", wide)
    fails(2, "mbir", tmp_path / "other.npy", *job, "-o", out, "--resume", says=["another job"])
    report = qb_json("mbir", tmp_path / "lost.npy", *job, "-o", out, "--resume")
    assert report["convergence"]["resumed_at_equits"] > 0 and out.read_bytes() == whole.read_bytes()


@pytest.mark.skipif(bool(NO_RANKS), reason=str(NO_RANKS))
@pytest.mark.parametrize("neighbours", ["1,0.7,0", "1,0.7,1"])
def test_ranks(data, tmp_path, neighbours):
    """A rank that has no gaps descends beside those that have; one that cannot takes all along."""
    folder, _ = data
    full, lost = (np.tile(np.load(folder / f"{name}.npy"), (1, 9, 1)) for name in ("full", "lost"))
    lines = np.where(np.arange(lost.shape[1])[:, None] < 12, full, lost)
    np.save(tmp_path / "lost.npy", lines)
    job = ["mbir", tmp_path / "lost.npy", *LINES, "--neighbours", neighbours, "--snr-db", 25]

    def ranks(*more, code=0):
        done = subprocess.run([MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "3", QB, *map(str, [*job, *more])], capture_output=True,
                              text=True, timeout=PATIENCE, env=RANKS_ENV)
        assert done.returncode == code, done.stderr
        return done
    alone = qb_json(*job, "-o", tmp_path / "alone.npy")
    report = json.loads(ranks("-o", tmp_path / "out.npy", "--json").stdout)
    out, want = np.load(tmp_path / "out.npy"), np.load(tmp_path / "alone.npy")
    assert (out == want).all() if neighbours.endswith("0") else hounsfield(out, want) < 2
    # How the image changes from view to view a rank measures in its own rows.
    said = [[text for text in run["warnings"] if "[rows-shift]" not in text and "[views-jump]" not in text] for run in (report, alone)]
    assert said[0] == said[1]
    slabs = [slab for share in [report, *report["other_ranks"]] for slab in share["convergence"]["slabs"]]
    assert sum(slab.get("not_measured", 0) for slab in slabs) == (~np.isfinite(lines)).sum()
    lines[:, 20] = np.nan
    np.save(tmp_path / "lost.npy", lines)
    assert "of 1 slice, the first of them 20" in ranks("-o", tmp_path / "no.npy", code=3).stderr
