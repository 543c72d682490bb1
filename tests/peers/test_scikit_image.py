# SPDX-License-Identifier: MIT
"""Slices beside scikit-image's iradon, and ssim beside its structural_similarity."""
import numpy as np
import pytest
from skimage import transform
from skimage.metrics import structural_similarity

from qbtest import SHEPP_LOGAN, image, qb, qb_json, read_h5, scaled, sinogram, turns, write_scan


def test_shepp_logan_is_no_worse_than_scikit_image(tmp_path):
    n, views = 512, 804
    angles = np.arange(views) * (180 / views)
    ellipses = scaled(SHEPP_LOGAN, n / 2)
    # iradon's axis goes through pixel n/2; the same scan and the same grid for both, so the same truth. Its picture may
    # lie otherwise than ours: the best of the eight ways is taken, n/2 kept where it is.
    center = n // 2
    p = sinogram(ellipses, angles, n, center)
    write_scan(tmp_path / "s.h5", p[:, None].astype(np.float32), angles, quantity="line_integral")
    x = np.arange(n) - center
    inside = (x[None] ** 2 + x[:, None] ** 2 < (n / 2 - 3) ** 2)[1:, 1:]
    truth = image(ellipses, n, center=center)[1:, 1:]

    def rmse(found):
        return np.sqrt(np.mean((found - truth)[inside] ** 2))

    for name in ("ramp", "shepp-logan", "cosine", "hann", "hamming"):
        picture = transform.iradon(p.T, theta=angles, filter_name=name, circle=True)
        peer = min(rmse(t) for t in turns(picture[1:, 1:]))
        qb("fbp", "s.h5", "-o", "v.h5", "--filter", name, "--center", center, "--offset=-0.5,-0.5", cwd=tmp_path)
        mine = rmse(read_h5(tmp_path / "v.h5")[0][1:, 1:])
        print(f"{name}: {mine:.6f}, scikit-image {peer:.6f}")
        assert mine <= peer * 1.0005, f"{name}: {mine:.6f}, scikit-image {peer:.6f}"


def test_ssim_is_scikit_image_s(tmp_path):
    rng = np.random.default_rng(2)
    b = rng.normal(1, 2, (5, 40, 30)).astype(np.float32)
    a = (1.1 * b + 0.3 + rng.normal(0, 0.1, b.shape)).astype(np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    told = qb_json("compare", tmp_path / "a.npy", tmp_path / "b.npy")
    x, y = a.astype(float), b.astype(float)
    wanted = np.mean([structural_similarity(p, q, win_size=7, data_range=y.max() - y.min()) for p, q in zip(x, y)])
    assert told["ssim"] == pytest.approx(wanted, abs=0.01)
