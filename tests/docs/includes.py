"""Checks the include graph: includes.py SOURCE

Every include of the program is of a library that its own one links.
A library is what a CMakeLists.txt names in kvsim_library(NAME ... SOURCES ... LINKS ... PRIVATE_LINKS ...). Its headers
are those of its folder and of the folders of its sources. What it links may be reached through others. A header
without a source of its own needs no link; it may be included from its own top folder and from those above.

Tests of models, sim and planner, which are in a folder of tests/ with the name of what they test, include nothing of
tools, nor do headers of tests that they include.
"""

import argparse
import pathlib
import re
import sys

TOPS = ("models", "sim", "planner", "tools")  # from the lowest up


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
            text = (source / file).read_text(encoding="utf-8")
            for included in re.findall(r'^#include "((?:%s)/[^"]+)"' % "|".join(TOPS), text, re.MULTILINE):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=pathlib.Path)
    source = parser.parse_args().source
    found, wrong = wrong_includes(source)
    below, above = tests_of_tools(source)
    for line in wrong + above:
        print(line)
    return 1 if wrong or above or len(found) < 20 or len(below) < 15 else 0


sys.exit(main())
