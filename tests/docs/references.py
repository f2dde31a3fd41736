"""Checks what pages refer to: links and their anchors, files of the repository, names in them, commands and options.

In backticks, a word is taken for a file where it has a folder of the repository or an ending of source code; `*` and
`{a,b}` stand for several. "`file.cpp`: `name`, `other`" says that the file has these names. The README has 150 lines at most.
"""

import argparse
import glob
import os
import re
import subprocess
import sys

from pages import anchors, blocks, prose, read

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")
NAMES = re.compile(r"`([\w./-]+\.(?:cpp|h))`: ((?:`[\w:]+`(?:, | and )?)+)")
COUNTS = [(re.compile(r"(\d+) GPUs, \d+ links"), "gpus"), (re.compile(r"\d+ GPUs, (\d+) links"), "links"),
          (re.compile(r"(\d+) LLMs"), "models"), (re.compile(r"\| compressors \| (\d+)"), "compressors")]
COMMAND = re.compile(r"\bkvsim +([a-z]+)\b([^`|>;&]*)")
ENDINGS = (".cpp", ".h", ".cu")
MOST_LINES = {"README.md": 150}  # a first answer on one screen, and no more than is read


def tracked(source):
    listed = subprocess.run(["git", "-C", source, "ls-files", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [name for name in listed.stdout.splitlines() if os.path.exists(os.path.join(source, name))]
    found = glob.glob("**/*", root_dir=source, recursive=True)  # no checkout: a source archive
    return [name for name in found if not name.startswith("build") and os.path.isfile(os.path.join(source, name))]


def alternatives(word):
    match = re.search(r"\{([^{}]*)\}", word)
    if not match:
        return [word]
    return [out for part in match.group(1).split(",")
            for out in alternatives(word[:match.start()] + part + word[match.end():])]


class Checker:
    def __init__(self, source, kvsim):
        self.source, self.kvsim = source, kvsim
        self.files = tracked(source)
        self.folders = {"/".join(name.split("/")[:n]) for name in self.files for n in range(1, name.count("/") + 1)}
        self.tops = {name.split("/")[0] for name in self.files if "/" in name}
        self.helps, self.failures = {}, 0

    def complain(self, page, line, message):
        self.failures += 1
        print(f"{os.path.relpath(page, self.source)}:{line}: {message}")

    def has(self, word):
        word = word.rstrip("/")
        if word in self.folders or word in self.files:
            return True
        pattern = re.compile("(.*/)?" + re.escape(word).replace(r"\*", "[^/]*") + r"(\.h|\.cpp)?$")
        return any(pattern.match(name) for name in [*self.files, *self.folders])

    def looks_like_file(self, word):
        if not re.fullmatch(r"[\w./*{},-]+", word) or word.startswith(("build/", "/")):
            return False
        return word.endswith(ENDINGS) or ("/" in word and word.split("/")[0] in self.tops)

    def check_links(self, page, line, text):
        for target in LINK.findall(CODE.sub("", text)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, fragment = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(file):
                self.complain(page, line, f"links to {target}, which is not there")
            elif fragment and file.endswith(".md") and fragment not in anchors(file):
                self.complain(page, line, f"links to {target}: no heading has this anchor")

    def check_files(self, page, line, text, new):
        for word in CODE.findall(text):
            if self.looks_like_file(word):
                for one in alternatives(word):
                    if one not in new and not self.has(one):
                        self.complain(page, line, f"names `{one}`, which is not in the repository")

    def check_names(self, page, text):
        for match in NAMES.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            files = [name for name in self.files if name == match.group(1) or name.endswith("/" + match.group(1))]
            content = "".join(read(os.path.join(self.source, name)) for name in files)
            for name in CODE.findall(match.group(2)):
                if not re.search(r"\b" + re.escape(name.split("::")[-1]) + r"\b", content):
                    self.complain(page, line, f"{match.group(1)} has no `{name}`")

    def help(self, command):
        if command not in self.helps:
            done = subprocess.run([self.kvsim, *command.split(), "--help"], capture_output=True, text=True, check=False)
            self.helps[command] = done.stdout if done.returncode == 0 else None
        return self.helps[command]

    def check_commands(self, page, line, text):
        for command, rest in COMMAND.findall(text):
            words = rest.split()
            below = command in ("workload", "calibrate", "model") and words and words[0].isalpha() and words[0].islower()
            if below or (command == "show" and words[:1] == ["step"]):
                command += " " + words[0]
            if self.help(command) is None:
                self.complain(page, line, f"kvsim {command}: no such command")
                continue
            for option in re.findall(r"(?<![\w-])(--[a-z][a-z0-9-]*)", rest):
                if not re.search(re.escape(option) + r"(?![\w-])", self.help(command)):
                    self.complain(page, line, f"kvsim {command} has no option {option}")

    def check_counts(self, page):
        """How many things of a kind come with kvsim."""
        text = read(page)
        for pattern, kind in COUNTS:
            match = pattern.search(text)
            listed = subprocess.run([self.kvsim, "list", kind], capture_output=True, text=True, check=True)
            count = len(listed.stdout.splitlines())
            if not match or int(match.group(1)) != count:
                self.complain(page, 1, f"says nothing or something else of {kind}, of which there are {count}")

    def check_length(self, page):
        most = MOST_LINES.get(os.path.relpath(page, self.source))
        lines = len(read(page).splitlines())
        if most is not None and lines > most:
            self.complain(page, lines, f"has {lines} lines, expected {most} at most")

    def check_excerpt(self, block):
        """Of a scenario of the repository: every line is one of its lines."""
        path = os.path.join(self.source, block.file)
        if block.language != "yaml" or not block.file.startswith("scenarios/") or not os.path.exists(path):
            return
        lines = read(path).splitlines()
        for n, line in enumerate(block.text.splitlines(), 1):
            if line not in lines and line != "...":
                self.complain(block.page, block.line + n, f"{block.file} has no line: {line}")

    def check(self, page):
        found = blocks(page)
        new = {block.file for block in found if block.language == "cpp"}
        new |= {name.rsplit("/", 1)[-1] for name in new}
        for line, text in prose(page):
            self.check_links(page, line, text)
            self.check_files(page, line, text, new)
            for code in CODE.findall(text):
                self.check_commands(page, line, code)
        for block in found:
            self.check_excerpt(block)
            commands = block.text.replace("\\\n", " ")
            for n, text in enumerate(commands.splitlines(), 1):
                if re.match(r"(\$ )?kvsim ", text):
                    self.check_commands(page, block.line + n, text.split("  #")[0])
        self.check_names(page, read(page))
        self.check_length(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, help="the repository")
    parser.add_argument("--kvsim", required=True)
    options = parser.parse_args()
    source = os.path.abspath(options.source)
    checker = Checker(source, os.path.abspath(options.kvsim))
    for name in checker.files:
        if name.endswith(".md") and (name.startswith("docs/") or "/" not in name):
            checker.check(os.path.join(source, name))
    checker.check_counts(os.path.join(source, "docs", "overview.md"))
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
