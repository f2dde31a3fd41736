#!/usr/bin/env python3
"""What a machine does to a program: kill -9, Ctrl-C, SIGTERM, no memory, a full disk, another process in the same folder.

  tests/attack/survival.py KVSIM [--seed 1] [--seconds 120] [--count N] [--jobs 2] [--kind KIND] [--disk DIR]

  kill    sweep, capacity and reproduce are killed at random moments and started again, until they are done: the files are those of
          a run that nobody disturbed, byte for byte, beside hidden ones that were being written.
  stop    every command that can take long is sent SIGINT or SIGTERM at a random moment: it ends with 130 or 143 after at most
          --grace seconds of computing, or had ended before; no half-written file is left.
  memory  every command under a limit of its address space: it ends with a message and status 1, or as without a limit.
  disk    every command that writes, with files that may not grow beyond a random size, or with --disk in a folder on a small
          disk: it ends with a message and status 1 or as without a limit; a file that it leaves is whole, a journal goes on.
  full    the same on a disk of its own that is as small, where this machine lets one be mounted.
  stdout  every command with standard output on a full disk: a message and status 1, and no file.
  two     two different sweeps into one folder at the same instant: one is refused, and the other's files are whole.
  pairs   two different runs of any command that writes a set of files, into one folder at about the same instant: each has the
          folder or is refused, and the files are those of one of them.
  over    any such command is killed at a random moment, half of the times while it writes, over the results of another run:
          a reader finds one set or the other, and the next run leaves what an undisturbed one does.

Number N of a seed is the same attack, but for the moment at which a signal finds the program. Status 1 if anything was found.
"""
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from attack import arguments, fight, limited, shown
from files import CONFIG

SCENARIO = """name: small
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm}, host: {memory: 100 GB}}
workload:
  arrivals: {rate: 4/s}
  context: {distribution: lognormal, mean: 1k tokens, cv: 1, max: 8k tokens}
  output: {distribution: lognormal, mean: 100 tokens, cv: 1, max: 1k tokens}
prefill: recompute
decode: {policy: full_kv}
slo: {ttft_p99: 2 s, tpot_p99: 50 ms}
run: {duration: 60 s, warmup: 5 s, seed: 1}
"""
EXPERIMENT = """place: our bench
title: Throughput
scenario: small.yaml
runs: [{name: run(rate), settings: ["workload.arrivals.rate={rate}/s"]}]
panels:
  - x: {title: rate, over: {columns: rate, rows: [1, 2, 3, 4, 5, 6, 7, 8]}}
    y: {title: tokens/s}
    tolerance: 0.9
    series: [{name: ours, simulated: "run({rate}).throughput.output_tokens_per_s", points: [{at: 1, is: 100}]}]
"""
SWEEP = ["sweep", "small.yaml", "--vary", "workload.arrivals.rate=1/s:12/s:1/s", "--jobs", "2"]
# What saves what is finished, with the folder it is given and what a second start of it is told besides.
SAVED = {"sweep": (SWEEP, ["--resume"]),
         "capacity": (["capacity", "small.yaml", "--replications", "2", "--attainment", "0.9", "--jobs", "2"], []),
         "reproduce": (["reproduce", "bench.yaml", "--jobs", "2"], [])}
LONG = ["--set", "run.duration=1000 h"]
STOPPED = {"run": ["run", "small.yaml", *LONG], "compare": ["compare", "drafting.yaml", *LONG],
           "replications": ["run", "small.yaml", "--replications", "10000"],
           "replicas": ["run", "small.yaml", *LONG, "--set", "cluster.replicas=10000", "--set",
                        "workload={closed: {concurrency: 1000000}, context: 1k tokens, output: 100 tokens}"],
           "flood": ["run", "small.yaml", "--set", "workload.arrivals.rate=1e9/s"],
           "sweep": [*SWEEP, *LONG], "plan": ["plan", "drafting.yaml", "--simulate", *LONG],
           "explain": ["plan", "drafting.yaml", "--explain", *LONG],
           "capacity": ["capacity", "small.yaml", "--rate", "100/s"], "reproduce": ["reproduce", "--all"],
           "validate": ["validate"], "fit": ["workload", "fit", "big.csv", "--format", "csv"],
           "info": ["workload", "info", "big.csv", "--format", "csv"],
           "generate": ["workload", "generate", "small.yaml", "--requests", "100000000", "--out", "trace.csv"],
           "calibrate": ["calibrate", "fit", "linear.csv", "--gpu", "h100-sxm", "--out", "mine.yaml"]}
