"""What the attacks beside this have in common: a command under limits, what must not become of it, and the loop.

A finding is a signal, an "internal error", what a sanitizer says, an exit status that no input may have, memory that grows past
a limit, a command that does not end when it is interrupted, and a figure that is not finite, negative where nothing is, or at
the end of the range of its type.
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
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEMORY = 4 << 30  # bytes of address space of a command: many times what a shipped scenario takes
PATIENCE = 10.0  # seconds until a command is interrupted: simulating much may take long
GRACE = 5.0  # seconds that it then has to end
SHORT = ["run.duration=2 s", "run.warmup=0 s", "run.replications=1"]
LARGEST = 9.2e18  # about the end of a 64-bit integer
# Figures that may be negative: differences, and what a scenario says.
SIGNED = re.compile(r"resolved_scenario|difference|change|elasticit")
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
QUANTITY = re.compile(rf"^({NUMBER})(?: ?([A-Za-z/][A-Za-z/\- ]*))?$")


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


def limited():
    if MEMORY:
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
        if line.startswith("# Fields that kvsim does not know"):  # they are called what the file calls them
            continue
        line = re.sub(r"\bseed \d+", "seed", line)  # any number may be one
        if re.search(r"(?<![\w.)-])-\d|\bnan\b|\binf\b|(?<![A-Za-z\d])\d{19,}|\de\+\d\d", line):
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
    for line in result.err.splitlines():
        if "Sanitizer" in line or "runtime error: " in line:
            return f"sanitizer: {line[:240]}"
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


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvsim", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="begin no attack after this many")
    parser.add_argument("--count", type=int, default=1 << 40, help="attacks at most")
    parser.add_argument("--first", type=int, default=0, help="number of the first attack")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--sanitised", action="store_true",
                        help="kvsim has sanitizers: no limit on memory, of whose addresses they reserve terabytes, and longer to end")
    return parser


def shipped_scenarios(binary, folder):
    """(path, file with every key, its text) of every shipped scenario whose files are there."""
    for path in sorted((ROOT / "scenarios").glob("*/*.yaml")):
        checked = subprocess.run([binary, "check", str(path), "--full"], capture_output=True, text=True, cwd=path.parent)
        if checked.returncode != 0:
            continue  # a trace that is not shipped
        resolved = pathlib.Path(folder) / f"{path.parent.name}-{path.stem}.yaml"
        resolved.write_text(checked.stdout)
        yield path, resolved, checked.stdout


def set_words(settings):
    return [word for s in settings for word in ("--set", s)]


def fight(args, attack, against):
    """Attack N of a seed is attack(draw, N): (what was tried, exit status, [(command, finding, line that repeats it)]).
    The exit status of the script: 1 if anything was found."""
    if args.sanitised:
        global MEMORY, GRACE
        MEMORY, GRACE = 0, 10 * GRACE
    # Whoever starts this in the background of a shell has it ignore Ctrl-C, and with it all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    begin = time.monotonic()

    def numbered(number):
        if time.monotonic() - begin > args.seconds:
            return None
        return number, *attack(random.Random(f"{args.seed}/{number}"), number)

    kinds, statuses, done = collections.Counter(), collections.Counter(), 0

    def report(number, tried, status, seen):
        statuses[status] += 1
        for command, wrong, line in seen:
            kinds[wrong.split(":")[0]] += 1
            print(f"{number}: {tried} ({command}): {wrong}\n    {line}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        waiting = collections.deque()
        for number in range(args.first, args.first + args.count):
            waiting.append(pool.submit(numbered, number))
            if len(waiting) < 4 * args.jobs:
                continue
            outcome = waiting.popleft().result()
            if outcome is None:
                break
            done += 1
            report(*outcome)
        for outcome in (future.result() for future in waiting):
            if outcome is not None:
                done += 1
                report(*outcome)
    print(f"{done} attacks of seed {args.seed} on {against}: "
          + ", ".join(f"{n} ended with {status}" for status, n in sorted(statuses.items())))
    for kind, count in kinds.most_common():
        print(f"  {count} findings: {kind}")
    return 1 if kinds else 0
