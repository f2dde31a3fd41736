"""Comments begin with a subject, and terms of the field stand where a private word stood.

  words.py SOURCE [SHOWN]

Counts, in comments of sim, models, planner and tools, first sentences that do not name their thing (What, Who, Of, ...), and
private terms in comments and identifiers. Status 1 where a count is above its limit here, or below it: then the limit goes down.
Prints where they stand, SHOWN of each (20).
"""
import pathlib
import re
import sys

FOLDERS = ("sim", "models", "planner", "tools")
BEGINNINGS = re.compile(r"(?:What|Who(?:ever)?|Whose|Whom|The same|Of|So many|One that|Nobody)\b")

# Private term: how often it may still stand. 0: it is gone for good.
TERMS = {
    "luck": 0, "roster": 0, "outlook": 0, "in vain": 0, "settling": 0,
    "steady batch": 0, "brought": 0, "given up": 0, "pushed out": 0,
    "carried over": 0, "carried on": 0, "computed again": 0,
    "what becomes of": 0,
}
BEGUN = 9


def comments(text):
    """The text of each comment: /// and // lines that follow each other are one; one behind code is its own."""
    block = []
    for line in text.splitlines():
        alone = re.match(r"\s*///?<?\s?(.*)", line)
        if alone:
            block.append(alone.group(1))
            continue
        if block:
            yield " ".join(block)
            block = []
        behind = re.search(r"[^:\"]///?<?\s+(.*)", line)
        if behind and '"' not in behind.group(1):
            yield behind.group(1)
    if block:
        yield " ".join(block)


def main():
    root = pathlib.Path(sys.argv[1])
    shown = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    begun, seen, places = 0, dict.fromkeys(TERMS, 0), {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            text = path.read_text(encoding="utf-8")
            for comment in comments(text):
                if BEGINNINGS.match(comment):
                    begun += 1
                    places.setdefault("beginning", []).append(f"{path.relative_to(root)}: {comment[:90]}")
                for term in TERMS:
                    if " " in term and re.search(rf"\b{term}\b", comment, re.IGNORECASE):
                        seen[term] += 1
                        places.setdefault(term, []).append(f"{path.relative_to(root)}: {comment[:90]}")
            for term in TERMS:
                if " " in term:
                    continue
                for found in re.finditer(rf"(?<![a-z]){term}(?![a-z])|{term.capitalize()}(?![a-z])", text):
                    seen[term] += 1
                    line = text.count("\n", 0, found.start()) + 1
                    places.setdefault(term, []).append(f"{path.relative_to(root)}:{line}")
    status = 0
    for name, count, limit in [("beginning", begun, BEGUN)] + [(t, seen[t], TERMS[t]) for t in TERMS]:
        if count != limit:
            status = 1
            print(f"{name}: {count}, and {limit} are allowed", *places.get(name, [])[:shown], sep="\n  ")
    return status


sys.exit(main())
