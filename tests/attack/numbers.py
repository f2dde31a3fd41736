#!/usr/bin/env python3
"""Numbers at their extremes, at every key of every shipped scenario: refused in words, or simulated to figures that can be.

  tests/attack/numbers.py KVSIM [--seed 1] [--seconds 120] [--count N] [--jobs 2] [--only SCENARIO] [--key REGEX]

Each attack sets one key of a resolved scenario (`kvsim check` writes them, so that every key is there), or one that only the
schema knows, to a number that nobody means: 0, -1, 1e-300, 1e300, 2^62, 2^63-1, nan, inf, and what is there with its unit's
prefix forgotten; where the refusal names a bound, that is the next number. `kvsim check` looks at it, and what it accepts is run for two seconds of simulated time. attack.py says what a finding is.
Number N of a seed is always the same attack; each finding comes with a command line that repeats it. Status 1 if there is any.
"""
import collections
import json
import re
import subprocess
import sys
import tempfile

from attack import (QUANTITY, ROOT, SHORT, Result, arguments, fight, finding, scalars, set_words, shipped_scenarios,
                    shown)

EXTREMES = ["0", "-1", "1e-300", "1e300", str(2**62), str(2**63 - 1), "nan", "inf"]
BOUND = re.compile(r"expected (\S+(?: [A-Za-z/\- ]+?)?) or (?:more|less)$|must be .*<= ([^ ,]+(?: [A-Za-z/]+)?),? ", re.MULTILINE)


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


def main():
    parser = arguments(__doc__)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--key", default="", help="keys that match this")
    args = parser.parse_args()
    schema = json.loads(subprocess.run([args.kvsim, "schema"], capture_output=True, check=True, text=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        targets = []
        for path, resolved, text in shipped_scenarios(args.kvsim, folder):
            if args.only not in f"{path.parent.name}/{path.stem}":
                continue
            values = {k: v for k, v in attacks_on(text, schema).items() if re.search(args.key, k)}
            keys = collections.defaultdict(list)
            for key in sorted(values):
                keys[re.sub(r"\.\d+", ".*", key)].append(key)
            if keys:
                targets.append((path, resolved, values, keys))

        def attack(draw, _):
            path, resolved, values, keys = draw.choice(targets)
            shape = draw.choice(sorted(keys))  # of a long list no more often than of a single key
            key = draw.choice(keys[shape])
            value = draw.choice(values[key])
            return f"{key} = {value}", *strike(path, resolved, key, value, True)

        def strike(path, resolved, key, value, follow):
            """(exit status, findings); a bound that a refusal names is tried in its turn."""
            sets = set_words([s for s in SHORT if s.split("=")[0] != key] + [f"{key}={value}"])
            seen = []
            for command, last in (("check", []), ("run", ["--json", "--jobs", "1"])):
                result = Result([args.kvsim, command, str(resolved), *sets, *last], path.parent)
                wrong = finding(result, command == "run")
                if wrong:
                    relative = path.relative_to(ROOT)
                    seen.append((command, wrong, f"kvsim check {relative} --full > r.yaml; cd {relative.parent}; "
                                 + shown(["kvsim", command, "r.yaml", *sets, *last])))
                bound = BOUND.search(result.err) if follow and result.status == 2 else None
                if bound:
                    return strike(path, resolved, key, bound.group(1) or bound.group(2), False)
                if result.status != 0 or wrong:
                    break
            return result.status, seen

        return fight(args, attack, f"{len(targets)} scenarios")


if __name__ == "__main__":
    sys.exit(main())
