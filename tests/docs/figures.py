"""Compares figures in the prose of pages with what they repeat.

A figure is marked by a comment behind it, which readers do not see: `17.2 ms<!-- = /per output token +([\\d.]+) ms/ -->`.
The pattern's group is the figure, in the nearest block above that it matches, or in the page that is named before the
pattern: `<!-- = docs/backtest.md /all .../ -->`. Several patterns with `*` between are multiplied. The figure is right where
it is that number, rounded to the digits behind its point. `--update` writes it anew.
"""

import argparse
import os
import re
import sys

from pages import blocks, read, write

MARK = re.compile(r"(?P<figure>\d[\d,]*(?:\.\d+)?)(?P<unit>[^\d<\n]{0,16})<!-- = (?P<source>.+?) -->", re.DOTALL)
FACTOR = re.compile(r"\s*(?P<page>[\w./-]+\.md)?\s*/(?P<pattern>(?:\\/|[^/])+)/\s*(?P<times>\*|$)", re.DOTALL)


def number(text):
    return float(text.replace(",", ""))


def found(pattern, page, line, folder, other):
    """What the pattern's group is: of another page, or of the nearest block above the line. None: nothing matches."""
    if other:
        texts = [read(os.path.join(folder, other))]
    else:
        texts = [block.text for block in reversed(blocks(page)) if block.line < line]
    for text in texts:
        match = re.search(pattern, text)
        if match:
            return number(match.group(1))
    return None


def value(source, page, line, folder):
    """The product of a mark's patterns; raises ValueError with what is wrong with them."""
    product, at = 1.0, 0
    while at < len(source):
        factor = FACTOR.match(source, at)
        if not factor:
            raise ValueError(f"expected /PATTERN/ or PAGE.md /PATTERN/, with * between several, found: {source[at:]}")
        one = found(factor["pattern"], page, line, folder, factor["page"])
        if one is None:
            raise ValueError(f"nothing matches /{factor['pattern']}/")
        product, at = product * one, factor.end()
    return product


def check(page, folder, update):
    failures, text = 0, read(page)
    for mark in reversed(list(MARK.finditer(text))):
        line = text.count("\n", 0, mark.start()) + 1
        digits = len(mark["figure"].partition(".")[2])
        try:
            right = f"{value(mark['source'], page, line, folder):,.{digits}f}"
        except ValueError as wrong:
            right = None
            print(f"{page}:{line}: {mark['figure']}: {wrong}")
        if right is not None and number(right) == number(mark["figure"]):
            continue
        if right is not None and update:
            text = text[:mark.start()] + right + text[mark.end("figure"):]
        elif right is not None:
            print(f"{page}:{line}: {mark['figure']} is {right} in {mark['source']}")
        failures += 0 if right is not None and update else 1
    if update:
        write(page, text)
    return failures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--folder", required=True, help="the repository")
    parser.add_argument("--update", action="store_true", default=os.environ.get("KVSIM_UPDATE_GOLDENS") == "1")
    options = parser.parse_args()
    sys.exit(1 if sum([check(page, options.folder, options.update) for page in options.pages]) else 0)
