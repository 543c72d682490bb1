#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-floors.py: each floor of src/ includes only its own folder and floors below it; examples/ and python/ only
public headers, tools/ and plugins/ also the headers of src/ that are made for them; tests/ only public headers, src/ and what
lies beside them. No header includes itself by way of others, and no sources (a .c with its .h) go round in a circle.

The same holds for calls: a function calls only functions of its own folder and of lower floors, no sources call each other in a
circle, and a function that only its own source uses is static. A row of a table that names a function is no call.

Interfaces stay thin: structs of FIELDS have at most so many. recon/ reads no JSON that the library itself has made.

Sources, functions and macros (qb__..., QB__...) that comments and docs name exist; so do the sources that CMake lists as hot.

The structs of a job (JOB) are written by at most three files each: only these assign to their fields. A struct within one
counts by itself; of decisions the files of each method.

Prints everything that breaks these rules and exits with 1."""
import functools
import os
import pathlib
import re
import sys

FLOORS = {"base": 1, "geometry": 2, "cpu": 3, "device": 3, "kernels": 4, "io": 4, "dist": 4, "papers": 4.5, "planner": 5, "ops": 6,
          "prep": 7, "job": 7, "center": 8, "simulate": 8, "recon": 9, "bench": 10}
root = pathlib.Path(__file__).resolve().parent.parent
GUESTS = {"plugins": {"bench/rabbitct_engine.h"},
          "tools": {"bench/bench_options.h", "io/codec/codec_keeps.h", "io/guard/guard.h", "planner/cluster_plan.h", "planner/device_early.h", "recon/sweep.h", "recon/fbp/fbp_planes.h", "recon/fbp/fbp_filtered.h", "recon/plane.h", "prep/frames.h", "prep/pictures.h", "center/center_curve.h"}}  # qb_tool_...: exported, but for qb alone
JOB = ("qb_scan qb_job qb__reconstruction qb__candidate qb__pick qb__share qb__fbp qb__fbp_reader qb__fbp_devices qb__fdk qb__iterative "
       "qb__projection qb__mbir qb__mbir_images qb__mbir_levels qb__mbir_terms qb__mbir_flat qb__mbir_measured qb__decision").split()
FIELDS = {"recon/engine.h qb__engine": 13, "recon/method.h qb__method": 16, "geometry/partition.h qb__cut": 11}
ELSEWHERE = {"cuda.h", "algorithmRegistry.c", "scale.cl", "qb__step_median", "qb__step_square"}  # other programs', and examples of docs/
include = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
bad = 0


def complain(file, what):
    global bad
    bad += 1
    print(f"{file.relative_to(root) if isinstance(file, pathlib.Path) else file}: {what}")


@functools.cache
def files(folder):
    return sorted(f for f in root.glob(f"{folder}/**/*") if f.suffix in (".c", ".h", ".cpp", ".hpp", ".pyx") and f.is_file())


@functools.cache
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
    known = {str(f.relative_to(root / "src")) for f in files("src")}
    for file in files("src"):
        for name in includes(file):
            a, b = str(file.relative_to(root / "src")), name if name in known else os.path.normpath(file.parent.relative_to(root / "src") / name)
            if b not in known:
                continue
            if file.suffix == ".h":
                headers.setdefault(a, set()).add(b)
            a, b = (f.rsplit(".", 1)[0] for f in (a, b))
            if a != b:
                sources.setdefault(a, set()).add(b)
    for part in circles(headers):
        complain(" ".join(part), "headers that include each other")
    for part in circles(sources):
        complain(" ".join(part), "sources that need each other: take apart what both need")


def check_writers():
    """Assignments to a field by way of a pointer or a member whose declaration names the struct, function by function."""
    function = re.compile(r"^\w[^;{}=\n]*\([^;{}]*\)\s*\{.*?^\}", re.M | re.S)
    code = {f: re.sub(r"/\*.*?\*/", "", f.read_text(), flags=re.S) for f in files("src")}
    bodies = [(str(f.relative_to(root)), body) for f, text in code.items() for body in function.findall(text)]
    headers = "\n".join(text for f, text in code.items() if f.suffix == ".h")
    for struct in JOB:
        if not re.search(rf"\}} {struct};|struct {struct} \{{", headers):
            complain("src", f"{struct} is no struct any more: take it out of JOB")
        member = rf"^    {struct} (\w+);"
        shared, own = set(re.findall(member, headers, re.M)), {str(f.relative_to(root)): set(re.findall(member, text, re.M)) for f, text in code.items()}
        writers = set()
        for file, body in bodies:
            names = [rf"(?:->|\.){n}\." for n in shared | own[file] if f"{n}." in body]
            if struct in body:
                names += [rf"\b{n}->" for n in re.findall(rf"(?<!const )\b{struct} \*(?:const )?(\w+)", body)]
                names += [rf"\b{n}\." for n in re.findall(rf"(?<!const )\b{struct} (\w+)", body)]
            field = rf"(?:{'|'.join(names)})\w+"
            if names and re.search(rf"{field}(?:\[[^]=]*\])*\s*(?:[-+*/|&]?=(?!=)|\+\+|--)|(?:\+\+|--){field}", body):
                writers.add(file)
        rooms = {str(pathlib.Path(w).parent) for w in writers} if struct == "qb__decision" else {"src"}
        for here in ([w for w in sorted(writers) if w.startswith(f"{room}/")] for room in rooms):
            if len(here) > 3:
                complain(struct, f"is written by {len(here)} files, three at most: " + " ".join(here))


def check_interfaces():
    for name, most in FIELDS.items():
        file, struct = name.split()
        text = re.sub(r"/\*.*?\*/", "", (root / "src" / file).read_text(), flags=re.S)
        body = re.search(rf"typedef struct {struct} \{{\n(.*?)^\}} {struct};", text, re.M | re.S)
        statements = [re.sub(r"\([^*][^()]*\)", "", s) for s in body.group(1).split(";")[:-1]]  # without parameters of functions
        count = sum(1 + s.count(",") for s in statements)
        if count > most:
            complain(root / "src" / file, f"{struct} has {count} fields, {most} at most")
    for file in files("src/recon"):
        if re.search(r"cJSON_GetObjectItem", file.read_text()):
            complain(file, "reads JSON: what the library knows stands in structs, such as qb__job_facts")


def check_calls():
    """Functions of other sources that a function's body names, itself or by a macro or an inline function of a header. A
    table of functions calls none of them."""
    head = r"^(?!typedef)\w[^;{}=\n]*\b(qb_\w+)\([^;{}]*\)\s*\{"
    code = {str(f.relative_to(root / "src"))[:-2]: re.sub(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", f.read_text(), flags=re.S)
            for f in files("src") if f.suffix == ".c"}
    headers = "".join(re.sub(r"^\w[^;{}]*\);", "", re.sub(r"/\*.*?\*/", "", f.read_text(), flags=re.S), flags=re.M)
                      for f in files("src") if f.suffix == ".h")  # without declarations
    home = {m.group(1): name for name, text in code.items() for m in re.finditer(head, text, re.M) if not m.group(0).startswith("static")}
    macro = r"^#define (\w+)(?:[^\n]*\\\n)*[^\n]*|^static inline[^;{}=\n]*\b(\w+)\([^;{}]*\)\s*\{(?:[^\n]*\}$|.*?^\})"
    by_header = {m.group(1) or m.group(2): {w for w in re.findall(r"\w+", m.group(0)) if w in home}
                 for m in re.finditer(macro, headers, re.M | re.S)}
    used, calls = set(re.findall(r"\w+", headers)), {}
    for file, text in code.items():
        used |= {w for w in re.findall(r"\w+", text) if home.get(w, file) != file}
        for body in re.finditer(r"^\w[^;{}=\n]*\([^;{}]*\)\s*\{(?:[^\n]*\}$|.*?^\})", text, re.M | re.S):
            named = set(re.findall(r"\w+", re.sub(r"\bstatic const [^;]*;", "", body.group(0))))
            for word in sorted(named.union(*(by_header.get(w, ()) for w in named))):
                if home.get(word, file) != file:
                    calls.setdefault(file, {}).setdefault(home[word], word)
    for file, others in calls.items():
        for other, function in others.items():
            floor, below = (FLOORS[n.split("/")[0]] for n in (file, other))
            if file.split("/")[0] != other.split("/")[0] and below >= floor:
                complain(f"src/{file}.c", f"floor {floor} calls {function}() of floor {below}")
    for part in circles({a: set(b) for a, b in calls.items()}):
        arrows = [f"{a}.c calls {f}() of {b}.c" for a in part for b, f in sorted(calls[a].items()) if b in part]
        complain(" ".join(part), "sources that call each other: " + "; ".join(arrows))
    others = "".join(f.read_text(errors="replace") for d in ("include", "tools", "plugins", "tests") for f in files(d))
    words = set(re.findall(r"\w+", others))
    for name in sorted(set(home) - used - words - {"qb_mpi_open"}):  # its library is opened, and it is found by name
        complain(f"src/{home[name]}.c", f"{name}() is used here alone: make it static")


def check_headers():
    """Several sources are compiled as one (scripts/units.cmake), so what a header defines must not take a source's name."""
    for file in (f for f in files("src") if f.suffix == ".h" and f.relative_to(root).parts[1] not in ("cpu", "kernels")):
        for name in re.findall(r"^static inline [^;{(]*?\b(\w+)\(", file.read_text(), re.M):
            if not name.startswith("qb_"):
                complain(file, f"{name}() is in a header: its name begins with qb__")


