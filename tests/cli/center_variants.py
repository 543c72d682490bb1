#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""qb center on simulated scans with stripes, truncation and noise. By hand, all of them: QB=build/qb tests/cli/center_variants.py"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

QB = os.environ.get("QB", str(Path(__file__).resolve().parents[2] / "build" / "qb"))
PHANTOMS = "shepp-logan", "spheres", "foam", "baggage"
COLUMNS, ROWS = 192, 32
CONE = "--geometry", "cone", "--sod", 400, "--sdd", 600, "--pixel-size", 0.6
# What is wrong with a scan, by name: options of qb simulate.
WAYS = {
    "weak stripes": ("--angles", "0:180", "--rings", 0.02),
    "strong stripes": ("--angles", "0:180", "--rings", 0.2),
    "stripes, full turn": ("--angles", "0:360", "--rings", 0.1),
    "strong stripes, full turn": ("--angles", "0:360", "--rings", 0.4),
    "noise": ("--angles", "0:180", "--photons", 300),
    "noise and stripes": ("--angles", "0:180", "--photons", 2000, "--rings", 0.1),
    "noise and stripes, full turn": ("--angles", "0:360", "--photons", 500, "--rings", 0.1),
    "truncated": ("--angles", "0:180", "--size", "288,288,32"),
    "truncated, full turn, stripes": ("--angles", "0:360", "--size", "288,288,32", "--rings", 0.1),
    "truncated, noise, stripes": ("--angles", "0:180", "--size", "256,256,32", "--photons", 2000, "--rings", 0.05),
    "few views, stripes": ("--angles", "0:180", "--views", 60, "--rings", 0.1),
    "cone, full turn, stripes": (*CONE, "--angles", "0:360", "--rings", 0.1),
    "cone, 250 degrees": (*CONE, "--angles", "0:250"),
    "cone, 250 degrees, stripes": (*CONE, "--angles", "0:250", "--rings", 0.1),
    "cone, 250 degrees, noise": (*CONE, "--angles", "0:250", "--photons", 1000, "--rings", 0.05),
}
OFFSETS = 3.25, -6.5, 9.75, -1.0, 0.5


def variants():
    """(name, options, offset of the axis from the middle column)."""
    for i, (way, phantom) in enumerate(itertools.product(WAYS, PHANTOMS)):
        yield f"{phantom}, {way}", (phantom, *WAYS[way], "--seed", i), OFFSETS[i % len(OFFSETS)]


def look(name, options, offset, folder):
    """How many pixels the axis that is found is off, and the confidence; 0 confidence where none was found."""
    scan = Path(folder) / "s.h5"
    views = [] if "--views" in options else ["--views", 240]
    command = [QB, "simulate", *options, *views, "--detector", f"{COLUMNS},{ROWS}", "--center-offset", offset, "-q", "-o", scan]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    done = subprocess.run([QB, "center", scan, "--json"], capture_output=True, text=True)
    if done.returncode:
        return float("nan"), 0.0, done.stderr.strip()
    found = json.loads(done.stdout)
    said = " ".join(f"{m['name']} {m['column'] or float('nan'):.2f} ({m['confidence']:.2f})" for m in found["methods"])
    return found["column"] - (COLUMNS - 1) / 2 - offset, found["confidence"], said


def judge(results):
    """(within half a pixel, wrong and sure of it) of (off, confidence) pairs."""
    good = [abs(off) <= 0.5 for off, _ in results]
    return sum(good), sum(not g and confidence >= 0.6 for g, (_, confidence) in zip(good, results))


def main():
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options, offset in variants():
            if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
                continue
            off, confidence, said = look(name, options, offset, folder)
            results.append((off, confidence))
            print(f"{'  ' if abs(off) <= 0.5 else '**'} {off:6.2f} {confidence:.2f}  {name}: {said} true {(COLUMNS - 1) / 2 + offset}", flush=True)
    good, sure = judge(results)
    print(f"{good} of {len(results)} within half a pixel; {sure} others with a confidence of 0.6 or more")


if __name__ == "__main__":
    main()
