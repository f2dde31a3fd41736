#!/usr/bin/env python3
"""Numbers at their extremes, at every key of every shipped scenario: refused in words, or simulated to figures that can be.

  tests/attack/numbers.py KVSIM [--seed 1] [--seconds 120] [--count N] [--jobs 2] [--only SCENARIO] [--key REGEX]

Each attack sets one key of a resolved scenario (`kvsim check` writes them, so that every key is there), or one that only the
schema knows, to a number that nobody means: 0, -1, 1e-300, 1e300, 2^62, 2^63-1, nan, inf, and what is there with its unit's
prefix forgotten; where the refusal names a bound, that is the next number. `kvsim check` looks at it, and what it accepts is run for a second of simulated time. A finding is a signal,
an "internal error", an exit status that no input may have, memory that grows past a limit, a command that does not end when
it is interrupted, and a figure that is not finite, negative where nothing is, or at the end of the range of its type. Number
N of a seed is always the same attack; each finding comes with a command line that repeats it. Status 1 if there is any.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY = 4 << 30  # bytes of address space of a command: many times what a shipped scenario takes
PATIENCE = 10.0  # seconds until a command is interrupted: simulating much may take long
GRACE = 5.0  # seconds that it then has to end
SHORT = ["run.duration=2 s", "run.warmup=0 s", "run.replications=1"]
EXTREMES = ["0", "-1", "1e-300", "1e300", str(2**62), str(2**63 - 1), "nan", "inf"]
LARGEST = 9.2e18  # about the end of a 64-bit integer
# Figures that may be negative: differences, and what a scenario says.
SIGNED = re.compile(r"resolved_scenario|difference|change|elasticit")
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
QUANTITY = re.compile(rf"^({NUMBER})(?: ?([A-Za-z/][A-Za-z/\- ]*))?$")
BOUND = re.compile(r"expected (\S+(?: [A-Za-z/\- ]+?)?) or (?:more|less)$|must be .*<= ([^ ,]+(?: [A-Za-z/]+)?),? ", re.MULTILINE)


def scalars(yaml):
    """(dotted path, text) of every scalar that kvsim's own writer wrote: two blanks a level, lists of maps or scalars."""
    steps, counts = [], {}  # steps: (indentation, step)

    def path():
        return ".".join(step for _, step in steps)

    for line in yaml.splitlines():
        body = line.lstrip(" ")
        if not body or body.startswith("#"):
            continue
        indent = len(line) - len(body)
        while body.startswith("- "):
            while steps and steps[-1][0] >= indent:
                steps.pop()
            counts[indent, path()] = counts.get((indent, path()), -1) + 1
            steps.append((indent, str(counts[indent, path()])))
            body, indent = body[2:], indent + 2
            if not re.match(r'("[^"]*"|[\w]+):( |$)', body):
                yield path(), body
                body = ""
        if not body:
            continue
        while steps and steps[-1][0] >= indent:
            steps.pop()
        key, _, value = body.partition(":")
        steps.append((indent, key.strip('"')))
        value = value.strip()
        if value.startswith("["):
            items = [item.strip() for item in value.strip("[]").split(",") if item.strip()]
            yield from ((f"{path()}.{i}", item) for i, item in enumerate(items))
        elif value:
            yield path(), value.strip('"')


def known_to_schema(schema):
    """(dotted path, unit or "") of every quantity that can be set without an item of a list."""
    defs = schema["$defs"]

    def units(node):
        """The first unit of a quantity; None where it is none."""
        if node.get("type") in ("number", "integer"):
            return ""
        pattern = node.get("pattern", "")
        alternatives = re.findall(r"\(([^()?]+\|[^()]+|[A-Za-z/\-]+)\)\[", pattern)
        return alternatives[-1].split("|")[0] if alternatives else None

    def walk(node, path, seen):
        if "$ref" in node:
            name = node["$ref"].rsplit("/", 1)[1]
            if name not in seen:
                yield from walk(defs[name], path, seen | {name})
            return
        unit = units(node)
        if unit is not None:
            yield path, unit
        for option in node.get("anyOf", []) + node.get("oneOf", []):
            yield from walk(option, path, seen)
        if "source" in node.get("properties", {}) and "value" in node["properties"]:
            return
        for key, value in node.get("properties", {}).items():
            yield from walk(value, f"{path}.{key}" if path else key, seen)

    return dict(walk(schema, "", frozenset()))


