#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each floor of src/ includes only its own folder and floors below it; tools/ and plugins/ only public
headers. Prints every include that breaks this and exits with 1."""
import pathlib
import re
import sys

FLOORS = {"base": 1, "geometry": 2, "cpu": 3, "device": 3, "kernels": 4, "io": 4, "dist": 4, "planner": 5, "ops": 6,
          "prep": 7, "job": 7, "center": 8, "simulate": 8, "recon": 9, "bench": 10}
root = pathlib.Path(__file__).resolve().parent.parent
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
bad = 0


def complain(file, what):
    global bad
    bad += 1
    print(f"{file.relative_to(root)}: {what}")


for file in sorted(root.glob("src/*/**/*.[ch]")):
    room = file.relative_to(root / "src").parts[0]
    if room not in FLOORS:
        complain(file, f"src/{room} has no floor in {pathlib.Path(__file__).name}")
        continue
    for name in include.findall(file.read_text()):
        other = name.split("/")[0]
        if other == "quickbeam" or "/" not in name or other == room:
            continue
        if other not in FLOORS:
            complain(file, f"includes {name}, which is on no floor")
        elif FLOORS[other] >= FLOORS[room]:
            complain(file, f"floor {FLOORS[room]} includes {name} of floor {FLOORS[other]}")
for file in sorted(root.glob("src/**/*.[ch]")):
    if "<cjson/" in file.read_text() and file.stem != "json":
        complain(file, "includes cJSON itself: base/json.h remembers what memory could not hold")
for file in sorted(root.glob("tools/**/*.[ch]")):
    for name in include.findall(file.read_text()):
        if "/" in name and not name.startswith("quickbeam/"):
            complain(file, f"a tool includes {name}, which is not public")
print(f"floors: {bad} wrong includes")
sys.exit(bad != 0)
