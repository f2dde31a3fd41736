"""Checks the include graph: includes.py SOURCE

Every include of the program is of a library that its own one links.
A library is what a CMakeLists.txt names in kvsim_library(NAME ... SOURCES ... LINKS ... PRIVATE_LINKS ...). Its headers
are those of its folder and of the folders of its sources. What it links may be reached through others. A header
without a source of its own needs no link; it may be included from its own top folder and from those above.

Tests of models, sim and planner, which are in a folder of tests/ with the name of what they test, include nothing of
tools, nor do headers of tests that they include.

The children of a folder are its subfolders and its units: a source with its header. None of them includes itself by way
of others.
"""

import argparse
import pathlib
import re
import sys

TOPS = ("models", "sim", "planner", "tools")  # from the lowest up
INCLUDE = re.compile(r'^#include "((?:%s)/[^"]+)"' % "|".join(TOPS), re.MULTILINE)


class Library:
    def __init__(self, source, name, folder, words):
        self.name = name
        part = ""
        self.sources, self.links = [], []
        for word in words:
            if word in ("SOURCES", "LINKS", "PRIVATE_LINKS", "SELDOM"):
                part = word
            elif part == "SOURCES" and word.startswith("${"):  # a folder of kvsim_registry
                self.sources += [file.relative_to(source) for file in sorted((source / folder / word[2:-1]).glob("*.cpp"))]
            elif part == "SOURCES":
                self.sources.append(folder / word)
            elif part in ("LINKS", "PRIVATE_LINKS"):
                self.links.append(word)
        self.folders = {folder} | {source.parent for source in self.sources}


def libraries(source):
    found = []
    for top in TOPS:
        for file in sorted((source / top).rglob("CMakeLists.txt")):
            text = re.sub(r"#.*", "", file.read_text(encoding="utf-8"))
            for call in re.findall(r"kvsim_library\(([^)]*)\)", text):
                name, *words = call.split()
                found.append(Library(source, name, file.parent.relative_to(source), words))
    return found


def reached(library, by_name):
    """Names of all that it links, and what these link."""
    names, left = set(), [library.name]
    while left:
        name = left.pop()
        if name not in names:
            names.add(name)
            left.extend(by_name[name].links if name in by_name else [])
    return names


def wrong_includes(source):
    found = libraries(source)
    by_name = {library.name: library for library in found}
    owners = {}
    for library in found:
        for folder in library.folders:
            owners.setdefault(folder, set()).add(library.name)
    wrong = []
    for library in found:
        links = reached(library, by_name)
        headers = {h.relative_to(source) for folder in library.folders for h in (source / folder).glob("*.h")
                   if owners[folder] == {library.name}}
        for file in sorted(set(library.sources) | headers):
            for included in INCLUDE.findall((source / file).read_text(encoding="utf-8")):
                header = pathlib.Path(included)
                alone = not (source / header).with_suffix(".cpp").exists()
                if alone and TOPS.index(header.parts[0]) <= TOPS.index(file.parts[0]):
                    continue
                of = owners.get(header.parent, set())
                if not of & links:
                    wrong.append(f"{file}: {included} is of {' or '.join(sorted(of)) or 'no library'}, which {library.name} does not link")
    return found, wrong


def included(source, file, pattern):
    return re.findall(rf'^#include "((?:{pattern})/[^"]+)"', (source / file).read_text(encoding="utf-8"), re.MULTILINE)


def tests_of_tools(source):
    """Includes of tools that tests of lower folders reach, through headers of tests or not."""
    below = [folder for folder in sorted((source / "tests").iterdir()) if folder.name in ("planner", "support")
             or any((source / top / folder.name).is_dir() for top in TOPS[:-1])]
    wrong = []
    for folder in below:
        for test in sorted(folder.rglob("*.cpp")) + sorted(folder.rglob("*.h")):
            seen, left = set(), [test.relative_to(source)]
            while left:
                file = left.pop()
                seen.add(file)
                wrong += [f"{test.relative_to(source)}: {file} includes {header}, which is above what it tests"
                          for header in included(source, file, "tools")]
                left += [pathlib.Path(h) for h in included(source, file, "tests") if pathlib.Path(h) not in seen]
    return below, wrong


def included_files(source):
    """Of each file of the program, the program's files that it includes."""
    files = {file.relative_to(source): file for top in TOPS for file in sorted((source / top).rglob("*"))
             if file.suffix in (".h", ".cpp", ".cu", ".cuh")}
    return {name: [pathlib.Path(i) for i in INCLUDE.findall(file.read_text(encoding="utf-8"))]
            for name, file in files.items()}


def arrows_of(folder, includes):
    """What children of a folder include each other: {child: {other child: (file, file that it includes)}}."""
    def child_of(file):
        return pathlib.PurePath(*file.parts[:len(folder.parts) + 1]).with_suffix("") if folder in file.parents else None
    arrows = {}
    for file, included in includes.items():
        child = child_of(file)
        for header in included if child else []:
            other = child_of(header)
            if other and other != child:
                arrows.setdefault(child, {}).setdefault(other, (file, header))
    return arrows


def shortest_circle(arrows):
    """Children of which each includes the next, and the last the first; none where nothing includes itself."""
    shortest = []
    for first in arrows:
        paths = [[first]]
        seen = set()
        while paths and (not shortest or len(paths[0]) < len(shortest)):
            path = paths.pop(0)
            for child in arrows.get(path[-1], {}):
                if child == first:
                    shortest, paths = path, []
                    break
                if child not in seen:
                    seen.add(child)
                    paths.append(path + [child])
    return shortest


def knots_and_arrows_up(source):
    """Files that include one of a higher top folder, and children of a folder that include each other in a circle."""
    includes = included_files(source)
    wrong = [f"{file}: {header} is above it" for file, included in includes.items() for header in included
             if TOPS.index(header.parts[0]) > TOPS.index(file.parts[0])]
    folders = {folder for file in includes for folder in file.parents if folder.parts}
    for folder in sorted(folders):
        arrows = arrows_of(folder, includes)
        circle = shortest_circle(arrows)
        if circle:
            wrong.append(f"{folder}: {', '.join(child.name for child in circle)} include each other in a circle")
            for child, other in zip(circle, circle[1:] + circle[:1]):
                wrong.append("    {} includes {}".format(*arrows[child][other]))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    source = parser.parse_args().source
    found, wrong = wrong_includes(source)
    below, above = tests_of_tools(source)
    wrong += knots_and_arrows_up(source)
    for line in wrong + above:
        print(line)
    return 1 if wrong or above or len(found) < 20 or len(below) < 15 else 0


sys.exit(main())
