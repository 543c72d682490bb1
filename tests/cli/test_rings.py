# SPDX-License-Identifier: MIT
"""--rings: detector columns that answer otherwise than their flats say, in simulated scans that have them or not."""
import h5py
import numpy as np
import pytest

from qbtest import provenance_h5, qb, qb_json, read_h5, write_scan

PARALLEL = ["shepp-logan", "--views", "300", "--detector", "256,3", "--pixel-size", "0.1", "--seed", "3"]
CONE = ["spheres", "--geometry", "cone", "--sod", "200", "--sdd", "350", "--views", "160", "--detector", "128,64",
        "--pixel-size", "0.4", "--seed", "3"]
FBP = ["fbp", "--center", "127.5", "--accuracy", "high"]
FDK = ["fdk", "--sod", "200", "--sdd", "350", "--pixel-size", "0.4", "--accuracy", "high"]


def energy(volume):
    return (volume.astype(float) ** 2).sum()


def reconstruct(folder, verb, scan, *options):
    qb(verb[0], scan, "-o", "v.h5", *verb[1:], *options, cwd=folder)
    return read_h5(folder / "v.h5")


@pytest.mark.parametrize("method", ["sort", "wavelet"])
@pytest.mark.parametrize("scan,verb", [(PARALLEL, FBP), (CONE, FDK)], ids=["fbp", "fdk"])
def test_rings_go_and_the_object_stays(tmp_path, scan, verb, method):
    qb("simulate", *scan, "-o", "clean.h5", cwd=tmp_path)
    qb("simulate", *scan, "-o", "rings.h5", "--rings", "0.01", cwd=tmp_path)
    clean, rings = (reconstruct(tmp_path, verb, f"{name}.h5") for name in ("clean", "rings"))
    left = reconstruct(tmp_path, verb, "rings.h5", "--rings", method)
    print(f"{method}: {energy(left - clean) / energy(rings - clean):.4f} of the rings' energy is left")
    assert energy(rings - clean) > 0.001 * energy(clean), "rings to be taken out"
    assert energy(left - clean) < 0.1 * energy(rings - clean)
    touched = reconstruct(tmp_path, verb, "clean.h5", "--rings", method)
    changed = np.sqrt(energy(touched - clean) / energy(clean))
    print(f"{method}: {changed:.5f} of a clean volume changes")
    assert changed < 0.01


def test_every_quantity_is_corrected(tmp_path):
    """Of counts it is the flat's gain that changes, of transmissions a new one, of line integrals what is taken off."""
    qb("simulate", *PARALLEL, "-o", "rings.h5", "--rings", "0.01", cwd=tmp_path)
    with h5py.File(tmp_path / "rings.h5") as f:
        t, theta = f["/exchange/data"][:], f["/exchange/theta"][:]
    dark, flat = 100, np.linspace(30000, 50000, t.shape[2], dtype=np.float32)
    scans = {"transmission": t, "line_integral": -np.log(t), "counts": t * (flat - dark) + dark}
    found = {}
    for quantity, values in scans.items():
        fields = {}
        if quantity == "counts":
            frames = np.broadcast_to(flat, (2, *t.shape[1:]))
            fields = {"flats": frames, "darks": np.full_like(frames, dark)}
        write_scan(tmp_path / "s.h5", values.astype(np.float32), theta, pixel=0.1, quantity=quantity, **fields)
        found[quantity] = reconstruct(tmp_path, FBP, "s.h5", "--rings", "sort")
    plain = reconstruct(tmp_path, FBP, "rings.h5")
    size = np.sqrt(energy(plain))
    for quantity, volume in found.items():
        assert np.sqrt(energy(volume - found["transmission"])) < 1e-4 * size, quantity
        assert np.sqrt(energy(volume - plain)) > 0.1 * size, quantity


def test_memory_and_threads_do_not_change_a_bit_and_the_file_says_what_was_done(tmp_path):
    qb("simulate", *CONE, "-o", "rings.h5", "--rings", "0.01", "--photons", "20000", cwd=tmp_path)
    report = qb_json("fdk", "rings.h5", "-o", "v.h5", *FDK[1:], "--rings", "sort", cwd=tmp_path)
    want = read_h5(tmp_path / "v.h5")
    assert report["preparation"]["rings"].startswith("sort: stripes of 0.0")
    assert provenance_h5(tmp_path / "v.h5")["plan"]["options"]["rings"] == "sort"
    for options in (["--threads", "1"], ["--max-ram", "60M"]):
        assert (reconstruct(tmp_path, FDK, "rings.h5", "--rings", "sort", *options) == want).all(), options
    # a part of the slices has the same rings as the whole, by the same kernel: a single one has its own where there is no AVX-512
    qb("simulate", *PARALLEL, "-o", "p.h5", "--rings", "0.01", cwd=tmp_path)
    whole = reconstruct(tmp_path, FBP, "p.h5", "--rings", "wavelet")
    kernel = provenance_h5(tmp_path / "v.h5")["plan"]["kernel"]
    part = reconstruct(tmp_path, FBP, "p.h5", "--rings", "wavelet", "--slices", "1:2", "--kernel", kernel)
    assert (part[0] == whole[1]).all()


def test_a_method_that_is_not_there(tmp_path):
    qb("simulate", *PARALLEL, "-o", "s.h5", cwd=tmp_path)
    done = qb("fbp", "s.h5", "-o", "v.h5", "--rings", "magic", cwd=tmp_path, code=2)
    assert "--rings" in done.stderr and "sort" in done.stderr
