# SPDX-License-Identifier: MIT
"""What an installation holds: the examples, one for each level of the library, compile against it as pkg-config says,
and do what they are for."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from qbtest import PATIENCE, QB, ROOT, qb, qb_json

BUILD = Path(QB).resolve().parent


def run(*command, **more):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE, **more)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    cache = BUILD / "CMakeCache.txt"
    for tool in ("cmake", "pkg-config", "cc"):
        if not shutil.which(tool):
            pytest.skip(f"there is no {tool}")
    if not cache.exists():
        pytest.skip(f"{BUILD} is no build folder")
    if "QB_SANITIZE:BOOL=ON" in cache.read_text():
        pytest.skip("with sanitizers, a program needs their flags too")
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


def build(installed, tmp_path, name):
    """The example `name` as a user builds it; the program and where it finds the library."""
    found = list(installed.rglob("quickbeam.pc"))
    assert len(found) == 1
    env = {**os.environ, "PKG_CONFIG_PATH": str(found[0].parent)}
    version = run("pkg-config", "--modversion", "quickbeam", env=env).strip()
    assert run(installed / "bin" / "qb", "--version").startswith(f"quickbeam {version}\n")
    flags = run("pkg-config", "--cflags", "--libs", "quickbeam", env=env).split()
    folder = Path(run("pkg-config", "--variable=libdir", "quickbeam", env=env).strip())
    assert folder.resolve().is_relative_to(installed.resolve())
    assert (folder / "libquickbeam.so").exists()
    program = tmp_path / name
    run("cc", ROOT / "examples" / f"{name}.c", *flags, "-ldl", "-lm", "-o", program)
    return program, {**env, "LD_LIBRARY_PATH": str(folder)}


def test_one_call(installed, tmp_path):
    program, env = build(installed, tmp_path, "simple")
    assert "0.02 went in" in run(program, env=env)


def test_a_cmake_project_finds_it(installed, tmp_path):
    """By find_package of this version, not of the next; where the tree was moved, too."""
    moved = tmp_path / "moved"
    shutil.copytree(installed, moved, symlinks=True)
    (tmp_path / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(quickbeam ${{WANTED}} REQUIRED)
add_executable(user {ROOT}/examples/simple.c)
target_link_libraries(user PRIVATE quickbeam::quickbeam m)
""")
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={moved}"]
    run(*configure, "-DWANTED=0.2")
    run("cmake", "--build", tmp_path / "build")
    assert "0.02 went in" in run(tmp_path / "build" / "user")
    refused = subprocess.run([*map(str, configure), "-DWANTED=0.3"], capture_output=True, text=True, timeout=PATIENCE)
    assert refused.returncode != 0 and "0.3" in refused.stderr


@pytest.mark.parametrize("name, least, most", [("sirt", 0.0195, 0.0205), ("cgls", 0.0195, 0.0205), ("tv", 0.0195, 0.0205),
                                               ("mbir", 0.0195, 0.0205), ("center", 31.3, 31.7)])
def test_simple_calls(installed, tmp_path, name, least, most):
    """Each in fifteen lines at most; the cylinder's attenuation, or its axis, comes out."""
    program, env = build(installed, tmp_path, name)
    body = re.search(r"^int main\(void\) \{\n(.*)^\}", (ROOT / "examples" / f"{name}.c").read_text(), re.M | re.S).group(1)
    assert len(body.splitlines()) <= 15
    assert least <= float(re.search(r"\d+\.\d+", run(program, env=env)).group()) <= most


def test_plan_and_run(installed, tmp_path):
    program, env = build(installed, tmp_path, "plan_run")
    scan, volume = tmp_path / "scan.h5", tmp_path / "volume.h5"
    qb("simulate", "disc", "-o", scan, "--views", 60, "--detector", "48,4", "-q")
    report = run(program, scan, volume, env=env)
    assert json.loads(report)["output"] == str(volume)
    assert volume.exists()


