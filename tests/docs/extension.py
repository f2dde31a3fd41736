"""Follows a page that shows how to extend kvsim: writes its files, applies its changes, builds, and runs its commands.

Of the blocks of the page
  yaml, csv, json  are files, named by the last path in the paragraph before them;
  cpp         is a new source file, likewise;
  diff        is a change of a source file: lines to find, and lines with + that come in after them;
  console     is run with the kvsim that comes out.

Only the touched files are compiled, with the flags of their folder. They are linked in front of the libraries that are
there, whose own versions of them are then not needed.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys

from console import check
from pages import blocks, read, write


def fail(block, message):
    raise SystemExit(f"{block.page}:{block.line}: {message}")


def apply(block, path):
    """Puts the lines with + after the lines without, which must be there once."""
    old = [line[1:].rstrip() for line in block.text.splitlines() if not line.startswith("+")]
    new = [line[1:].rstrip() for line in block.text.splitlines()]
    text = read(path)
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    if text.count(before) != 1:
        fail(block, f"{block.file} has the lines to change {text.count(before)} times, expected once:\n{before}")
    write(path, text.replace(before, after))


def write_files(page, source, scratch):
    """Returns the source files to compile, relative to the repository."""
    touched = []
    for block in blocks(page):
        if block.text.startswith("$ "):
            continue
        if not block.file:
            fail(block, "the paragraph before this block names no file")
        is_data = block.language in ("yaml", "csv", "json")
        path = os.path.join(scratch, "" if is_data else "source", block.file)
        if block.language == "diff":
            if not os.path.exists(path):
                os.makedirs(os.path.dirname(path), exist_ok=True)
                shutil.copyfile(os.path.join(source, block.file), path)
            apply(block, path)
        elif is_data or block.language == "cpp":
            if os.path.exists(os.path.join(source, block.file)):
                fail(block, f"{block.file} is there already")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, block.text)
        else:
            fail(block, f"a block of the language {block.language!r}, expected yaml, csv, cpp, diff or commands")
        if block.file.endswith(".cpp") and block.file not in touched:
            touched.append(block.file)
    return touched


def compile_file(name, source, build, scratch):
    """With the flags of the file, or of any in its folder where it is new."""
    entries = json.loads(read(os.path.join(build, "compile_commands.json")))
    folder = os.path.dirname(os.path.join(source, name))
    parent = os.path.dirname(folder)
    path = os.path.join(source, name)
    ranked = sorted(entries, key=lambda e: (e["file"] != path, os.path.dirname(e["file"]) != folder,
                                            os.path.dirname(e["file"]) != parent))
    words = shlex.split(ranked[0]["command"])
    obj = os.path.join(scratch, name.replace("/", "_") + ".o")
    words = words[:words.index("-o")] + ["-o", obj, "-c", os.path.join(scratch, "source", name)]
    compiler = next(i for i, word in enumerate(words) if word.startswith("-"))
    words[compiler:compiler] = ["-I" + os.path.join(scratch, "source")]
    subprocess.run(words, cwd=ranked[0]["directory"], check=True)
    return obj


def link(objects, build, ninja, output):
    """As kvsim is linked, with the objects in front."""
    commands = subprocess.run([ninja, "-C", build, "-t", "commands", "kvsim"], check=True, capture_output=True,
                              text=True)
    last = [line for line in commands.stdout.splitlines() if " -o bin/kvsim " in line][-1]
    in_front = " ".join(map(shlex.quote, objects))
    line = last.replace(" -o bin/kvsim ", f" {in_front} -o {shlex.quote(output)} ")
    # In a unity build a file's definitions are in its neighbours' object as well: the first, the file's own, counts.
    line = line.replace(" -o ", " -Wl,--allow-multiple-definition -o ", 1)
    subprocess.run(["/bin/sh", "-c", line], cwd=build, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("--source", required=True, help="the repository")
    parser.add_argument("--build", required=True, help="its build folder, in which kvsim was built")
    parser.add_argument("--ninja", default="ninja")
    parser.add_argument("--scratch", required=True, help="a folder that is emptied first")
    options = parser.parse_args()
    scratch = os.path.abspath(options.scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(os.path.join(scratch, "bin"))
    os.symlink(os.path.join(os.path.abspath(options.source), "scenarios"), os.path.join(scratch, "scenarios"))
    touched = write_files(options.page, options.source, scratch)
    objects = [compile_file(name, options.source, os.path.abspath(options.build), scratch) for name in touched]
    kvsim = os.path.join(scratch, "bin", "kvsim")
    link(objects, options.build, options.ninja, kvsim)
    return 1 if check(options.page, kvsim, scratch, os.environ.get("KVSIM_UPDATE_GOLDENS") == "1") else 0


if __name__ == "__main__":
    sys.exit(main())
