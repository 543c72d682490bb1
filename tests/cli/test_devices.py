# SPDX-License-Identifier: MIT
"""qb devices: what is there, its rates, and what is missing for the rest."""
import os

import numpy as np
import pytest

from qbtest import Shim, qb, qb_json

RATES = ["copy_gigabytes_per_second", "upload_gigabytes_per_second", "download_gigabytes_per_second",
         "cache_gigabytes_per_second", "shared_memory_gigabytes_per_second", "giga_fma_per_second"]


def without(**more):
    return {**os.environ, "QB_LIBCUDA": "", "QB_LIBOPENCL": "", **more}


def test_what_is_missing_is_said():
    found = qb_json("devices", env=without())
    assert [d["device"] for d in found["devices"]] == ["cpu"]
    cuda, opencl = found["missing"]
    assert cuda.startswith("no CUDA") and "QB_LIBCUDA" in cuda
    assert opencl.startswith("no OpenCL") and "QB_LIBOPENCL" in opencl
    text = qb("devices", env=without(QB_LIBCUDA="/nowhere/libcuda.so.1")).stdout
    assert "nvidia-driver" in text and "/nowhere" in text and "ocl-icd-libopencl1" in text


def test_a_folder_of_kernels_that_is_not_used_is_said(tmp_path):
    env = without(QB_CACHE_DIR=str(tmp_path))
    tmp_path.chmod(0o700)
    assert len(qb_json("devices", env=env)["missing"]) == 2
    tmp_path.chmod(0o770)
    said = qb_json("devices", env=env)["missing"][2]
    assert str(tmp_path) in said and "not kept" in said and "chmod go-w" in said
    assert said in qb("devices", env=env).stdout


def test_devices_have_rates(tmp_path):
    found = qb_json("devices", env={**os.environ, "QB_CACHE_DIR": str(tmp_path / "cache")})
    assert found["devices"][0]["device"] == "cpu"
    for device in found["devices"][1:]:
        assert "problem" not in device, device
        for rate in RATES:
            assert device[rate] > 0, (device["device"], rate)
        assert 0 < device["memory_available_bytes"] <= device["memory_bytes"]
        # the kernels that measured it are kept, private to the user
        assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    absent = [api for api in ("cuda", "opencl") if not any(d["device"].startswith(api) for d in found["devices"])]
    for api in absent:
        assert any(api in text.lower() for text in found["missing"])


@pytest.mark.parametrize("gpu,taken", [(2, "opencl:1"), (0, "opencl:0")])
def test_opencl_is_the_gpu_that_is_listed_behind_the_cpu(tmp_path, gpu, taken):
    env = {**Shim(tmp_path, gpu=gpu).env, "POCL_DEVICES": "basic pthread", "QB_LIBCUDA": ""}
    if [d["device"] for d in qb_json("devices", env=env)["devices"]] != ["cpu", "opencl:0", "opencl:1"]:
        pytest.skip("PoCL does not list two devices")
    np.save(tmp_path / "p.npy", np.ones((16, 4, 16), np.float32))
    plan = ["plan", "fbp", tmp_path / "p.npy", "--angles", "0:180", "-o", tmp_path / "v.npy", "--device"]
    assert qb_json(*plan, "opencl", env=env)["device"] == taken
    assert qb_json(*plan, "opencl:0", env=env)["device"] == "opencl:0"
