#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of docs/gallery, by the commands of docs/gallery.md: make-gallery.py build/qb [FOLDER]. Only those that
changed are written anew. Measured scans are taken from tests/data."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(qb, folder):
    page = (ROOT / "docs" / "gallery.md").read_text()
    wanted = re.findall(r"\]\(gallery/([^)]+)\)", page)
    env = dict(os.environ, PATH=str(Path(qb).resolve().parent) + os.pathsep + os.environ["PATH"], QB_TUNING="")
    with tempfile.TemporaryDirectory() as work:
        os.symlink(ROOT / "tests" / "data", Path(work) / "data")
        for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S):
            done = subprocess.run(["sh", "-ec", block], cwd=work, env=env, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{block}{done.stderr}")
        for name in wanted:
            made, kept = Path(work) / name, folder / name
            if made.stat().st_size > 100_000:
                sys.exit(f"{name} has {made.stat().st_size} bytes; a page loads a dozen of them: 100,000 at most")
            if not kept.exists() or made.read_bytes() != kept.read_bytes():
                shutil.copyfile(made, kept)
                print(kept)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "docs" / "gallery")
