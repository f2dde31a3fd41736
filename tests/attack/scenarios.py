#!/usr/bin/env python3
"""Random scenarios from the schema: refused in words, or simulated, compared, planned and swept to figures that can be.

  tests/attack/scenarios.py KVSIM [--seed 1] [--seconds 120] [--count N] [--jobs 2]

Each begins with a shipped scenario (`kvsim check` writes them, so that every key is there) and sets one to six of its keys, or of
those that only the schema knows, to what the schema allows there: a word of a choice, an entry of a catalogue, a number between the
bounds or near what is there, a whole part with its required keys and some of the others. What `kvsim check` accepts is run for two
seconds of simulated time and, in turn, compared, planned or swept. attack.py says what a finding is. Number N of a seed is always the
same attack; each finding comes with a command line that repeats it. Status 1 if there is any.
"""
import json
import math
import re
import subprocess
import sys
import tempfile

from attack import (QUANTITY, ROOT, SHORT, Result, arguments, fight, finding, scalars, set_words, shipped_scenarios,
                    shown)

CATALOGUES = {"model": "models", "gpu": "gpus", "link": "links", "compressor": "compressors", "drafter": "drafters",
              "profile": "profiles", "attention_profile": "attention_profiles", "dataset": "datasets", "rag_task": "rag_tasks",
              "engine": "engines"}
FURTHER = [["compare", "--policies", "all", "--json"], ["compare", "--policies", "all"], ["plan", "--json"], ["plan"],
           ["sweep", "--vary", "run.seed=1,2", "--json"], ["run"]]
DEEPEST = 4


class Values:
    """Draws what the schema allows."""

    def __init__(self, binary, schema):
        self.defs = schema["$defs"]
        self.root = schema
        self.names = {}
        for kind, plural in CATALOGUES.items():
            listed = subprocess.run([binary, "list", plural, "--json"], capture_output=True, check=True, text=True).stdout
            self.names[kind] = re.findall(r'"name": ?"([^"]+)"', listed)

    def node(self, path):
        """The schema of a key, None where a catalogue's entry or a list is on the way."""
        at = self.root
        for step in path.split("."):
            at = self.resolved(at)
            for option in [at, *at.get("anyOf", []), *at.get("oneOf", [])]:
                option = self.resolved(option)
                if step in option.get("properties", {}):
                    at = option["properties"][step]
                    break
                if step.isdigit() and "items" in option:
                    at = option["items"]
                    break
            else:
                return None
        return at

    def resolved(self, node):
        while "$ref" in node:
            node = self.defs[node["$ref"].rsplit("/", 1)[1]]
        return node

    def draw(self, draw, node, present, depth=0):
        """YAML in flow style; None where nothing is known to draw."""
        node = self.resolved(node)
        options = node.get("anyOf") or node.get("oneOf")
        if options and "properties" not in node:
            return self.draw(draw, draw.choice(options), present, depth)
        if "enum" in node:
            return json.dumps(draw.choice(node["enum"]))
        if "const" in node:
            return json.dumps(node["const"])
        kinds = node.get("type")
        named = re.match(r"name of an? (\w+)", node.get("description", ""))
        if named and named.group(1) in self.names:
            return draw.choice(self.names[named.group(1)])
        if kinds == "boolean":
            return draw.choice(["true", "false"])
        if kinds in ("number", "integer"):
            return self.number(draw, node, present, "", kinds == "integer")
        if kinds == "array":
            least = node.get("minItems", 0)
            items = [self.draw(draw, node["items"], None, depth + 1) for _ in range(least + draw.choice([0, 0, 1, 2]))]
            return None if None in items else "[" + ", ".join(items) + "]"
        if kinds == "object" or "properties" in node:
            return self.part(draw, node, depth)
        units = re.findall(r"\(([^()?]+\|[^()]+|[A-Za-z/\-]+)\)\[", node.get("pattern", ""))
        if units:
            return self.number(draw, node, present, draw.choice(units[-1].split("|")), False)
        return None

    def part(self, draw, node, depth):
        if depth > DEEPEST:
            return None
        wanted = set(node.get("required", []))
        for group in node.get("allOf", []):
            for one in [draw.choice(group["oneOf"])] if "oneOf" in group else []:
                wanted |= set(one.get("required", []))
        further = sorted(set(node.get("properties", {})) - wanted)
        wanted |= set(draw.sample(further, min(len(further), draw.choice([0, 0, 1, 2]))))
        entries = []
        for key in sorted(wanted):
            value = self.draw(draw, node["properties"][key], None, depth + 1)
            if value is not None:
                entries.append(f"{key}: {value}")
        return "{" + ", ".join(entries) + "}"

    @staticmethod
    def number(draw, node, present, unit, whole):
        least = node.get("minimum", node.get("exclusiveMinimum"))
        most = node.get("maximum", node.get("exclusiveMaximum"))
        ways = ["near"] if present and present > 0 else ["any"]
        ways += ["between", "end"] if least is not None and most is not None else ["any"]
        way = draw.choice(ways)
        if way == "near":
            value = present * 10 ** draw.uniform(-1, 1)
        elif way == "between":
            value = draw.uniform(least, most)
        elif way == "end":
            value = draw.choice([least, most])
        else:
            value = 10 ** draw.uniform(-3, 4)
        if least is not None:
            value = max(value, least)
        if most is not None:
            value = min(value, most)
        text = str(round(value)) if whole else f"{value:.6g}" if math.isfinite(value) else "1"
        return f"{text} {unit}".strip() if not unit.startswith("/") else text + unit

    def keys(self):
        """Paths of all that can be set without an item of a list, catalogues' entries left out."""

        def walk(node, path, seen):
            if "$ref" in node:
                name = node["$ref"].rsplit("/", 1)[1]
                if name in seen:
                    return
                seen = seen | {name}
                node = self.defs[name]
            if path:
                yield path
            if path.count(".") >= DEEPEST:
                return
            for option in [node, *node.get("anyOf", []), *node.get("oneOf", [])]:
                for key, value in self.resolved(option).get("properties", {}).items():
                    yield from walk(value, f"{path}.{key}" if path else key, seen)

        return sorted(set(walk(self.root, "", frozenset())))


