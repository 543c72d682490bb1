#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each floor of src/ includes only its own folder and floors below it; examples/ and python/ only public headers,
tools/ and plugins/ also the headers of src/ that are made for them; tests/ only public headers, src/ and what lies beside them. No header includes itself by way of others, and no
sources (a .c with its .h) go round in a circle. Prints every include and circle that breaks this and exits with 1."""
import pathlib
import re
import sys

FLOORS = {"base": 1, "geometry": 2, "cpu": 3, "device": 3, "kernels": 4, "io": 4, "dist": 4, "papers": 4.5, "planner": 5, "ops": 6,
          "prep": 7, "job": 7, "center": 8, "simulate": 8, "recon": 9, "bench": 10}
root = pathlib.Path(__file__).resolve().parent.parent
GUESTS = {"plugins": {"bench/rabbitct_engine.h"},
          "tools": {"bench/bench_options.h", "io/hdf5/hdf5_guard.h", "planner/cluster_plan.h"}}  # qb_tool_...: exported, but for qb alone
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
bad = 0


def complain(file, what):
    global bad
    bad += 1
    print(f"{file.relative_to(root) if isinstance(file, pathlib.Path) else file}: {what}")


def files(folder):
    return sorted(f for f in root.glob(f"{folder}/**/*") if f.suffix in (".c", ".h", ".cpp", ".hpp", ".pyx") and f.is_file())


def includes(file):
    return include.findall(file.read_text(errors="replace"))


def check_floors():
    for file in files("src"):
        room = file.relative_to(root / "src").parts[0]
        if room not in FLOORS:
            complain(file, f"src/{room} has no floor in {pathlib.Path(__file__).name}")
            continue
        for name in includes(file):
            other = name.split("/")[0]
            if other == "quickbeam" or "/" not in name or other == room:
                continue
            if other not in FLOORS:
                complain(file, f"includes {name}, which is on no floor")
            elif FLOORS[other] >= FLOORS[room]:
                complain(file, f"floor {FLOORS[room]} includes {name} of floor {FLOORS[other]}")
        if "<cjson/" in file.read_text() and file.stem != "json":
            complain(file, "includes cJSON itself: base/json.h remembers what memory could not hold")


def check_guests():
    """Whoever uses the library as others do sees what others see; tests may look inside, but at no other test's."""
    for folder in ("tools", "plugins", "examples", "python"):
        for file in files(folder):
            for name in includes(file):
                if name in GUESTS.get(folder, ()):
                    continue
                if not name.startswith("quickbeam/") and not (file.parent / name).exists():
                    complain(file, f"includes {name}, which is neither public nor beside it")
    for file in files("tests"):
        for name in includes(file):
            known = [file.parent / name, root / "src" / name, root / "include" / name, root / "tests" / name]
            if not any(place.exists() for place in known):
                complain(file, f"includes {name}, which is nowhere in the house")


def circles(arrows):
    """The strongly connected parts of more than one node, by Tarjan."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(sorted(part))

    for node in sorted(arrows):
        if node not in number:
            visit(node)
    return sorted(found)


def check_circles():
    headers, sources = {}, {}
    for file in files("src"):
        for name in includes(file):
            other = root / "src" / name if (root / "src" / name).exists() else file.parent / name
            if not other.exists() or "quickbeam/" in name:
                continue
            a, b = (str(f.resolve().relative_to(root / "src")) for f in (file, other))
            if file.suffix == ".h":
                headers.setdefault(a, set()).add(b)
            a, b = (f.rsplit(".", 1)[0] for f in (a, b))
            if a != b:
                sources.setdefault(a, set()).add(b)
    for part in circles(headers):
        complain(" ".join(part), "headers that include each other")
    for part in circles(sources):
        complain(" ".join(part), "sources that need each other: take apart what both need")


check_floors()
check_guests()
check_circles()
print(f"floors: {bad} wrong includes or circles")
sys.exit(bad != 0)
