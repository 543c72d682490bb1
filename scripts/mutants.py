#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Deliberate mistakes, and the tests that catch them: mutants.py [--check] [--trust] [--build FOLDER] [--cmake=ARGUMENT]... [NAME]...

Each file of tests/mutants says what is wrong with the program that it makes, in which file, which tests are to notice, and what
text takes the place of what. In a copy of the tree each is made in turn, what its tests need is built, and they run, first once
without a mistake. The last lines count those that were caught and name those that escaped (exit code 1). --check only looks
whether each still has its place: a test in continuous integration does that. --trust leaves out the run without a mistake, for
where the tests are known to pass.
A test is ctest's name, `cli.NAME:WORDS` (those of its cases that pytest -k finds by the words), `walk:WORDS` (all faults of those
of tests/faults/walk.py whose name has the words in it) or `kernelcheck:ID` (the kernels whose names begin so)."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "tests" / "mutants"
SECONDS = 900  # a program that hangs is noticed, too


class Mutant:
    def __init__(self, path):
        self.name = path.stem
        head, _, rest = path.read_text().partition("\n<<<<\n")
        said = dict(line.split(": ", 1) for line in head.splitlines())
        self.what, self.file, self.tests = said["what"], said["file"], said["tests"].split(", ")
        old, _, new = rest.partition("\n====\n")
        self.old, self.new = old, new[:new.rindex(">>>>")].rstrip("\n")

    def place(self, root):
        """The file with the text in it, once: the one that is named, or, where it has moved, the only one."""
        named = root / self.file
        if named.exists() and named.read_text().count(self.old) == 1:
            return named
        found = [path for folder in ("src", "tools") for path in (root / folder).rglob("*.[ch]") if self.old in path.read_text()]
        return found[0] if len(found) == 1 and found[0].read_text().count(self.old) == 1 else None

    def problem(self, root):
        if not self.place(root) or self.old == self.new:
            return f"{self.name}: its text is not in {self.file}, nor once in another file"
        lost = [test for test in self.tests if not sources_of(test, root)]
        return f"{self.name}: there is no test {lost[0]}" if lost else None

    def apply(self, root):
        """The file, and what was there before."""
        path = self.place(root)
        before = path.read_text()
        path.write_text(before.replace(self.old, self.new))
        return path, before


def parts_of(test):
    """cli.output:words -> cli, output, words; walk:words -> walk, "", words."""
    head, _, words = test.partition(":")
    kind, _, name = head.partition(".")
    return kind, name, words


def program_of(kind, name):
    """The same properties, of devices, are a test of their own."""
    return name.removesuffix("_devices") if kind == "property" else name


def sources_of(test, root):
    """The file of a test, which shows that there is one."""
    kind, name, words = parts_of(test)
    if kind in ("walk", "kernelcheck"):
        return words
    if kind == "emulated":
        return f"emulated_test({name} " in (root / "tests/device/CMakeLists.txt").read_text()
    pattern = {"cli": "cli/test_{}.py", "fuzz": "fuzz/fuzz_{}.c"}.get(kind, kind + "/test_{}.c").format(program_of(kind, name))
    return (root / "tests" / pattern).exists()


def targets_of(test):
    kind, name, _ = parts_of(test)
    return {"walk": ["qb", "shim_faults"], "kernelcheck": ["kernelcheck"], "emulated": ["kernelcheck", "emulated_cuda"],
            "cli": ["qb", "shim_files", "shim_opencl", "emulated_cuda", "quickbeam_mpi"]}.get(kind, [f"{kind}_{program_of(kind, name)}"])


def run(words, **more):
    """None when it took too long."""
    try:
        return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, **more)
    except subprocess.TimeoutExpired:
        return None


def passes(test, build, root):
    kind, name, which = parts_of(test)
    words = ["ctest", "--test-dir", str(build), "-R", f"^{kind}[.]{name}$", "--no-tests=error"]
    if kind == "kernelcheck":
        words = [str(build / "tests/kernelcheck/kernelcheck"), "--quick", "--filter", which]
    elif kind == "walk":
        words = [python(), str(root / "tests/faults/walk.py"), str(build / "qb"),
                 str(build / "tests/faults/libshim_faults.so"), "--most", "0", "--only", which]
    done = run(words, env={**os.environ, "PYTEST_ADDOPTS": f"-x -k '{which}'" if which else "-x", "QB_TUNING": ""})
    return done is not None and done.returncode == 0


def python():
    """One that has what walk.py wants."""
    has = (p for p in (sys.executable, "/usr/bin/python3") if run([p, "-c", "import h5py"]).returncode == 0)
    return next(has, sys.executable)


def make(build, targets):
    """Without MPI there is no quickbeam_mpi to make."""
    known = run(["cmake", "--build", str(build), "--target", "help"])
    here = known is not None and "quickbeam_mpi: " in known.stdout
    return run(["cmake", "--build", str(build), "--target", *sorted({t for t in targets if here or t != "quickbeam_mpi"})])


def copy_tree(place):
    for old in place.glob("*") if place.exists() else []:  # what is no more there would be compiled, too
        if old.name != "build":
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, (os.fsdecode(f) for f in files)):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)  # of now: older than what was built from another, it would not be compiled


def try_all(mutants, root, build, trust):
    escaped, caught = [], 0
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    done = make(build, [t for test in tests for t in targets_of(test)])
    if done is None or done.returncode:
        sys.exit(f"without a mistake it does not build:\n{done and done.stdout[-2000:]}")
    sound = {test for test in tests if trust or passes(test, build, root)}
    for test in tests:
        if test not in sound:
            print(f"{test} fails without a mistake: it counts for none", flush=True)
    for mutant in mutants:
        start, by = time.monotonic(), None
        path, before = mutant.apply(root)
        try:
            done = make(build, [t for test in mutant.tests for t in targets_of(test)])
            if done is None or done.returncode:
                by = "nothing: it does not build"
            else:
                by = next((f"by {test}" for test in mutant.tests if test in sound and not passes(test, build, root)), None)
        finally:
            path.write_text(before)
        if by and by.startswith("by"):
            caught += 1
            print(f"caught   {mutant.name} {by} ({time.monotonic() - start:.0f} s)", flush=True)
        else:
            escaped.append(mutant.name)
            print(f"ESCAPED  {mutant.name}: {mutant.what}; seen by {by or 'none of ' + ', '.join(mutant.tests)}", flush=True)
    print(f"{caught} of {len(mutants)} mistakes caught" + (f"; escaped: {', '.join(escaped)}" if escaped else ""))
    return not escaped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, help="keep the copy and its build there for the next time")
    parser.add_argument("--cmake", action="append", default=[])
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    mutants = [Mutant(path) for path in sorted(FOLDER.glob("*.txt")) if not args.name or path.stem in args.name]
    problems = list(filter(None, (mutant.problem(ROOT) for mutant in mutants)))
    if problems or args.check:
        print("\n".join([*problems, f"{len(mutants)} mistakes, {len(problems)} without their place"]))
        sys.exit(bool(problems))
    with tempfile.TemporaryDirectory() as own:
        place = (args.build or pathlib.Path(own)).resolve()
        root, build = place, place / "build"
        copy_tree(root)
        subprocess.run(["cmake", "-S", str(root), "-B", str(build), "-G", "Ninja", *args.cmake], check=True, stdout=subprocess.DEVNULL)
        sys.exit(not try_all(mutants, root, build, args.trust))


main()