def main():
    args = arguments(__doc__).parse_args()
    schema = json.loads(subprocess.run([args.kvsim, "schema"], capture_output=True, check=True, text=True).stdout)
    values = Values(args.kvsim, schema)
    everywhere = [k for k in values.keys() if k.split(".")[0] not in ("name", "description", "assumptions", "include", "run")]

    with tempfile.TemporaryDirectory() as folder:
        targets = [(path, resolved, dict(scalars(text))) for path, resolved, text in shipped_scenarios(args.kvsim, folder)]

        def change(draw, there):
            key = draw.choice(sorted(there) if draw.random() < 0.6 else everywhere)
            node = values.node(key)
            match = QUANTITY.match(there.get(key, ""))
            value = None if node is None else values.draw(draw, node, float(match.group(1)) if match else None)
            return None if value is None else f"{key}={value}"

        def attack(draw, _):
            path, resolved, there = draw.choice(targets)
            there = {k: v for k, v in there.items() if k.split(".")[0] not in ("name", "description", "assumptions", "run")}
            changes = [c for c in (change(draw, there) for _ in range(draw.randint(1, 6))) if c]
            sets = set_words(SHORT + changes)
            seen = []
            result = None
            for words in (["check"], ["run", "--json"], draw.choice(FURTHER)):
                command = [words[0], str(resolved), *sets, *words[1:]]
                command += [] if words[0] in ("check", "plan") and "--simulate" not in words else ["--jobs", "1"]
                last = Result([args.kvsim, *command], path.parent)
                result = result or last
                wrong = finding(last, "--json" in words)
                if wrong:
                    relative = path.relative_to(ROOT)
                    command[1] = "r.yaml"
                    seen.append((words[0], wrong, f"kvsim check {relative} --full > r.yaml; cd {relative.parent}; "
                                 + shown(["kvsim", *command])))
                if last.status != 0 or wrong:
                    result = last if words[0] != "check" and last.status != 0 and not seen else result
                    break
            return "; ".join(changes), result.status, seen

        return fight(args, attack, f"{len(targets)} scenarios")


if __name__ == "__main__":
    sys.exit(main())
