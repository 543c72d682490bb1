#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Private words that stood where the field has its own: no identifier and no file of src/, include/ and tools/ has one as a part
of its name (docs/glossary.md has the words to use). Comments and texts are not looked at. Prints each and exits with 1."""
import pathlib
import re
import sys

WORDS = ("beside upright leveled bend bending row_ends told_job take_up other_job greys few_lines ends_asked aside mbir_beyond "
         "mbir_lost door shadow shadows folded unfold unfolded").split()
FILES = WORDS + "seen hidden exchange set place pace fold level turned said spare alone apart".split()
CODE = {".c", ".h", ".cl", ".clh", ".cu", ".cuh"}
root = pathlib.Path(__file__).resolve().parent.parent
lexer = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|([A-Za-z_]\w*)""", re.S)
bad = 0


def has(name, words):
    padded = f"_{name.lower()}_"
    return next((word for word in words if f"_{word}_" in padded), None)


for file in sorted(f for folder in ("src", "include", "tools") for f in (root / folder).rglob("*") if f.suffix in CODE):
    name = file.relative_to(root)
    if file.stem in FILES or has(file.stem, WORDS):
        print(f"{name}: a file of a private name")
        bad += 1
    text = file.read_text()
    for match in lexer.finditer(text):
        word = match[1] and has(match[1], WORDS)
        if word:
            print(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[1]} has the word {word}")
            bad += 1
print(f"words: {bad} private names")
sys.exit(bad != 0)
