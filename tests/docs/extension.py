"""Follows a page that shows how to extend kvsim: writes its files, applies its changes, builds, and runs its commands.

Of the blocks of the page
  yaml, csv, json  are files, named by the last path in the paragraph before them;
  cpp         is a new source file, likewise;
  diff        is a change of a source file: lines to find, and lines with + that come in after them;
  console     is run with the kvsim that comes out.

A section says how many files of the program it writes or changes ("Program files: 1."), and does. Only those are
compiled, with the flags of their folder, and the tables of their registries (cmake/registry.cmake), which are generated
anew. They are linked in front of the libraries that are there, whose own versions of them are then not needed. The
files of a section that changes a header are compiled and not linked: all that includes it would have to be compiled.
"""

import argparse
import json
import os
import re
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


def sections(page):
    """(line, heading, program files that it announces or None) of every section."""
    found = []
    for number, line in enumerate(read(page).splitlines(), 1):
        said = re.search(r"Program files: (\d+)\.", line)
        if line.startswith("## "):
            found.append([number, line[3:], None])
        elif said and found:
            found[-1][2] = int(said.group(1))
    return found


def write_files(page, source, scratch):
    """Returns the sections' program files: {heading: [file, ...]}, relative to the repository. Those of a section are
    below scratch/source, or, where it changes a header, below a folder of its own."""
    touched = {}
    headings = sections(page)
    changed = {section_of(headings, block) for block in blocks(page)
               if block.language == "diff" and block.file.endswith(".h")}
    for block in blocks(page):
        if block.text.startswith("$ "):
            continue
        if not block.file:
            fail(block, "the paragraph before this block names no file")
        heading = section_of(headings, block)
        is_data = block.language in ("yaml", "csv", "json")
        path = os.path.join(scratch, "" if is_data else folder_of(heading, heading in changed), block.file)
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
        if not is_data and block.file not in touched.setdefault(heading, []):
            touched[heading].append(block.file)
    for _, heading, announced in headings:
        if announced != (len(touched[heading]) if heading in touched else None):
            raise SystemExit(f"{page}: section \"{heading}\" announces {announced} program files, and writes "
                             f"{touched.get(heading, [])}")
    return touched, changed


def section_of(headings, block):
    return [heading for line, heading, _ in headings if line < block.line][-1]


def folder_of(heading, alone):
    return re.sub(r"\W+", "_", heading) if alone else "source"


def registry_tables(files, source, scratch):
    """Generates the tables of the registries that new files belong to, with them; their paths below scratch."""
    tables = set()
    for name in files:
        folder = os.path.dirname(name)
        while folder and not os.path.exists(os.path.join(source, folder, "CMakeLists.txt")):
            folder = os.path.dirname(folder)
        part = os.path.relpath(os.path.dirname(name), folder)
        call = re.search(rf"kvsim_registry\({re.escape(part)} [^)]*\)",
                         read(os.path.join(source, folder, "CMakeLists.txt")))
        if not call or os.path.exists(os.path.join(source, name)):
            continue
        here = os.path.join(scratch, "source", folder)
        for other in os.listdir(os.path.join(source, folder, part)):
            if not os.path.exists(os.path.join(here, part, other)):
                os.symlink(os.path.join(source, folder, part, other), os.path.join(here, part, other))
        script = os.path.join(scratch, "table.cmake")
        write(script, f"set(CMAKE_CURRENT_SOURCE_DIR {here})\nset(CMAKE_CURRENT_BINARY_DIR {here})\n"
                      f"include({source}/cmake/registry.cmake)\n{call.group(0)}\n")
        subprocess.run(["cmake", "-P", script], check=True)
        table = re.search(r"TABLE (\w+)", call.group(0)).group(1)
        tables.add(os.path.join(folder, table + ".cpp"))
    return sorted(tables)


def compile_file(name, source, build, scratch, written="source"):
    """With the flags of the file, or of any in its folder where it is new."""
    entries = json.loads(read(os.path.join(build, "compile_commands.json")))
    folder = os.path.dirname(os.path.join(source, name))
    parent = os.path.dirname(folder)
    path = os.path.join(source, name)
    ranked = sorted(entries, key=lambda e: (e["file"] != path, os.path.dirname(e["file"]) != folder,
                                            os.path.dirname(e["file"]) != parent))
    words = shlex.split(ranked[0]["command"])
    obj = os.path.join(scratch, name.replace("/", "_") + ".o")
    words = words[:words.index("-o")] + ["-o", obj, "-c", os.path.join(scratch, written, name)]
    compiler = next(i for i, word in enumerate(words) if word.startswith("-"))
    words[compiler:compiler] = ["-I" + os.path.join(scratch, written)]
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
    source, build = os.path.abspath(options.source), os.path.abspath(options.build)
    touched, changed = write_files(options.page, source, scratch)
    objects = []
    for heading, files in touched.items():
        alone = heading in changed
        if not alone:
            files = files + registry_tables(files, source, scratch)
        made = [compile_file(name, source, build, scratch, folder_of(heading, alone)) for name in files
                if name.endswith(".cpp")]
        objects += [] if alone else made
    kvsim = os.path.join(scratch, "bin", "kvsim")
    link(objects, build, options.ninja, kvsim)
    return 1 if check(options.page, kvsim, scratch, os.environ.get("KVSIM_UPDATE_GOLDENS") == "1") else 0


if __name__ == "__main__":
    sys.exit(main())
