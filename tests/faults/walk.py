#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny runs of every kind, in each of which the n-th call of one kind fails, or the process is killed there:
    walk.py QB SHIM [--most N] [--only WORD] [--seed N]
For each run and kind of call at most N places are tried, spread and drawn anew each time (0 = all of them; make test-faults).
What must hold, whatever fails: exit 0 only with the whole result, and never where the disk did not take it (fsync); 1 or 3 with
a sentence otherwise, and what lay there before is still there; after a kill the result is there whole or not at all, and the
next run leaves nothing of it behind; no signal but the one sent; no hang. Without a fault, all is on the disk before it gets its
name, and the name then. The last lines count each: all must be 0."""
import argparse
import collections
import concurrent.futures
import io
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import h5py

CALLS = {"malloc": 12, "open": 24, "read": 5, "write": 28, "fsync": 5, "rename": 5, "close": 5, "mkdir": 13, "truncate": 28}
WRONG = {
    "success": "exit 0 with another output than without the fault, or one that the disk did not take",
    "failure": "exit 1 or 3 with something else under a final name than before, or without a word",
    "kill": "killed, and half of it under a final name, or something left behind by the next run",
    "signal": "a signal but the one sent, or another exit code",
    "hang": "no end",
    "disk": "a name given before what it names, or not itself, is on the disk",
}
FBP = ["fbp", "{in}", "--center", "7.5", "--device", "cpu", "--threads", "1", "-o"]
FDK = ["fdk", "{in}", "--sod", "40", "--sdd", "60", "--device", "cpu", "--threads", "1", "--allow-limited", "-o"]
KEPT = ["--checkpoint", "1e-9", "--resume"]  # what is killed is gone on with by the next run
# name: (input, words up to the output's name, the output, further words)
RUNS = {
    "h5 to h5": ("scan.h5", FBP, "v.h5", ["--preview", "{out}/p.png", "--save-config", "{out}/o.cfg"]),
    "h5 to raw": ("scan.h5", FBP, "v.raw", []),
    "h5 to parts": ("scan.h5", FBP, "v.h5", ["--parts", "2"]),
    "npy to npy": ("scan.npy", FBP, "v.npy", KEPT),
    "folder to series": ("tiffs/", FBP, "series/", ["--angles", "0:180", "--quantity", "transmission"]),
    "h5 to pattern": ("scan.h5", FBP, "v_%03d.tif", []),
    "mha to mha": ("scan.mha", FBP, "v.mha", ["--angles", "0:180", "--quantity", "transmission"]),
    "tif to tif": ("scan.tif", FBP, "v.tif", ["--angles", "0:180", "--quantity", "transmission", "--dtype", "uint16", "--range", "0,0.1"]),
    "cone to h5": ("cone.h5", FDK, "v.h5", KEPT),
    "kept matrix": ("scan.h5", ["mbir", "{in}", "--slices", "0:1", "--center", "7.5", "--equits", "1", "--matrix", "bytes",
                                "--matrix-cache", "kept", "--device", "cpu", "--threads", "1", "-o"], "v.h5", []),
    "project": ("volume.h5", ["project", "{in}", "-g", "parallel", "--views", "5", "--threads", "1", "-o"], "l.npy", []),
    "simulate": ("volume.h5", ["simulate", "disc", "--views", "5", "--detector", "12,3", "--pixel-size", "1", "--threads", "1",
                               "--geometry-out", "{out}/g.json", "-o"], "s.h5", []),
    "sweep": ("scan.h5", ["fbp", "{in}", "--center", "6:8:1", "--device", "cpu", "--threads", "1", "-o"], "sweep", []),
}


def keys(value):
    """The shape of a JSON value, but for its warnings: of memory that failed one may say that fewer buffers had to do; and but
    for what a run that went on says, and does not say of projections that it read a part of."""
    if isinstance(value, dict):
        return {k: keys(v) for k, v in value.items() if k not in ("warnings", "slabs_resumed", "projections")}
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return [keys(v) for v in value] if isinstance(value, list) else "number" if number else type(value).__name__


def tiff(data):
    """Of each image its strips and the shape of its description."""
    assert data[:4] == b"II*\0"
    images, at = [], int.from_bytes(data[4:8], "little")
    while at:
        entries = {}
        for i in range(int.from_bytes(data[at:at + 2], "little")):
            tag, kind, count, value = struct.unpack_from("<HHII", data, at + 2 + 12 * i)
            size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 12: 8}[kind] * count
            place = value if size > 4 else at + 10 + 12 * i
            entries[tag] = (kind, data[place:place + size])
        numbers = {t: [int.from_bytes(v[1][i:i + (2 if v[0] == 3 else 4)], "little")
                       for i in range(0, len(v[1]), 2 if v[0] == 3 else 4)] for t, v in entries.items() if t in (273, 279)}
        strips = [data[o:o + n] for o, n in zip(numbers[273], numbers[279])]
        assert all(len(b) == n for b, n in zip(strips, numbers[279]))
        text = entries.get(270, (2, b""))[1].decode().rstrip("\0")
        begin = text.find("{") if "{" in text else len(text)
        shape = (re.sub(r"[0-9.e+-]+", "0", text[:begin]),
                 keys(json.JSONDecoder().raw_decode(text[begin:])[0]) if text[begin:] else None)
        images.append((strips, shape, sorted(entries)))
        at = int.from_bytes(data[at + 2 + 12 * len(entries):][:4], "little")
    return images


def canonical(file, data):
    if file.endswith(".json"):
        return keys(json.loads(data))
    if file.endswith(".h5"):
        found = {}

        def visit(name, thing):
            values = thing[()].tobytes() if isinstance(thing, h5py.Dataset) and thing.dtype.kind in "iuf" else None
            found[name] = (values, sorted(thing.attrs))
        with h5py.File(io.BytesIO(data), "r") as h5:
            h5.visititems(visit)
            found["/"] = sorted(h5.attrs)
        return found
    if file.endswith(".tif"):
        return tiff(data)
    # Blocks that are no text, the small ones (offsets, lengths) left out.
    blocks = re.split(rb"[\x20-\x7e\s]{24,}", data)
    return len(blocks), [b for b in blocks if len(b) > 256]


class Walk:
    def __init__(self, qb, shim, folder):
        self.qb, self.shim, self.folder = qb, shim, folder
        self.number = 0

    def command(self, name):
        """To be run where `out` is: it is the same command everywhere."""
        given, words, target, more = RUNS[name]
        return [self.qb] + [w.replace("{in}", str(self.folder / given)).replace("{out}", "out")
                            for w in [*words, f"out/{target}", *more]]

    def prepare(self):
        small = ["--pixel-size", "0.5", "-q"]
        for scan in ("scan.h5", "scan.npy", "scan.mha", "scan.tif", "tiffs/"):
            (self.folder / "tiffs").mkdir(exist_ok=True)
            self.plain(["simulate", "disc", "-o", f"{self.folder}/{scan}", "--views", "12", "--angles", "0:180",
                        "--detector", "16,3", *small])
        self.plain(["simulate", "disc", "--geometry", "cone", "--sod", "40", "--sdd", "60", "--views", "12", "-o",
                    f"{self.folder}/cone.h5", "--detector", "16,8", *small])
        self.plain(["fbp", f"{self.folder}/scan.h5", "--center", "7.5", "-o", f"{self.folder}/volume.h5", "-q"])

    def plain(self, words):
        done = subprocess.run([self.qb, *words], capture_output=True, text=True, timeout=120)
        if done.returncode:
            sys.exit(f"qb {' '.join(words)}: {done.stderr}")

    def run(self, name, fault, out, counts=None, trace=None):
        env = {**os.environ, "LD_PRELOAD": self.shim, "QB_TUNING": "", "QB_FONT": "/none", "ASAN_OPTIONS": "detect_leaks=0"}
        if not fault or fault.startswith("malloc"):
            # HDF5's own allocations, those that the C library makes for it, and libtiff's (4.5, closing what it could
            # not open): these libraries crash by themselves when one fails.
            env["QB_FAULT_NOT"] = "libhdf5,libc.,libtiff"
        if fault:
            env["QB_FAULT"] = fault
        if counts:
            env["QB_FAULT_COUNTS"] = str(counts)
        if trace:
            env["QB_FAULT_TRACE"] = str(trace)
        try:
            done = subprocess.run(self.command(name), capture_output=True, timeout=60, env=env, cwd=out.parent)
        except subprocess.TimeoutExpired:
            return "hang", ""
        return done.returncode, done.stderr.decode(errors="replace")

    def old(self, name, out):
        """What lay there before: the same files, one byte each."""
        for file in self.reference[name]:
            path = out / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"o")

    @staticmethod
    def files(out):
        return {str(p.relative_to(out)): p.read_bytes() for p in sorted(out.rglob("*"))
                if p.is_file() and not any(part.startswith(".") for part in p.relative_to(out).parts)}

    @staticmethod
    def same(file, a, b):
        """But for what provenance says of times."""
        if a == b:
            return True
        try:
            return canonical(file, a) == canonical(file, b)
        except Exception:  # whatever a reader thinks of half a file
            return False

    def state(self, name, out):
        """new, old, none - of all files together; else what is odd."""
        files, kinds = self.files(out), set()
        for file, want in self.reference[name].items():
            have = files.pop(file, None)
            kinds.add("none" if have is None else "old" if have == b"o" else "new" if self.same(file, want, have) else
                      f"broken {file}")
        if files:
            kinds.add(f"extra {sorted(files)[0]}")
        return kinds.pop() if len(kinds) == 1 else "mixed: " + ", ".join(sorted(kinds))

    def after_a_kill(self, name, out, before, state):
        """All new, or all as before: at once for one file, for several once the next run has looked, and never is the output
        itself there without what belongs to it. Then the same run again succeeds, and nothing hidden is left."""
        target = RUNS[name][2]
        if state not in ("new", before):
            if target in self.reference[name] and (out / target).exists():
                return state
            subprocess.run([self.qb, "info", f"out/{target}"], cwd=out.parent, capture_output=True, timeout=60)
            found = self.state(name, out)
            if found not in ("new", before):
                return f"{state}; after a look at it {found}"
        code, said = self.run(name, None, out)
        if code or self.state(name, out) != "new":
            return f"{state}; again: exit {code}, {self.state(name, out)}: {said}"
        hidden = sorted(p.name for p in out.parent.rglob(".*"))
        return f"{state}; again: {hidden[0]} is left" if hidden else None

    def trial(self, name, fault, before):
        self.number += 1
        out = self.folder / str(self.number) / "out"
        out.mkdir(parents=True)
        if before == "old":
            self.old(name, out)
        code, said = self.run(name, fault, out, out.parent / "counts")
        call, n = fault.split(":")[:2]
        if code == 0 and read_counts(out.parent / "counts")[call] < int(n):  # with nothing there before there are fewer
            code = "not reached"
        kind, problem = self.judge(name, fault, out, before, code, said)
        shutil.rmtree(out.parent)
        return code, kind, problem

    def judge(self, name, fault, out, before, code, said):
        """What of WRONG it is, and the words; or None, None."""
        state = self.state(name, out)
        if code == "hang":
            return "hang", "hangs"
        if fault.endswith((":kill", ":after")) and code == -9:
            problem = self.after_a_kill(name, out, before, state)
            return ("kill", problem) if problem else (None, None)
        if code in (0, "not reached"):
            if state != "new":
                return "success", f"exit 0, {state}"
            unkept = "is not written" in said or "could not be written" in said  # what only spares time the next time may be missing, not without a word
            return ("success", "exit 0 though fsync failed") if not code and fault.startswith("fsync") and not unkept else (None, None)
        if code not in (1, 3):
            return "signal", f"exit {code}"
        if not said.strip():
            return "failure", f"exit {code} without a word"
        return ("failure", f"exit {code}, {state}") if state != before else (None, None)

    @staticmethod
    def not_on_disk(trace, out):
        """The first name that was given too early, or that was not itself put on the disk: from the order of writes, fsyncs
        and renames, by inode. A large file is to be flushed by itself: before Linux 5.8 syncfs says nothing of errors."""
        written, flushed, alone, moved = {}, {}, {}, []
        for at, line in enumerate(trace.read_text().splitlines()):
            what, inode, to = line.split(" ", 2)
            if what == "syncfs":
                flushed = {**flushed, **dict.fromkeys([*written, *flushed], at)}
            elif what == "rename":
                if ".part-" not in to:  # what is put together in a hidden folder gets its name with that
                    moved.append((at, inode, out.parent / to))
            else:
                (written if what == "write" else flushed)[inode] = at
                if what == "fsync":
                    alone[inode] = at
                continue
            for _, known, path in moved:  # what was written before it got its name
                files = [path, *path.iterdir()] if path.is_dir() else [path]
                for file in files:
                    inode = str(file.lstat().st_ino)
                    if written.get(inode, -1) > (alone if file.suffix == ".h5" else flushed).get(inode, -1):
                        return file.name
        for at, _, path in moved:
            if flushed.get(str(path.parent.lstat().st_ino), -1) < at:
                return f"the name of {path.name}"
        return None if moved else "nothing: no rename was seen"

    def learn(self, name):
        out, counts = self.folder / "reference" / "out", self.folder / "counts"
        out.mkdir(parents=True)
        found, trace = {}, self.folder / "trace"
        trace.write_text("")
        for fault in (None, "open:0:0"):  # with the library's allocations left out, and with all its calls
            code, said = self.run(name, fault, out, counts, None if fault else trace)
            if code:
                sys.exit(f"{name}: exit {code} with the shim and no fault: {said}")
            found = read_counts(counts) | \
                ({"malloc": found["malloc"]} if found else {})
            if not fault and (early := self.not_on_disk(trace, out)):
                print(f"  {name}: not on the disk in time: {early}")
                self.wrong["disk"] += 1
        self.reference[name] = self.files(out)
        shutil.rmtree(out.parent)
        return found

    reference = {}
    wrong = collections.Counter()


def read_counts(path):
    return {k: int(v) for k, v in (line.split() for line in path.read_text().splitlines())}


def places(count, most, draw):
    if most == 0 or count <= most:
        return range(1, count + 1)
    return sorted({1 + int((i + draw.random()) * count / most) for i in range(most)} & set(range(1, count + 1)))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("qb", type=os.path.abspath)
    parser.add_argument("shim", type=os.path.abspath)
    parser.add_argument("--most", type=int, default=12)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("QB_SEED", time.time_ns() % 1000000)))
    args = parser.parse_args()
    draw = random.Random(args.seed)
    print(f"seed {args.seed} (QB_SEED repeats it)")
    tried = calls = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        walk = Walk(args.qb, args.shim, pathlib.Path(folder))
        walk.prepare()
        every = collections.Counter()
        for name in RUNS:
            counts = walk.learn(name)
            faults = [(f"{call}:{n}:{number}", b) for call, number in CALLS.items()
                      for i, n in enumerate(places(counts[call], args.most, draw)) for b in [("none", "old")[i % 2]]]
            faults += [(f"file:{n}:{how}", b) for how in ("kill", "after")
                       for i, n in enumerate(places(counts["file"], 4 * args.most, draw)) for b in [("none", "old")[i % 2]]]
            faults = [f for f in faults if args.only in f"{name} {f[0]}"]
            exits = collections.Counter()
            for (fault, before), (code, kind, problem) in zip(faults, pool.map(lambda f: walk.trial(name, *f), faults)):
                exits[code] += 1
                if problem:
                    walk.wrong[kind] += 1
                    print(f"  {name}, {fault}, {before} before: {problem}")
            calls += sum(counts[c] for c in CALLS) + 2 * counts["file"]
            tried += len(faults)
            every += exits
            print(f"{name}: {len(faults)} faults of {sum(counts[c] for c in CALLS)} calls: {told(exits)}", flush=True)
    print(f"{tried} of {calls} faults tried: {told(every)}")
    for kind, words in WRONG.items():
        print(f"{walk.wrong[kind]:6} {words}")
    sys.exit(walk.wrong.total() != 0)


def told(exits):
    return ", ".join(f"{n} x {'killed' if c == -9 else f'exit {c}' if isinstance(c, int) else c}" for c, n in exits.most_common())


main()