POINTS = "id,backend,model_path,system,isl,osl,concurrency,ttft_ms,tpot_ms\na,vllm,llama-3.1-8b,h200,100,20,3,40,5\n"
FIT = ["calibrate", "fit", "short.csv", "--gpu", "h100-sxm", "--cross-validate", "none"]
WRITING = {"run": ["run", "small.yaml", "--out"], "compare": ["compare", "drafting.yaml", "--jobs", "2", "--out"], "sweep": [*SWEEP, "--out"],
           "capacity": [*SAVED["capacity"][0], "--out"], "plan": ["plan", "drafting.yaml", "--out"],
           "simulated plan": ["plan", "drafting.yaml", "--simulate", "--jobs", "2", "--out"],
           "replications": ["run", "small.yaml", "--replications", "16", "--jobs", "2", "--out"],
           "reproduce": [*SAVED["reproduce"][0], "--out"],
           "fit": ["workload", "fit", "made.csv", "--format", "csv", "--out"], "report": ["report", "results", "--out"],
           "generate": ["workload", "generate", "small.yaml", "--requests", "5000", "--out"],
           "timeline": ["run", "small.yaml", "--trace-out"], "packed timeline": ["run", "small.yaml", "--trace-out"],
           "requests": ["run", "small.yaml", "--requests"], "markdown": ["report", "results", "--format", "md", "--out"],
           "plots": ["report", "results", "--format", "csv", "--out"],
           "backtest": ["backtest", "points.csv", "--out"],
           "calibrate": [*FIT, "--out"], "calibrate's report": [*FIT, "--report"],
           "import": ["model", "import", "config.json", "--out"]}
# What writes a file and no folder.
FILES = {"report": "report.html", "generate": "made.csv", "timeline": "t.json", "packed timeline": "t.json.gz",
         "requests": "requests.csv", "markdown": "report.md", "calibrate": "mine.yaml", "calibrate's report": "mine.md",
         "import": "model.yaml"}
PRINTING = {**{name: words[:-1] for name, words in WRITING.items() if name not in ("report", "plots")}, "check": ["check", "small.yaml"],
            "show": ["show", "h100-sxm"], "list": ["list", "gpus"], "schema": ["schema"], "reference": ["schema", "--markdown"],
            "metrics": ["schema", "--results", "--markdown"], "man": ["man"], "completion": ["completion", "bash"],
            "help": ["run", "--help"], "version": ["--version"], "info": ["workload", "info", "made.csv", "--format", "csv"],
            "compare traces": ["workload", "compare", "made.csv", "made.csv", "--format", "csv"],
            "validate": ["validate", "--group", "links"], "errors": ["backtest"], "experiments": ["reproduce", "--list"]}
# What writes a set of files into a folder, and another set of the same kind.
ANOTHER = {"run": ["--seed", "2"], "compare": ["--seed", "2"], "sweep": ["--seed", "2"], "capacity": ["--seed", "2"],
           "replications": ["--seed", "2"], "plan": ["--keep-ratio", "0.1"], "simulated plan": ["--keep-ratio", "0.1"],
           "fit": ["--max-requests", "3000"], "reproduce": ["bench2.yaml"], "backtest": ["points2.csv"], "plots": ["results2"]}
NOT_COMPARED = {"timing.json"}
KINDS = ["kill", "stop", "memory", "disk", "full", "stdout", "two", "pairs", "over"]