def check_names():
    """NAME stands for any name; a name that begins with _ is the end of several."""
    there = {f.name for d in ("src", "include", "tools", "plugins", "tests", "examples") for f in (root / d).rglob("*.*")}
    code = [f for d in ("src", "tools", "plugins", "tests") for f in files(d)]
    words = set(re.findall(r"\b(?:qb|QB)__\w+", "".join(re.sub(r"/\*.*?\*/", "", f.read_text(), flags=re.S) for f in code)))
    for file in [f for f in code if "tests" not in f.parts] + sorted((root / "docs").glob("*.md")):
        told = file.read_text() if file.suffix == ".md" else "".join(re.findall(r"/\*.*?\*/", file.read_text(), re.S))
        names = set(re.findall(r"(?<![\w<.*-])[a-z]\w*\.(?:[ch]|cl|clh|cu|cuh)\b(?![\w(>])", told)) - there
        for name in sorted((names | set(re.findall(r"\b(?:qb|QB)__\w*[^\W_]\b", told)) - words) - ELSEWHERE):
            if "NAME" not in name:
                complain(file, f"names {name}, which is not there")


def check_hot():
    """A source of QB_HOT_* that has another name now would be compiled at -O1 without a word."""
    for folder, names in re.findall(r"^set\(QB_HOT_(\w+)\s([^)]*)\)", (root / "CMakeLists.txt").read_text(), re.M):
        for name in sorted(set(names.split()) - {f.stem for f in files(f"src/{folder}") if f.suffix == ".c"}):
            complain("CMakeLists.txt", f"QB_HOT_{folder} names {name}, and there is no such source in src/{folder}")


check_floors()
check_names()
check_hot()
check_guests()
check_headers()
check_circles()
check_writers()
check_interfaces()
check_calls()
print(f"floors: {bad} wrong includes, calls, circles or writers")
sys.exit(bad != 0)
