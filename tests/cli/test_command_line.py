# SPDX-License-Identifier: MIT
"""The command line as such: with --json exactly one JSON object, whatever is asked; names of any bytes; what is saved besides."""
import json
import os
import random
import shlex
import shutil
import signal
import subprocess

import numpy as np
import pytest

from qbtest import PATIENCE, QB, QUICK, SANITIZED, fails, qb, qb_json

SCAN = ["--views", 16, "--detector", "24,6", "--pixel-size", 1, "-q"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    qb("simulate", "disc", "-o", "s.h5", *SCAN, "--photons", 1000, "--truth", "v.npy", cwd=folder)
    qb("simulate", "disc", "-o", "cone.npy", *SCAN, "--geometry", "cone", "--sod", 100, "--sdd", 150, "--geometry-out", "g.json", cwd=folder)
    (folder / "c").write_text("filter = hann\n")
    return folder


def one_object(done):
    text = done.stdout.decode()  # UTF-8, or this fails
    value, end = json.JSONDecoder().raw_decode(text)
    assert isinstance(value, dict) and not text[end:].strip(), text[:300]
    return value


def run(folder, *words):
    return subprocess.run([QB, *words], cwd=folder, capture_output=True, timeout=PATIENCE)


# ---- one object ----

@pytest.mark.parametrize("words, code", [
    (["foo"], 2), (["plan", ""], 2), (["plan"], 2), ([""], 2), ([], 2), (["help"], 0), (["help", "foo"], 2), (["help", "fbp"], 0), (["help", "--man"], 0),
    (["fbp", "--help"], 0), (["--version"], 0), (["--help"], 0), (["fbp"], 2), (["fbp", "none.h5", "-o", "x.npy"], 3), (["fbp", "s.h5", "--nonsense"], 2),
    (["fbp", "s.h5", "-o", "x.npy", "--config", "none"], 3), (["info", "none"], 3), (["simulate", "nothing", "-o", "x.npy"], 2),
    (["center", "s.h5", "--method", "luck"], 2), (["bench", "luck"], 2), (["compare", "v.npy", "s.h5"], None), (["convert", "s.h5", "-o", "x.png"], 2)])
def test_one_object_whatever_is_asked(folder, words, code):
    done = run(folder, *words, "--json")
    value = one_object(done)
    assert code is None or done.returncode == code, done
    assert done.returncode == 0 or (value["error"] and value["status"] and isinstance(value["warnings"], list))


def test_no_json_where_it_is_taken_back(folder):
    assert run(folder, "foo", "--json", "--no-json").stdout == b""
    assert run(folder, "foo", "--", "--json").stdout == b""


# ---- what is saved besides ----

@pytest.mark.parametrize("job", [["fbp", "s.h5", "-o", "x.npy"], ["info", "s.h5"], ["center", "s.h5"], ["bench", "io"]])
def test_a_configuration_that_has_no_place_is_refused_first(folder, job):
    for place, code, words in ("nodir/c", 3, "there is no folder nodir"), ("s.h5/c", 3, "s.h5 is no folder"), (".", 2, "is a folder"):
        said = fails(code, *job, "--save-config", place, cwd=folder, says=["--save-config", words])
        assert said.count("\n") == 1 and not (folder / "x.npy").exists()  # nothing was looked at


@pytest.mark.parametrize("text", [b"\xef\xbb\xbfcenter = 3.25\n", b"center = 3.25\r\n", b"\xef\xbb\xbf# of an editor\r\ncenter = 3.25"])
def test_a_configuration_of_a_windows_editor(folder, tmp_path, text):
    """Lines that end in CR LF, and a byte order mark before the first; its name is no part of the option's."""
    (tmp_path / "c").write_bytes(text)
    assert "axis at column 3.250" in run(folder, "fbp", "s.h5", "-o", tmp_path / "x.npy", "--config", tmp_path / "c").stdout.decode()
    (tmp_path / "c").write_bytes(b"center: 3.25\n")
    fails(2, "fbp", "s.h5", "-o", tmp_path / "y.npy", "--config", tmp_path / "c", cwd=folder, says=["line 1", "name = value", "center ="])


# ---- names of any bytes ----

NAMES = [b"caf\xe9", b"\xff\xfe", b"a\xc3", b"ok \xe2\x82\xac it's $5\\", b"\xed\xa0\x80", b"new\nline\x80"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_bytes(folder, tmp_path, name):
    """Report, sidecar, provenance and failures are JSON, and the command that they keep does the same again."""
    place = os.fsencode(tmp_path) + b"/" + name
    try:
        os.mkdir(place)
    except OSError:
        pytest.skip("no such names on this disk")
    shutil.copy(folder / "s.h5", place + b"/s.h5")
    out = place + b"/" + name + b".npy"
    report = one_object(run(place, "fbp", "s.h5", "--center", "11.5", "-o", out, "--json"))
    (side,) = [f for f in os.listdir(place) if f.endswith(b".json")]
    with open(place + b"/" + side, "rb") as file:
        kept = json.loads(file.read().decode())
    want = open(out, "rb").read()
    os.unlink(out)
    command = kept["provenance"]["command"] if "provenance" in kept else kept["command"]
    words = ["bash", "-c", command.replace("qb", shlex.quote(QB), 1)]
    again = subprocess.run([w.encode() for w in words], cwd="/", capture_output=True, timeout=PATIENCE)
    assert again.returncode == 0, (command, again.stderr)
    assert open(out, "rb").read() == want
    escaped = "".join(c if not 0xdc80 <= ord(c) <= 0xdcff else "\\x%02x" % (ord(c) - 0xdc00) for c in out.decode("utf-8", "surrogateescape"))
    assert report["output"] == escaped
    one_object(run(place, "info", out, "--json"))
    assert one_object(run(place, "info", b"none" + name, "--json"))["status"] == "not found"
    h5 = place + b"/v.h5"
    one_object(run(place, "fbp", "s.h5", "--center", "11.5", "-o", h5, "--json"))
    assert one_object(run(place, "info", h5, "--json"))["kind"] == "volume"


def test_none_is_no_file_of_the_command(folder, tmp_path):
    """--darks none and --mask none are kept as they are, also where a file has that name."""
    (folder / "none").write_text("")
    qb("fbp", "s.h5", "-o", tmp_path / "v.npy", "--center", "11.5", "--darks", "none", "--mask", "none", cwd=folder)
    command = json.loads((tmp_path / "v.npy.json").read_text())["provenance"]["command"]
    assert command.endswith("--darks none --mask none")
    want = (tmp_path / "v.npy").read_bytes()
    (tmp_path / "v.npy").unlink()
    assert subprocess.run([QB, *shlex.split(command)[1:]], cwd="/", timeout=PATIENCE).returncode == 0
    assert (tmp_path / "v.npy").read_bytes() == want


# ---- where and when it is started ----

@pytest.mark.skipif(SANITIZED, reason="the leak checker needs /proc")
def test_without_proc(folder):
    """A bare container may have no /proc: HDF5 files are tried by qb's own name instead."""
    bare = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    if not shutil.which("unshare") or subprocess.run([*bare, "true"], capture_output=True).returncode:
        pytest.skip("this user may not hide /proc")
    for words in (["info", "s.h5", "--json"], ["fbp", "s.h5", "--center", "11.5", "-o", "bare.h5", "--json"], ["info", "bare.h5", "--json"]):
        done = subprocess.run([*bare, QB, *words], cwd=folder, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        one_object(done)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_before_the_work(folder, tmp_path, number):
    """Here while it reads its configuration: it ends as interrupted, at once, and has written nothing."""
    config = tmp_path / "long"
    config.write_bytes(b"#\n" * (20 << 20))
    for _ in range(5):
        run = subprocess.Popen([QB, "fbp", folder / "s.h5", "--config", config, "-o", tmp_path / "x.npy"], stderr=subprocess.DEVNULL)
        while run.poll() is None:
            try:
                if any(os.readlink(f"/proc/{run.pid}/fd/{n}") == str(config) for n in os.listdir(f"/proc/{run.pid}/fd")):
                    run.send_signal(number)
                    break
            except OSError:
                pass  # a descriptor that is closed by now
        code = run.wait(timeout=PATIENCE)
        if code != 0:  # else it had read all before anybody looked
            break
    assert code == 130 and not (tmp_path / "x.npy").exists()


# ---- any words ----

VALUES = ["", "0", "1", "-1", "3", "1e9", "-1e-9", "nan", "inf", "auto", "none", "all", "0:3", "3:0", "1,2,3", ",", ":", "0:180", "ramp", "hann:0.5", "cpu", "opencl:9",
          "s.h5", "v.npy", "g.json", "cone.npy", "c", "nodir/x", ".", "/", "1M", "4M", "x" * 300, "%s%n", "\u20ac", "2147483647", "18446744073709551616", "true", "false",
          "parallel", "cone", "1,1", "64,64", "float16", "uint8", "disc", "foam"]


def options_of(verb):
    """Its flags, and those that stand alone, as its help has them."""
    text = run(".", verb, "--help").stdout.decode()
    rows = [line.split("--", 1)[1].split(" ") for line in text.splitlines() if line[:8].strip().startswith("-") and "--" in line]
    return [(row[0], len(row) > 1 and row[1] != "") for row in rows]


def any_words(dice, verbs):
    verb = dice.choice([*verbs, "plan", "nonsense"])
    known = verbs.get(verb) or verbs["fbp"]
    words = ["plan", dice.choice(list(verbs))] if verb == "plan" else [verb]
    given = {"fbp": ["s.h5"], "fdk": ["cone.npy"], "project": ["v.npy"], "compare": ["v.npy", "v.npy"], "simulate": ["disc"], "info": ["s.h5"], "bench": ["io"]}
    words += given.get(words[-1], ["s.h5"]) if dice.random() < 0.8 else [dice.choice(VALUES) for _ in range(dice.randrange(4))]
    words += ["-o", dice.choice(["x.npy", "x.h5", "x/", "x.tif", "x_%04d.tif"])] if dice.random() < 0.6 else []
    for _ in range(dice.randrange(6)):
        name, valued = dice.choice(known)
        words += ["--" + name] + ([dice.choice(VALUES)] if valued or dice.random() < 0.05 else [])
    return words + ["--threads", "2", "--json"]


# They measure, for as long as they are given.
SLOW = {"devices", "tune", "bench", "view", "live"}  # the last two serve until they are stopped


def test_any_words(folder):
    """Whatever the words: one JSON object, a code of the table, no signal and no hang. QB_FUZZ_WORDS=N tries N."""
    listed = [line.split()[0] for line in run(".", "--help").stdout.decode().splitlines() if line.startswith("  ")]
    verbs = {verb: options_of(verb) for verb in listed if verb not in SLOW | {"plan"}}
    assert {"fbp", "fdk", "sirt", "cgls", "mbir", "center", "convert", "info", "project", "simulate", "compare"} <= set(verbs)
    assert len(verbs["fbp"]) > 30
    count = int(os.environ.get("QB_FUZZ_WORDS", 60 if QUICK else 200))
    for seed in range(count):
        words = any_words(random.Random(seed + int(os.environ.get("QB_FUZZ_SEED", 0))), verbs)
        work = folder / "any"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        for name in "s.h5", "v.npy", "v.npy.json", "g.json", "cone.npy", "cone.npy.json", "c":
            shutil.copy(folder / name, work)
        done = subprocess.run(["timeout", "-s", "KILL", str(PATIENCE), QB, *words], cwd=work, capture_output=True)
        said = f"seed {seed}: {shlex.join(words)}: {done.returncode}\n{done.stdout.decode()[:500]}{done.stderr.decode('utf-8', 'replace')[-500:]}"
        assert done.returncode in (0, 1, 2, 3, 130), said
        try:
            value = one_object(done)
        except (ValueError, AssertionError) as why:
            raise AssertionError(f"{said}{why}")
        assert done.returncode == 0 or "error" in value, said
        assert not [f for f in os.listdir(work) if ".part-" in f], said


# ---- dashes ----

@pytest.mark.parametrize("words", [["-center", "3"], ["-center=3"], ["-output", "x.npy"], ["-size", "8"]])
def test_one_dash_for_two(folder, words):
    """The first letter would be another option (-o utput), or none."""
    done = run(folder, "fbp", "s.h5", *words)
    name = words[0].split("=")[0]
    assert done.returncode == 2 and f"give -{name}".encode() in done.stderr