def apart():
    """What runs a command with mounts of its own; nothing where that is not allowed."""
    for words in (["unshare", "-m"], ["unshare", "-rm"]):
        try:
            if subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0:
                return words
        except OSError:
            break
    return []


def cpu_seconds(pid):
    """What a process has computed so far: what it is late by whatever else the machine does."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def contents(folder):
    folder = pathlib.Path(folder)
    read = lambda path: re.sub(rb"planned in [\d.,]+ \w+", b"planned", path.read_bytes())  # a page says how long it took
    if folder.is_file():
        return {"": read(folder)}
    # A journal has points in the order in which they finished.
    return {str(p.relative_to(folder)): b"".join(sorted(p.read_bytes().splitlines(True))) if p.suffix == ".jsonl" else read(p)
            for p in sorted(folder.rglob("*")) if p.is_file() and p.name not in NOT_COMPARED}


def set_in(folder):
    """What of a folder belongs to a set: not what is saved beside it as it finishes, nor what a killed process left."""
    return {file: text for file, text in contents(folder).items()
            if not file.startswith(("runs/", ".kvsim/new/", ".kvsim/lock")) and not file.endswith(".jsonl")}


def other_words(name):
    """The command line of another set than WRITING's, up to the folder."""
    *words, out = WRITING[name]
    return [*words, *ANOTHER[name], out]