def own_unit(unit):
    """The unit without its prefix: TFLOP/s -> FLOP/s."""
    for ending in ("FLOP/s", "B/s", "b/s", "tokens", "B"):
        if unit.endswith(ending):
            return ending
    return "s" if unit in ("ms", "us", "ns", "min", "h") else unit


def attacks_on(resolved, schema):
    """{key: values} of a scenario."""
    found = {}
    for key, text in scalars(resolved):
        match = QUANTITY.match(text)
        if not match:
            continue
        number, unit = match.group(1), (match.group(2) or "").strip()
        own = own_unit(unit)
        values = [f"{x} {own}".strip() if not own.startswith("/") else x + own for x in EXTREMES]
        if own != unit:
            values.append(f"{number} {own}")
        found[key] = values
    for key, unit in known_to_schema(schema).items():
        if key not in found and f"{key}.value" not in found:
            found[key] = [f"{x} {unit}".strip() if not unit.startswith("/") else x + unit for x in EXTREMES]
    return found


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Result:
    def __init__(self, command, folder):
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", preexec_fn=limited)
        self.stuck = self.interrupted = False
        try:
            self.out, self.err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.interrupted = True
            process.send_signal(signal.SIGINT)
            try:
                self.out, self.err = process.communicate(timeout=GRACE)
            except subprocess.TimeoutExpired:
                self.stuck = True
                process.kill()
                self.out, self.err = process.communicate()
        self.status = process.returncode
        self.seconds = time.monotonic() - begin