def test_operators(installed, tmp_path):
    program, env = build(installed, tmp_path, "iterate")
    truth, lines, geometry, volume = (tmp_path / n for n in ("truth.mha", "lines.h5", "geometry.json", "volume.h5"))
    qb("simulate", "disc", "-o", tmp_path / "scan.h5", "--views", 4, "--detector", "24,3", "--truth", truth, "-q")
    qb("project", truth, "-g", "parallel", "--views", 40, "-o", lines, "--geometry-out", geometry, "-q")
    said = run(program, lines, geometry, 8, volume, env=env)
    misfits = [float(line.split()[-1]) for line in said.splitlines()]
    assert len(misfits) == 8 and misfits[-1] < 0.02 * misfits[0]
    assert qb_json("compare", volume, truth)["rel_l2"] < 0.2


def test_own_matrix(installed, tmp_path):
    program, env = build(installed, tmp_path, "descend")
    said = run(program, env=env).split()
    assert int(said[0]) < 5000 and float(said[-1]) < 0.01


def test_devices(installed, tmp_path):
    """On a CUDA driver that is only played; what a real device reconstructs is device.tensors_cuda's to say."""
    played = BUILD / "tests" / "device" / "libmock_cuda.so"
    if not played.exists():
        pytest.skip("there is no played CUDA driver")
    program, env = build(installed, tmp_path, "devices")
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "libcuda.so.1").symlink_to(played)
    env["LD_LIBRARY_PATH"] = f"{libraries}:{env['LD_LIBRARY_PATH']}"
    said = run(program, env={**env, "QB_LIBNVRTC": str(played), "QB_CACHE_DIR": "", "QB_LIBOPENCL": "",
                             "MOCK_CUDA_FREE": "1000000000"})
    assert "/mm in the middle" in said


def test_manual_and_completion(installed):
    """Every option of every verb is in the manual page and in what shells complete; bash completes a verb, a planned
    verb's option, an option's value and a file."""
    man = (installed / "share" / "man" / "man1" / "qb.1").read_text()
    bash = installed / "share" / "bash-completion" / "completions" / "qb"
    zsh = (installed / "share" / "zsh" / "site-functions" / "_qb").read_text()
    assert zsh.startswith("#compdef qb\n")
    for verb in re.findall(r"^  ([a-z]+) ", qb("--help").stdout, re.M):
        block = re.search(rf"^    {verb}\)\n(.*?) ;;\n", zsh, re.M | re.S).group(1)
        assert f".SS qb {verb} " in man
        for option in re.findall(r"^  ..*?--([a-z0-9-]+) ", qb(verb, "--help").stdout, re.M):
            assert re.search(rf"'--{option}=?\[", block), (verb, option)
            assert f"\\-\\-{option.replace('-', chr(92) + '-')}\\fR" in man, (verb, option)
    if shutil.which("man"):
        done = subprocess.run(["man", "-l", "--warnings", installed / "share" / "man" / "man1" / "qb.1"], text=True,
                              capture_output=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        assert done.returncode == 0 and done.stderr == "" and "--allow-limited" in done.stdout
    if shutil.which("bash"):
        script = ('source "$0"; COMP_WORDS=("${@:1}"); COMP_CWORD=$(($# - 1)); _qb; echo "${COMPREPLY[@]}"')

        def complete(*words):
            return run("bash", "-c", script, bash, *words, cwd=installed).split()

        assert complete("qb", "fb") == ["fbp"]
        assert complete("qb", "plan", "fd") == ["fdk"] and complete("qb", "plan", "inf") == []
        assert complete("qb", "plan", "fdk", "--allow-l") == ["--allow-limited"]
        assert complete("qb", "fdk", "--pad", "ell") == complete("qb", "fdk", "--pad", "=", "ell") == ["ellipse"]
        assert sorted(complete("qb", "fbp", "--filter", "ha")) == ["hamming", "hann"]
        assert complete("qb", "sirt", "--center", "mi") == ["middle"]
        assert complete("qb", "fdk", "-g", "inclu") == ["include"]
        assert complete("qb", "fdk", "inclu") == ["include"]