class Attacks:
    def __init__(self, args, folder):
        self.args, self.inputs = args, folder
        self.undisturbed, self.other, self.took = {}, {}, {}
        self.apart = apart()

    def prepare(self):
        (self.inputs / "small.yaml").write_text(SCENARIO)
        (self.inputs / "drafting.yaml").write_text(SCENARIO.replace(
            "decode: {policy: full_kv}", "decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.2}").replace("prefill: recompute", "prefill: stored"))
        (self.inputs / "bench.yaml").write_text(EXPERIMENT)
        self.must(["workload", "generate", "small.yaml", "--requests", "5000", "--out", "made.csv"])
        header, *rows = (self.inputs / "made.csv").read_text().splitlines()
        with open(self.inputs / "big.csv", "w") as big:
            big.write(header + "\n")
            span = float(rows[-1].split(",")[0])
            for lap in range(200):
                for row in rows:
                    at, rest = row.split(",", 1)
                    big.write(f"{float(at) + lap * span:.6f},{rest}\n")
        with open(self.inputs / "linear.csv", "w") as table:
            table.write("gpu,framework,version,kernel,dtype,m_tokens,n,k,measured_ms\n")
            for n in range(1024, 1024 * 61, 1024):
                for m in range(1, 101):
                    table.write(f"h100_sxm,vllm,1,x,bfloat16,{m},{n},4096,{1 + (n // 1024 * 37 + m * 101) % 89 / 100}\n")
        with open(self.inputs / "linear.csv") as table, open(self.inputs / "short.csv", "w") as short:
            short.writelines(line for i, line in enumerate(table) if i % 150 == 0)
        (self.inputs / "points.csv").write_text(POINTS)
        (self.inputs / "config.json").write_text(CONFIG)
        self.must(["run", "small.yaml", "--out", "results"])
        self.must(["run", "small.yaml", "--seed", "2", "--out", "results2"])
        (self.inputs / "bench2.yaml").write_text(EXPERIMENT.replace("our bench", "their bench"))
        (self.inputs / "points2.csv").write_text(POINTS.replace("a,vllm", "b,vllm"))
        for name in {*SAVED, *WRITING}:
            out = pathlib.Path("whole") / name
            words = SAVED[name][0] + ["--out"] if name in SAVED else WRITING[name]
            target = self.inputs / out
            target.parent.mkdir(exist_ok=True)
            self.must([*words, str(out / FILES[name]) if name in FILES and target.mkdir() is None else str(out)])
            self.undisturbed[name] = contents(target)
        for name in ANOTHER if self.args.kind in (None, "pairs", "over") else ():
            begin = time.monotonic()
            self.must([*other_words(name), f"whole/other {name}"])
            self.took[name] = time.monotonic() - begin
            self.other[name] = set_in(self.inputs / f"whole/other {name}")

    def must(self, words):
        done = subprocess.run([self.args.kvsim, *words], cwd=self.inputs, capture_output=True, text=True)
        if done.returncode not in (0, 4):
            sys.exit(f"{shown(words)}: status {done.returncode}: {done.stderr}")

    def start(self, words, limits=lambda: None):
        def under():
            limited()
            limits()
        return subprocess.Popen([self.args.kvsim, *words], cwd=self.inputs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", preexec_fn=under)

    def kill(self, draw):
        name = draw.choice(sorted(SAVED))
        words, again = SAVED[name]
        with tempfile.TemporaryDirectory(dir=self.args.disk) as folder:
            out = pathlib.Path(folder) / "out"
            for attempt in range(4):
                more = again if attempt > 0 and out.exists() else []
                process = self.start([*words, "--out", str(out), *more])
                if attempt < 3:
                    time.sleep(draw.uniform(0, 0.4 if name != "capacity" else 3))
                    process.kill()
                process.communicate()
            wrong = "" if process.returncode == 0 else f"status {process.returncode} after kill -9"
            there = contents(out)
            if not wrong and there != self.undisturbed[name]:
                wrong = f"other files after kill -9: {sorted(set(there) ^ set(self.undisturbed[name]))}"
            return name, process.returncode, wrong, [*words, "--out", out]

    def stop(self, draw):
        name = draw.choice(sorted(STOPPED))
        with tempfile.TemporaryDirectory(dir=self.args.disk) as folder:
            words = [str(pathlib.Path(folder) / w) if w in ("trace.csv", "mine.yaml") else w for w in STOPPED[name]]
            which = draw.choice([signal.SIGINT, signal.SIGTERM])
            process = self.start(words)
            try:
                process.communicate(timeout=draw.uniform(0.05, 3))
            except subprocess.TimeoutExpired:
                process.send_signal(which)
            sent, wrong = time.monotonic(), ""
            before = after = cpu_seconds(process.pid)
            while process.poll() is None and time.monotonic() - sent < 120:
                after = max(after, cpu_seconds(process.pid))
                time.sleep(0.02)
            if process.poll() is None:
                process.kill()
                wrong = "hang: 120 s after a signal"
            process.communicate()
            if not wrong and after - before > self.args.grace:
                wrong = f"slow: computed for {after - before:.1f} s after {which.name}"
            if not wrong and process.returncode not in (0, 1, 2, 4, 128 + which):
                wrong = f"status {process.returncode} after {which.name}"
            left = contents(folder)
            if not wrong and process.returncode == 128 + which and left:
                wrong = f"files left: {sorted(left)}"
            return f"{name} {which.name}", process.returncode, wrong, words

    def ended(self, process, err, words):
        """What is wrong with how a command without memory or disk ended."""
        said = err.strip().splitlines()
        if process.returncode < 0:
            return f"signal: {signal.Signals(-process.returncode).name}"
        if process.returncode == 0:
            return ""
        if "internal error" in err or process.returncode != 1:
            return f"status {process.returncode}: {said[-1][:200] if said else ''}"
        return "" if said and said[-1].startswith("kvsim: ") else "status 1 without a message"

    def memory(self, draw):
        name = draw.choice(sorted(WRITING))
        most = int(2 ** draw.uniform(5.5, 8.7) * 2 ** 20)
        jobs = draw.choice(["2", "8", "64"])  # there may be no room for so many threads
        with tempfile.TemporaryDirectory() as folder:
            target = pathlib.Path(folder) / FILES.get(name, "out")
            words = [jobs if before == "--jobs" else word for before, word in zip(["", *WRITING[name]], WRITING[name])]
            words.append(str(target))
            process = self.start(words, lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
            try:
                err = process.communicate(timeout=120)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                return f"{name} in {most >> 20} MiB", "hang", "hang: no end after 120 s", words
            wrong = self.ended(process, err, words)
            if not wrong and target.exists():
                wrong = self.half_written(name, target)
            return f"{name} in {most >> 20} MiB", process.returncode, wrong, words

    def half_written(self, name, target):
        # Of what is saved as it finishes, any part may be there; what says that the whole is done is whole.
        for file, bytes_there in contents(target).items():
            whole = self.undisturbed[name].get(file if target.is_dir() else next(iter(self.undisturbed[name])))
            if whole is None:
                return f"a file that a whole run does not leave: {file}"
            journal = file.endswith(".jsonl") and set(bytes_there.splitlines(True)) <= set(whole.splitlines(True))
            if bytes_there != whole and not journal:
                return f"half a file: {file}"
        return ""

    def disk(self, draw):
        name = draw.choice(sorted(WRITING))
        largest = max(len(b) for b in self.undisturbed[name].values())
        most = draw.randrange(0, 2 * largest)
        with tempfile.TemporaryDirectory(dir=self.args.disk) as folder:
            target = pathlib.Path(folder) / FILES.get(name, "out")
            words = [*WRITING[name], str(target)]
            limits = (lambda: None) if self.args.disk else (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            process = self.start(words, limits)
            err = process.communicate()[1]
            wrong = self.ended(process, err, words)
            if not wrong and target.exists():
                wrong = self.half_written(name, target)
            return f"{name} with {most} bytes a file", process.returncode, wrong, words

    def full(self, draw):
        name = draw.choice(sorted(WRITING))
        most = draw.randrange(1, 2 + 2 * sum(len(b) for b in self.undisturbed[name].values()) // 4096) * 4096
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as kept:
            words = [*WRITING[name], str(pathlib.Path(folder) / FILES.get(name, "out"))]
            # What is on the disk goes with it, hence the copy.
            script = (f'mount -t tmpfs -o size={most} none "$1" || exit 99; "$2" "${{@:4}}"; status=$?; '
                      'cp -a "$1/." "$3"; exit $status')
            process = subprocess.run([*self.apart, "bash", "-c", script, "bash", folder, self.args.kvsim, kept, *words], cwd=self.inputs,
                                     capture_output=True, text=True, errors="replace", preexec_fn=limited)
            wrong = self.ended(process, process.stderr, words)
            target = pathlib.Path(kept) / FILES.get(name, "out")
            if not wrong and target.exists():
                wrong = self.half_written(name, target)
            hidden = [p.name for p in pathlib.Path(kept).rglob(".*") if p.name != ".kvsim"]
            if not wrong and hidden:
                wrong = f"files left: {hidden}"
            return f"{name} on a disk of {most} bytes", process.returncode, wrong, words

    def stdout(self, draw):
        name = draw.choice(sorted(PRINTING))
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
            words = [w if not (self.inputs / w).is_file() else str(self.inputs / w) for w in PRINTING[name]]
            words = [str(self.inputs / w) if w == "results" else w for w in words]
            process = subprocess.run([self.args.kvsim, *words], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
                                     errors="replace", preexec_fn=limited)
            wrong = self.ended(process, process.stderr, words)
            if not wrong and process.returncode == 0:
                wrong = "status 0, and nothing was printed"
            if not wrong and contents(folder):
                wrong = f"files left: {sorted(contents(folder))}"
            return f"{name} to a full disk", process.returncode, wrong, words

    def two(self, _):
        with tempfile.TemporaryDirectory(dir=self.args.disk) as folder:
            out = pathlib.Path(folder) / "out"
            other = [*SWEEP, "--seed", "2"]
            both = [self.start([*words, "--out", str(out)]) for words in (SWEEP, other)]
            statuses = []
            for process in both:
                process.communicate()
                statuses.append(process.returncode)
            wrong = ""
            if statuses.count(0) != 1:
                wrong = f"statuses {statuses} of two sweeps into one folder"
            elif statuses[0] == 0 and contents(out) != self.undisturbed["sweep"]:
                wrong = "other files beside another sweep"
            return "two sweeps", max(statuses), wrong, other

    def pairs(self, draw):
        name = draw.choice(sorted(ANOTHER))
        with tempfile.TemporaryDirectory(dir=self.args.disk) as folder:
            out = pathlib.Path(folder) / "out"
            both = [[*WRITING[name], str(out)], [*other_words(name), str(out)]]
            draw.shuffle(both)
            first = self.start(both[0])
            time.sleep(draw.choice([0, 0, draw.uniform(0, self.took[name])]))
            second = self.start(both[1])
            ends = [(process, process.communicate()[1]) for process in (first, second)]
            statuses = [process.returncode for process, _ in ends]
            refused = ["another kvsim is at work in" in err or "holds a sweep already" in err for _, err in ends]
            wrong = ""
            if all(refused) or any(status not in (0, 4) and not no for status, no in zip(statuses, refused)):
                wrong = f"statuses {statuses} of two into one folder: {[err.strip()[-200:] for _, err in ends]}"
            elif set_in(out) not in (set_in(self.inputs / "whole" / name), self.other[name]):
                wrong = "files of both"
            elif self.checked(out):
                wrong = self.checked(out)
            return f"two of {name}, {sum(refused)} refused", max(statuses), wrong, both[1]

    def checked(self, out):
        """What a reader says of a folder of results, where it does not call it complete."""
        done = subprocess.run([self.args.kvsim, "check", str(out)], cwd=self.inputs, capture_output=True, text=True)
        return "" if done.returncode == 0 and done.stdout.startswith("complete: ") else f"no set: {done.stdout}{done.stderr}".strip()

    def over(self, draw):
        name = draw.choice(sorted(ANOTHER))
        before = "run" if name == "sweep" else name  # a sweep goes on with another sweep, or refuses to
        old, new = set_in(self.inputs / "whole" / before), self.other[name]
        with tempfile.TemporaryDirectory(dir=self.args.disk) as folder:
            out = pathlib.Path(folder) / "out"
            shutil.copytree(self.inputs / "whole" / before, out)
            words = [*other_words(name), str(out)]
            process = self.start(words)
            aim = draw.choice(["", "", ".kvsim/new", ".kvsim/swap"])
            if aim:
                while process.poll() is None and not (out / aim).exists():
                    pass
                time.sleep(draw.choice([0, draw.uniform(0, 0.03)]))
            else:
                time.sleep(draw.uniform(0, 1.2 * self.took[name]))
            process.kill()
            process.communicate()
            there, pending = set_in(out), (out / ".kvsim/swap/.kvsim").exists()
            wrong = "" if pending or there in (old, new) else f"a mixture without a trace: {sorted(there)}"
            wrong = wrong or self.checked(out)
            if not wrong and set_in(out) not in (old, new):
                wrong = f"a mixture that a reader takes for a set: {sorted(set_in(out))}"
            found = "pending" if pending else "new" if there == new else "old"
            again = self.start([*words, "--resume"] if (out / "points.jsonl").exists() else words)
            err = again.communicate()[1]
            if not wrong and again.returncode not in (0, 4):
                wrong = f"status {again.returncode} after kill -9: {err.strip()[-200:]}"
            if not wrong and (set_in(out) != new or [p for p in contents(out) if p.startswith((".kvsim/new", ".kvsim/lock", ".kvsim/swap"))]):
                wrong = f"other files after kill -9: {sorted(contents(out))}"
            return f"{name} over results, {found}", again.returncode, wrong, words

    def __call__(self, draw, number):
        kinds = [kind for kind in KINDS if kind != "full" or self.apart]
        kind = self.args.kind or kinds[number % len(kinds)]
        tried, status, wrong, words = getattr(self, kind)(draw)
        line = shown([self.args.kvsim, *words])
        return f"{kind}: {tried}", status, [(kind, wrong, line)] if wrong else []


def main():
    parser = arguments(__doc__)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--disk", help="folder on a small disk to write to")
    parser.add_argument("--grace", type=float, default=2, help="seconds of computing in which a signal ends a command")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        attacks = Attacks(args, folder)
        attacks.prepare()
        return fight(args, attacks, "what machines do")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