def figures(node, path=""):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from figures(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from figures(value, f"{path}[{i}]")
    elif isinstance(node, (int, float)) and not isinstance(node, bool):
        yield path, node


def wrong_figures(text):
    """What cannot be in a JSON result."""
    try:
        document = json.loads(text)
    except ValueError as error:
        return f"no JSON: {error}"
    for path, value in figures(document):
        if SIGNED.search(path) or path.endswith("seed"):
            continue
        if value != value or abs(value) == float("inf"):
            return f"not finite: {path} = {value}"
        if value < 0:
            return f"negative: {path} = {value}"
        if value >= LARGEST:
            return f"overflow: {path} = {value}"
    return ""


def wrong_words(text):
    """What cannot be in a line for people."""
    for line in text.splitlines():
        if not line.startswith(("#", "kvsim: #", "  #")):
            continue
        if re.search(r"(?<![\w.)-])-\d|\bnan\b|\binf\b|\d{19,}|\de\+\d\d", line):
            return f"negative: {line.strip()[:150]}" if re.search(r"(?<![\w.)-])-\d", line) else f"overflow: {line.strip()[:150]}"
    return ""


def finding(result, is_json):
    """A kind and a description, of what must not be; empty where all is well."""
    said = result.err.strip().splitlines()
    last = said[-1][:240] if said else ""
    if result.stuck:
        return f"hang: interrupted after {PATIENCE:g} s, killed {GRACE:g} s later"
    if result.status < 0:
        return f"signal: {signal.Signals(-result.status).name}"
    if "internal error" in result.err:
        return f"internal error: {last}"
    if "out of memory" in result.err or "bad_alloc" in result.err:
        return f"memory: {last}"
    if result.interrupted and result.status == 130:
        return ""
    if result.status not in (0, 2, 4):
        return f"status {result.status}: {last}"
    if result.status in (2, 4):
        return "" if last.startswith("kvsim: ") else f"status {result.status} without a message: {last}"
    return (wrong_figures if is_json else wrong_words)(result.out + ("" if is_json else result.err))


def shown(words):
    return " ".join(shlex.quote(str(word)) for word in words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvsim")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="begin no attack after this many")
    parser.add_argument("--count", type=int, default=1 << 40, help="attacks at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--key", default="", help="keys that match this")
    args = parser.parse_args()
    begin = time.monotonic()
    binary = str(pathlib.Path(args.kvsim).resolve())
    schema = json.loads(subprocess.run([binary, "schema"], capture_output=True, check=True, text=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        targets = []
        for path in sorted((ROOT / "scenarios").glob("*/*.yaml")):
            checked = subprocess.run([binary, "check", str(path)], capture_output=True, text=True, cwd=path.parent)
            name = f"{path.parent.name}/{path.stem}"
            if args.only not in name or checked.returncode != 0:
                continue  # a trace that is not shipped
            resolved = pathlib.Path(folder) / f"{len(targets)}.yaml"
            resolved.write_text(checked.stdout)
            values = {k: v for k, v in attacks_on(checked.stdout, schema).items() if re.search(args.key, k)}
            keys = collections.defaultdict(list)
            for key in sorted(values):
                keys[re.sub(r"\.\d+", ".*", key)].append(key)
            if keys:
                targets.append((path, resolved, values, keys))

        def attack(number):
            if time.monotonic() - begin > args.seconds:
                return None
            draw = random.Random(f"{args.seed}/{number}")
            path, resolved, values, keys = draw.choice(targets)
            shape = draw.choice(sorted(keys))  # of a long list no more often than of a single key
            key = draw.choice(keys[shape])
            value = draw.choice(values[key])
            return number, key, value, *strike(path, resolved, key, value, True)

        def strike(path, resolved, key, value, follow):
            """(exit status, findings); a bound that a refusal names is tried in its turn."""
            sets = [word for s in [s for s in SHORT if s.split("=")[0] != key] + [f"{key}={value}"] for word in ("--set", s)]
            seen = []
            for command, last in (("check", []), ("run", ["--json", "--jobs", "1"])):
                result = Result([binary, command, str(resolved), *sets, *last], path.parent)
                wrong = finding(result, command == "run")
                if wrong:
                    relative = path.relative_to(ROOT)
                    seen.append((command, wrong, f"kvsim check {relative} > r.yaml; cd {relative.parent}; "
                                 + shown(["kvsim", command, "r.yaml", *sets, *last])))
                bound = BOUND.search(result.err) if follow and result.status == 2 else None
                if bound:
                    return strike(path, resolved, key, bound.group(1) or bound.group(2), False)
                if result.status != 0 or wrong:
                    break
            return result.status, seen

        kinds, statuses, done = collections.Counter(), collections.Counter(), 0
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            waiting = collections.deque()
            numbers = iter(range(args.first, args.first + args.count))
            for number in numbers:
                waiting.append(pool.submit(attack, number))
                if len(waiting) < 4 * args.jobs:
                    continue
                outcome = waiting.popleft().result()
                if outcome is None:
                    break
                done += 1
                report(outcome, kinds, statuses)
            for future in waiting:
                outcome = future.result()
                if outcome is not None:
                    done += 1
                    report(outcome, kinds, statuses)
        print(f"{done} attacks of seed {args.seed} on {len(targets)} scenarios: "
              + ", ".join(f"{n} ended with {status}" for status, n in sorted(statuses.items())))
        for kind, count in kinds.most_common():
            print(f"  {count} findings: {kind}")
    return 1 if kinds else 0


def report(outcome, kinds, statuses):
    number, key, value, status, seen = outcome
    statuses[status] += 1
    for command, wrong, line in seen:
        kinds[wrong.split(":")[0]] += 1
        print(f"{number}: {key} = {value} ({command}): {wrong}\n    {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
