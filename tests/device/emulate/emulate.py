#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel in CUDA C++ -> a library for this processor: emulate.py SOURCE LIBRARY OPTION...

Each piece of PTX becomes a call of emulate.h, found by what the piece says; one that is not in the table is an error."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
# What a piece of PTX contains, and the function that does the same; operands in their order, those written to first.
PTX = [
    ("ld.shared.f32", "load_float"),
    ("rcp.approx.ftz.f32", "reciprocal"),
    ("%%smid", "multiprocessor"),
    ("cvt.f32.f16 %0, %1;", "half_to_float"),
    ("cvt.rn.f16.f32 %0, %1;", "float_to_half"),
    ("cvt.rn.f16x2.f32 %0, %1, %1;", "halves1"),
    ("fma.rn.f16x2", "halves_fma"),
    ("add.rn.f16x2 %0, %1, %2;", "halves_add"),
    ("sub.rn.f16x2 %0, %1, %2;", "halves_sub"),
    ("mbarrier.init.shared", "barrier_init"),
    ("mbarrier.arrive.shared", "barrier_arrive"),
    ("mbarrier.arrive.expect_tx.shared", "barrier_expect"),
    ("mbarrier.try_wait.parity.shared", "barrier_test"),
    ("mbarrier.test_wait.parity.shared", "barrier_test"),
    ("bar.sync 1, %0;", "barrier_group"),
    ("cp.async.bulk.shared::cluster.global.mbarrier", "copy_bulk"),
    ("cp.async.cg.shared.global [%0], [%1], 16;", "copy_16"),
    ("cp.async.ca.shared.global [%0], [%1], %2;", "copy"),
    ("cp.async.mbarrier.arrive.noinc.shared", "copies_arrive"),
]


def end_of(text, at):
    """Behind the bracket that closes the one at `at`."""
    depth = 0
    for m in re.compile(r'"(?:\\.|[^"\\])*"|[()]').finditer(text, at):
        depth += {"(": 1, ")": -1}.get(m[0], 0)
        if depth == 0:
            return m.end()
    raise SystemExit("a bracket is not closed")


def operands(part):
    """The expressions of `"r"(a), "f"(b)`."""
    found, at = [], 0
    while m := re.compile(r'\s*,?\s*"[^"]*"\s*(?=\()').match(part, at):
        at = end_of(part, m.end())
        found.append(part[m.end() + 1:at - 1])
    return found


def call_of(body):
    """`"..." : outputs : inputs : clobbers` as a call."""
    m = re.match(r'\s*((?:"(?:\\.|[^"\\])*"\s*)+)', body)
    said = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', m[1]))
    parts, at, start = [], m.end(), m.end()
    while at < len(body):
        if body[at] == ":":
            parts.append(body[start:at])
            start = at = at + 1
        elif body[at] in '("':
            at = end_of(body, at) if body[at] == "(" else body.index('"', at + 1) + 1
        else:
            at += 1
    parts.append(body[start:])
    given = [e for part in parts[1:3] for e in operands(part)]
    for words, name in PTX:
        if words in said:
            if name == "halves1":
                name, given = "halves", [given[0], given[1], given[1]]
            return f"ptx_{name}({', '.join(given)})"
    raise SystemExit(f"not emulated: {said}")


def translate(text):
    done, at = [], 0
    for m in re.finditer(r"\basm\s+(?:volatile\s*)?(?=\()|\basm(?=\()", text):
        if m.start() < at:
            continue
        end = end_of(text, m.end())
        done += [text[at:m.start()], call_of(text[m.end() + 1:end - 1])]
        at = end
    return "".join(done) + text[at:]


def narrow(options):
    """With EMULATE_NARROW, a ring of boxes (bp_cone_circular_local.cl) has room for the largest one and no more."""
    said = dict(re.findall(r"-D(\w+)=(\d+)", " ".join(options)))
    if "RING" not in said or not os.environ.get("EMULATE_NARROW"):
        return options
    return [o for o in options if not o.startswith("-DRING=")] + [f"-DRING={int(said['BOX']) * int(said['ROWS'])}"]


def main(source, library, *options):
    options = narrow(options)
    arch = next(int(re.sub(r"\D", "", o)) for o in options if o.startswith("-arch="))
    macros = [o for o in options if o.startswith("-D")] + [f"-D__CUDA_ARCH__={arch * 10}"]
    text = pathlib.Path(source).read_text()
    text = re.sub(r"extern __shared__ [^;]*qb_dynamic_local\[\];", "", text)
    text = re.sub(r"typedef unsigned long long ulong;[^\n]*", "#define ulong unsigned long long", text)
    plain = pathlib.Path(source).with_suffix(".plain.cc")
    plain.write_text(f'#include "{HERE / "emulate.h"}"\n#define QB_KERNELS_BEGIN\nint qb_kernels_begin;\n' + text)
    run = lambda *words: subprocess.run(["g++", "-std=c++17", "-w", *words], check=True)
    # The calls that are put in for the thread sanitizer are emulate.h's own, so its library is not linked.
    watched = ["-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0"] if os.environ.get("EMULATE_WRITTEN") else []
    run("-E", "-P", *watched, *macros, str(plain), "-o", str(plain) + ".i")
    head, kernels = pathlib.Path(str(plain) + ".i").read_text().split("int qb_kernels_begin;")
    kernels = translate(kernels)
    names = re.findall(r'extern "C"\s+void\s+(\w+)\s*\(', kernels)
    ends = "".join(f'extern "C" int qb_launch_{n}(const qb_launch *l) {{ return qb_emulate("{n}", {n}, l); }}\n' for n in names)
    ready = pathlib.Path(source).with_suffix(".ready.cc")
    ready.write_text(head + kernels + ends)
    run("-O1", "-fPIC", "-c", "-ffp-contract=off", "-fno-strict-aliasing", *watched, str(ready), "-o", str(ready) + ".o")
    run("-shared", str(ready) + ".o", "-o", library)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError:
        sys.exit(1)
