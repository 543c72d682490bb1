# SPDX-License-Identifier: MIT
"""Every option of every verb with values that cannot be: none is taken in silence. The options are those that --help lists, so a new one cannot escape."""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from qbtest import QB, fails, qb

VERBS = {"fbp": ["s.h5", "-o", "o.npy"], "fdk": ["c.h5", "--sod", 100, "--sdd", 150, "-o", "o.npy"], "sirt": ["s.h5", "-o", "o.npy"], "cgls": ["s.h5", "-o", "o.npy"],
         "tv": ["s.h5", "-o", "o.npy"], "mbir": ["s.h5", "-o", "o.npy"], "info": ["s.h5"], "convert": ["s.h5", "-o", "o.sinoparams"], "center": ["s.h5"],
         "project": ["v.npy", "-g", "parallel", "-o", "o.npy"], "simulate": ["disc", "-o", "o.h5"], "compare": ["v.npy", "v.npy"], "bench": ["io"], "tune": ["--geometry", "cone"]}
# Any text is a name for these; nothing is wrong with it before the file is written, or it is a path inside a file.
NAMES = {"output", "save-config", "matrix-cache", "geometry-out", "truth"}
BAD = ["nan", "-1e300", "1e300", "no such thing", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    one = ["--views", 16, "--detector", "16,4", "--pixel-size", 1, "-q"]
    qb("simulate", "disc", "-o", "s.h5", *one, "--photons", 10000, cwd=folder)
    qb("simulate", "disc", "-o", "c.h5", *one, "--geometry", "cone", "--sod", 100, "--sdd", 150, cwd=folder)
    np.save(folder / "v.npy", np.ones((2, 8, 8), np.float32))
    return folder


def options(verb):
    """(name, what stands for its value) of every option with a value."""
    lines = qb(verb, "--help").stdout
    return re.findall(r"^ +(?:-\w, +)?--([a-z0-9-]+) (\S+)$|^ +(?:-\w, +)?--([a-z0-9-]+) (\S+) ", lines, re.M)


def every():
    """Each option with each way of writing its value, once, by the first verb that has it so."""
    seen = {}
    for verb in VERBS:
        for a, b, c, d in options(verb):
            if (a or c) not in NAMES:
                seen.setdefault((a or c, b or d), verb)
    return seen


def test_no_option_takes_what_cannot_be(folder):
    """Exit code 2 or 3, one line, which names the option or the value."""
    found = every()
    assert len(found) > 100
    env = {**os.environ, "QB_TUNING": str(folder / "tuning.json")}

    def ask(job):
        (name, meta), verb, value = job
        args = [str(word) for word in VERBS[verb]]
        if f"--{name}" in args:
            at = args.index(f"--{name}")
            del args[at:at + 2]
        if value in meta.split("|"):
            return None
        done = subprocess.run([QB, verb, *args, "--quiet", f"--{name}={value}"], cwd=folder, capture_output=True, text=True, timeout=60, env=env)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("warning:")]
        good = done.returncode in (2, 3) and len(lines) == 1 and (f"--{name}" in lines[0] or value and value in lines[0])
        return None if good else f"qb {verb} --{name}={value!r}: exit {done.returncode}: {done.stderr.strip()[:150]}"

    jobs = [(key, verb, value) for key, verb in found.items() for value in BAD]
    with ThreadPoolExecutor(4) as pool:
        wrong = [line for line in pool.map(ask, jobs) if line]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("args, words", [
    (["--max-ram", 20], "means 20 bytes: give a unit, such as 20G"), (["--max-vram", 0.5], "such as 0.5G"), (["--rings", "all:snr=3,snr=4"], "snr is given twice"),
    (["--rings", "sort:small=4"], "odd number of columns"), (["--darks", "none", "--darks", "s.h5"], "none means no file"), (["--flats", "none"], "give their file, or --air"),
    (["--exclude-darks", 0, "--darks", "none"], "leave one out"), (["--exclude-flats", "18:21"], "does not lie in 0:20"), (["--air", "5:17"], "within columns 0:16"),
    (["--hardening=-1"], "falls from p = 0.5 on"), (["--hardening", "0.1,-1"], "falls from p ="), (["--hardening", "1,2,3"], "give A or A,B"), (["--hardening", "11"], "up to 10"), (["--hardening", "spectrum:al,9"], "no flux"),
    (["--hardening", "spectrum:al,40,sn:50"], "no flux: its filters"), (["--hardening", "spectrum:gold,60"], "no such material"), (["--hardening", "spectrum:al"], "voltage is missing"),
    (["--hardening", "spectrum:al,500"], "tables of attenuation end at 400 keV"), (["--hardening", "spectrum:al,60,at:5"], "at:5 is not from 10"),
    (["--hardening", "spectrum:al,60,cu"], "without a colon"), (["--hardening", "spectrum:al,60,cu:-1"], "0 to 1000 mm thick"),
    (["--search", "5:9", "--center", "middle"], "nothing is looked for with --center middle"), (["--search", "9:5", "--center", "auto"], "0 <= A < B <= 15"),
    (["--voxel", 1000], "are both in mm?"), (["--pixel-size", 1e-10], "1e-9..1e6 mm")])
def test_refused_before_the_work(folder, args, words):
    for dry in [], ["--dry-run"]:
        fails(2, "fbp", "s.h5", "-o", "o.npy", *args, *dry, says=[words], cwd=folder)


def test_refused_by_others(folder):
    for verb in "sirt", "cgls", "tv":
        fails(2, verb, "s.h5", "-o", "o.npy", "--slices", "0:2", says=["give --size NX,NY,N and --offset 0,0,Z"], cwd=folder)
    fails(2, "mbir", "s.h5", "-o", "o.npy", "--voxel", 1e5, says=["are both in mm?"], cwd=folder)
    for verb in ["info"], ["fdk", "--sod", 100, "--sdd", 150, "-o", "o.npy"]:
        fails(2, verb[0], "c.h5", *verb[1:], "--exclude-flats", 0, says=["c.h5 has no flats"], cwd=folder)
    for verb in ["convert", "s.h5", "-o", "o.sinoparams"], ["center", "s.h5"]:
        fails(2, *verb, "--hardening=-1", says=["falls from p = 0.5 on"], cwd=folder)
        fails(2, *verb, "--rings", "all:large=31,large=33", says=["large is given twice"], cwd=folder)


def test_few_bytes_are_saved_with_their_unit(folder):
    qb("fbp", "s.h5", "-o", "o.npy", "--max-vram", "500B", "--save-config", "c", "-q", cwd=folder)
    assert "max-vram = 500B" in (folder / "c").read_text()
    qb("fbp", "s.h5", "-o", "p.npy", "--config", "c", "-q", cwd=folder)


def test_a_curve_that_falls(folder):
    """Line integrals of a disc of 0.1/mm reach 5; p - 0.15 p^2 falls from 3.33 on, p - 0.05 p^2 from 10 on."""
    qb("simulate", "disc", "-o", "thick.h5", "--views", 60, "--detector", "64,2", "--pixel-size", 1, "--attenuation", 0.1, "-q", cwd=folder)
    for verb in ["fbp"], ["sirt", "--iterations", 1]:
        said = [qb(verb[0], "thick.h5", "-o", "o.npy", *verb[1:], "--center", "middle", f"--hardening={a}", cwd=folder).stderr for a in (-.15, -.05, .05)]
        assert "line integrals reach p = 3.33" in said[0] and "[hardening-turns]" in said[0]
        assert not any("[hardening-turns]" in text for text in said[1:])
