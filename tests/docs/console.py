"""Runs the commands that a page shows, and compares what they print with what the page says they print.

A block that begins with `$ ` has lines `$ kvsim ...`, each followed by its output. Lines with nothing but `...` stand
for lines left out. Figures of wall-clock time are not compared. Commands that read a trace which is no part of the
repository are left out. `--update` writes the outputs anew: as many lines at each place as are shown now; read the
difference before believing it.
"""

import argparse
import os
import re
import subprocess
import sys

from pages import blocks, read, write

CUT = "..."
WALL_CLOCK = [
    (re.compile(r"; [\d.]+ (us|ms|s|min) of simulation"), "; TIME of simulation"),
    (re.compile(r"planned in [\d.]+ (us|ms|s|min)"), "planned in TIME"),
    (re.compile(r"^  (wall time|speed) .*"), "  TIME"),
    (re.compile(r"\b[\d.]+ (us|ms|s|min) of (wall-clock|processor) time"), "TIME"),
]


def without_wall_clock(line):
    for pattern, replacement in WALL_CLOCK:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def commands(block):
    """(command, shown output lines) of a console block; a backslash at the end of a line continues a command."""
    found = []
    continued = False
    for line in block.text.splitlines():
        if continued:
            found[-1][0] += " " + line.strip()
        elif line.startswith("$ "):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        else:
            raise SystemExit(f"{block.page}:{block.line}: output without a command")
        if continued or line.startswith("$ "):
            continued = found[-1][0].endswith("\\")
            found[-1][0] = found[-1][0].rstrip("\\").rstrip()
    return found


def run(command, kvsim, folder):
    """The command in a shell in which kvsim is the binary; returns (status, printed lines, stderr)."""
    environment = dict(os.environ, PATH=os.path.dirname(kvsim) + os.pathsep + os.environ["PATH"])
    done = subprocess.run(["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


def needs_a_trace(command, folder):
    """Whether the command names a recorded trace that is not there."""
    traces = re.findall(r"[\w./-]+\.jsonl\b", command)
    return any(not os.path.exists(os.path.join(folder, trace)) for trace in traces)


def pieces(shown):
    """Runs of shown lines between cuts."""
    found = [[]]
    for line in shown:
        if line == CUT:
            found.append([])
        else:
            found[-1].append(line)
    return found


def position(piece, printed, start, anywhere):
    plain = [without_wall_clock(line) for line in piece]
    last = len(printed) - len(piece) if anywhere else start
    for at in range(start, last + 1):
        if printed[at:at + len(piece)] == plain:
            return at
    return None


def difference(shown, printed):
    """What of the shown lines was not printed; None where everything was, in this order."""
    plain = [without_wall_clock(line) for line in printed]
    at = 0
    parts = pieces(shown)
    for n, piece in enumerate(parts):
        if not piece:
            continue
        found = position(piece, plain, at, anywhere=n > 0)
        if found is None:
            for line in piece:
                if without_wall_clock(line) not in plain[at:]:
                    return f"not printed: {line}"
            return "not printed in this order: " + piece[0]
        at = found + len(piece)
    if parts[-1] and at != len(plain):
        return f"printed, not shown: {printed[at]}"
    return None


def updated(shown, printed):
    """The printed lines, cut as the shown ones are: pieces after a cut begin where their first word is found."""
    parts = pieces(shown)
    at, out = 0, []
    for n, piece in enumerate(parts):
        if n > 0:
            out.append(CUT)
            words = piece[0].split() if piece else []
            while piece and at < len(printed) and printed[at].split()[:1] != words[:1]:
                at += 1
        take = len(piece) if len(parts) > 1 else len(printed)
        out += [line.rstrip() for line in printed[at:at + take]]
        at += take
    return out


def check(page, kvsim, folder, update):
    failures = 0
    text = read(page)
    for block in blocks(page):
        if not block.text.startswith("$ "):
            continue
        for command, shown in commands(block):
            if needs_a_trace(command, folder):
                print(f"{page}:{block.line}: left out, its trace is not here: $ {command}")
                continue
            status, printed, errors = run(command, kvsim, folder)
            if status != 0:
                failures += 1
                print(f"{page}:{block.line}: $ {command}\n  ended with {status}: {errors.strip()}")
                continue
            wrong = difference(shown, printed)
            if wrong and update:
                block_new = "\n".join(updated(shown, printed))
                text = text.replace("\n".join(shown), block_new, 1)
                print(f"{page}:{block.line}: updated $ {command}")
            elif wrong:
                failures += 1
                print(f"{page}:{block.line}: $ {command}\n  {wrong}")
    if update:
        write(page, text)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--kvsim", required=True)
    parser.add_argument("--folder", required=True, help="where commands run: the repository")
    parser.add_argument("--update", action="store_true", default=os.environ.get("KVSIM_UPDATE_GOLDENS") == "1")
    options = parser.parse_args()
    kvsim = os.path.abspath(options.kvsim)
    return 1 if sum(check(page, kvsim, options.folder, options.update) for page in options.pages) else 0


if __name__ == "__main__":
    sys.exit(main())
