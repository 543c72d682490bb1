#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""reader-coverage.py [FOLDER]: how many lines of each reader the unit tests of files reach, by gcc's counters in a build of
its own (in FOLDER, where it is kept). Minutes, by hand; what libFuzzer reaches besides is counted by scripts/fuzz.sh."""
import collections
import fnmatch
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
READERS = {
    "HDF5": "io/hdf5/*_angles.c io/hdf5/*_chunks.c io/hdf5/*_exchange.c io/hdf5/*_nxtomo.c io/hdf5/*_scan.c io/hdf5/*_source.c "
            "io/hdf5/*_virtual.c io/hdf5/*_walk.c io/hdf5/hdf5.c",
    "TIFF": "io/tiff/tiff_ifd.c io/tiff/tiff_page.c io/tiff/tiff_read.c io/tiff/tiff_samples.c",
    "MetaImage": "io/plain/mha.c",
    "NPY": "io/plain/npy.c",
    "raw, .json": "io/plain/raw.c io/plain/raw_series.c io/sidecar.c",
    "RabbitCT": "io/plain/rabbitct.c",
    "angles": "io/geometry/angle*.c",
    "geometry JSON": "io/geometry/geometry_json.c",
    "RTK XML": "io/geometry/geometry_rtk.c",
    "matrices": "io/geometry/geometry_matrices.c",
}
UNIT = "io_read io_tiff io_hdf5 io_words io_angles io_threads io_guard geometry_files rabbitct".split()


def reached(build):
    """{file of src/: (lines that were run, lines)}"""
    lines = collections.defaultdict(dict)
    for notes in build.glob("CMakeFiles/qb_objects.dir/src/**/*.gcno"):
        if not notes.with_suffix(".gcda").exists():
            continue
        told = subprocess.run(["gcov", "--json-format", "--stdout", str(notes)], cwd=build, capture_output=True, check=True).stdout
        for file in json.loads(gzip.decompress(told) if told[:2] == b"\x1f\x8b" else told)["files"]:
            path = (build / file["file"]).resolve()
            if ROOT / "src" in path.parents:
                for line in file["lines"]:
                    mine = lines[str(path.relative_to(ROOT / "src"))]
                    mine[line["line_number"]] = mine.get(line["line_number"], 0) + line["count"]
    return {name: (sum(n > 0 for n in counts.values()), len(counts)) for name, counts in lines.items()}


def main():
    with tempfile.TemporaryDirectory() as own:
        build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else own).resolve()
        subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=--coverage -O0",
                        "-DCMAKE_EXE_LINKER_FLAGS=--coverage", "-DCMAKE_SHARED_LINKER_FLAGS=--coverage"], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["cmake", "--build", build, "--target", *(f"unit_{name}" for name in UNIT)], check=True,
                       stdout=subprocess.DEVNULL)
        for counts in build.rglob("*.gcda"):
            counts.unlink()
        for name in UNIT:
            subprocess.run([build / f"tests/unit/unit_{name}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = reached(build)
        print("| reader | lines | reached |\n|---|---:|---:|")
        for what, files in READERS.items():
            mine = [counts for path, counts in found.items() if any(fnmatch.fnmatch(path, f) for f in files.split())]
            run, lines = (sum(counts[i] for counts in mine) for i in range(2))
            print(f"| {what} | {lines} | {100 * run / lines:.0f} % |")


main()
