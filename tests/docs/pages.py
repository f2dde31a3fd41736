"""Fenced blocks and links of Markdown pages, for the tests of the documentation."""

import re
from dataclasses import dataclass


@dataclass
class Block:
    page: str
    line: int       # of the opening fence, from 1
    language: str   # "console", "diff", ...
    text: str
    file: str       # the last word in backticks of the paragraph before it that is a path, or ""


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)*\.(?:cpp|h|txt|yaml|csv|json|jsonl|md))`")


def blocks(page):
    """The fenced blocks of a page, in order."""
    found = []
    paragraph, inside, indent = "", None, 0
    for number, line in enumerate(read(page).splitlines(keepends=True), 1):
        stripped = line.strip()
        if inside is None and stripped.startswith("```"):
            named = PATH.findall(paragraph)
            indent = len(line) - len(line.lstrip())
            inside = Block(page, number, stripped[3:].strip(), "", named[-1] if named else "")
        elif inside is not None and stripped == "```":
            found.append(inside)
            inside, paragraph = None, ""
        elif inside is not None:
            inside.text += line[min(indent, len(line) - len(line.lstrip(" "))):]
        elif stripped:
            paragraph = line if paragraph.endswith("\n\n") else paragraph + line
        elif paragraph:
            paragraph += "\n"  # the paragraph before a block ends with an empty line
    if inside is not None:
        raise SystemExit(f"{page}:{inside.line}: this block has no end")
    return found


def prose(page):
    """Numbered lines outside fenced blocks."""
    inside = False
    for number, line in enumerate(read(page).splitlines(keepends=True), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchor(heading):
    """The anchor that code hosts give to a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return text.replace(" ", "-")


def anchors(page):
    """Of all headings; a second one of the same words ends in -1, and so on."""
    seen = {}
    for _, line in prose(page):
        match = re.match(r"#{1,6} +(.*?)\s*#*$", line)
        if not match:
            continue
        word = anchor(match.group(1))
        seen[word] = seen.get(word, -1) + 1
        yield word if seen[word] == 0 else f"{word}-{seen[word]}"
