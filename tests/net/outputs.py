#!/usr/bin/env python3
"""The net under a change of structure: what kvsim prints and writes for every shipped scenario.

  tests/net/outputs.py store DIR [--kvsim build/release/bin/kvsim] [--only TEXT] [--jobs N]
      Runs every case below and stores its standard output, standard error, status and files under DIR/CASE.
  tests/net/outputs.py compare BEFORE AFTER
      Tells which cases differ, with the first lines that do. Status 1 if any does.

A change of structure leaves all of them as they are, byte for byte; a change of figures or words is one that CHANGELOG names.
Figures of the wall clock are taken out. Needs Python 3.9 and nothing else; half an hour on two cores with --jobs 2.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT = ["--set", "run.duration=30 min"]

# What differs between equal runs: times of the wall clock, on pages and in timing files.
WALL_CLOCK = [
    (re.compile(rb"^ +(wall time|speed)  .*\n", re.M), b""),
    (re.compile(rb"; [0-9.,]+ (us|ms|s|min) of simulation"), b""),
    (re.compile(rb"(planned|searched|simulated|found) in [0-9.,]+ (us|ms|s|min)\b"), rb"\1 in TIME"),
    (re.compile(rb"[0-9.,]+ (us|ms|s|min) of (planning|search)"), rb"TIME of \2"),
]
LEFT_OUT = {"timing.json"}

# Recordings that scenarios name and the repository does not hold, where they are.
RECORDED = {"conversation_trace.jsonl": "../shared/traces/mooncake_conversation.jsonl",
            "requests.jsonl": "../shared/measured/serving/rtx-pro-6000_llama-3.1-8b/requests.jsonl"}


def scenarios():
    paths = sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / "scenarios").rglob("*.yaml"))
    return [p for p in paths if not p.startswith("scenarios/papers/")]  # experiments of kvsim reproduce


def cases():
    """(name, command lines): the last lines may read what the first wrote."""
    for scenario in scenarios():
        name = scenario[len("scenarios/"):-len(".yaml")].replace("/", "-")
        yield f"check/{name}", [["check", scenario], ["check", scenario, "--full"]]
        yield f"run/{name}", [["run", scenario, "--out", "out"], ["run", scenario, "--json", *SHORT]]
        yield f"compare/{name}", [["compare", scenario, "--out", "out"]]
        yield f"compare-all/{name}", [["compare", scenario, "--policies", "all", *SHORT, "--replications", "2"],
                                      ["compare", scenario, "--policies", "all", *SHORT, "--json"]]
        yield f"plan/{name}", [["plan", scenario, "--out", "out"]]
        yield f"sweep/{name}", [["sweep", scenario, "--vary", "run.seed=1,2,3", *SHORT, "--out", "out"],
                                ["sweep", scenario, "--vary", "run.seed=1,2", *SHORT, "--metric", "latency_s.ttft.p99"],
                                ["sweep", scenario, "--vary", "run.seed=1,2", *SHORT, "--csv"]]
    headline = "scenarios/long_context/headline.yaml"
    yield "plan-explained/headline", [["plan", headline, "--simulate", "--explain", "--pareto", "--export", "vllm", "--export",
                                       "lmcache", "--out", "out"],
                                      ["plan", headline, "--draft-table"], ["plan", headline, "--draft-table", "--json"]]
    yield "plan-explained/baseline", [["plan", "scenarios/baselines/llama-3.1-8b.yaml", "--explain", "--out", "out", *SHORT]]
    yield "plan-explained/pools", [["plan", "scenarios/remote_prefix/published.yaml", "--simulate", "--out", "out", *SHORT]]
    yield "plan-explained/paths", [["plan", "--paths", "docs/examples/two_pools.yaml", "--lp-out", "two_pools.lp", "--out", "out"],
                                   ["plan", "--paths", "docs/examples/two_pools.yaml"],
                                   ["plan", "--paths", "docs/examples/two_pools.yaml", "--json"]]
    yield "sweep-map/headline", [["sweep", headline, "--vary", "decode.draft_length=10,20,30", "--vary",
                                  "decode.keep_ratio=0.1,0.2,0.4", *SHORT, "--out", "out"],
                                 ["report", "out", "--out", "report.html"]]
    yield "sweep-map/refused", [["sweep", headline, "--vary", "decode.keep_ratio=0.0001,0.2", *SHORT],
                                ["sweep", headline, "--vary", "run.seed=1", "--metric", "no.such.metric"]]
    chat = "scenarios/capacity/chat.yaml"
    yield "capacity/chat", [["capacity", chat, "--out", "out"]]
    yield "capacity/fleet", [["capacity", chat, "--machines", "h100-sxm,l40s", "--rate", "100/s", "--n-1", "--out", "out"]]
    yield "capacity/none", [["capacity", chat, "--slo", "ttft_p99=10ms"]]
    yield "capacity/policies", [["capacity", "scenarios/long_context/headline_rate.yaml", "--policies",
                                 "full_kv,draft_verify:staggered", "--rate", "0.5/s", "--replications", "2", "--out", "out"]]
    yield "capacity/tiers", [["capacity", "scenarios/tiered_eviction/published.yaml", "--slo", "ttft_p99=5s", "--attainment", "0.9",
                              "--replications", "2", "--memory", "40GB,80GB", "--storage", "ssd=400GB", "--out", "out"]]
    yield "validate/text", [["validate", "--measured", "MEASURED"]]
    yield "validate/json", [["validate", "--measured", "MEASURED", "--json"]]
    yield "validate/markdown", [["validate", "--markdown", "--measured", "nowhere"]]
    for kind in ("models gpus links compressors drafters profiles attention_profiles datasets rag_tasks engines policies").split():
        yield f"list/{kind}", [["list", kind], ["list", kind, "--json"]]
    yield "schema/json", [["schema"]]
    yield "schema/markdown", [["schema", "--markdown"]]
    yield "show/entries", [["show", "h100-nvl"], ["show", "llama-3.1-70b"], ["show", "kvzip"], ["show", "hopper-bridge"]]
    yield "report/headline", [["compare", headline, *SHORT, "--out", "results/compare"],
                              ["plan", headline, "--explain", "--pareto", "--out", "results/plan"],
                              ["capacity", "scenarios/long_context/headline_rate.yaml", "--rate", "0.5/s", "--replications", "2",
                               "--out", "results/capacity"],
                              ["report", "results", "--out", "report.html"], ["report", "results", "--format", "md"],
                              ["report", "results", "--format", "csv", "--out", "csv"]]
    for name in ("speculative_prefetch/published", "tiered_eviction/published", "selective_reuse/published",
                 "remote_prefix/published"):
        scenario = f"scenarios/{name}.yaml"
        yield f"report/{name.split('/')[0]}", [["compare", scenario, *SHORT, "--out", "results/compare"],
                                               ["plan", scenario, "--out", "results/plan"],
                                               ["report", "results", "--out", "report.html"],
                                               ["report", "results", "--format", "md"],
                                               ["report", "results", "--format", "csv", "--out", "csv"]]


def cleaned(data):
    for pattern, instead in WALL_CLOCK:
        data = pattern.sub(instead, data)
    return data


def store_case(kvsim, top, name, commands):
    folder = top / name
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    (work / "scenarios").symlink_to(ROOT / "scenarios")
    (work / "docs").symlink_to(ROOT / "docs")
    for name, recorded in RECORDED.items():
        if (ROOT / recorded).exists():
            (work / name).symlink_to((ROOT / recorded).resolve())
    measured = str((ROOT / "../shared/measured").resolve())
    for i, command in enumerate(commands):
        command = [measured if word == "MEASURED" else word for word in command]
        done = subprocess.run([kvsim, *command], cwd=work, stdin=subprocess.DEVNULL, capture_output=True,
                              env={**os.environ, "TERM": "dumb", "COLUMNS": "100"})
        for kind, data in (("out", done.stdout), ("err", done.stderr)):
            (folder / f"{i}.{kind}").write_bytes(cleaned(data).replace(measured.encode(), b"MEASURED"))
        (folder / f"{i}.status").write_text(f"{done.returncode}\n")
    for path in list(work.iterdir()):
        if path.is_symlink():
            path.unlink()
    for path in work.rglob("*"):
        if not path.is_file():
            continue
        if path.name in LEFT_OUT:
            path.unlink()
        elif path.suffix in {".md", ".json", ".html", ".csv", ".jsonl"}:
            path.write_bytes(cleaned(path.read_bytes()))
    points = list(work.rglob("points.jsonl"))  # in the order in which points finished
    for path in points:
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:1] + sorted(lines[1:])))


def store(options):
    top = pathlib.Path(options.folder).resolve()
    kvsim = str(pathlib.Path(options.kvsim).resolve())
    chosen = [(name, commands) for name, commands in cases() if not options.only or re.search(options.only, name)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(store_case, kvsim, top, name, commands): name for name, commands in chosen}
        for done in concurrent.futures.as_completed(futures):
            done.result()
            print(futures[done], flush=True)
    return 0


def compare(options):
    before, after = pathlib.Path(options.before), pathlib.Path(options.after)
    files = sorted({p.relative_to(top) for top in (before, after) for p in top.rglob("*") if p.is_file()})
    differ = 0
    for file in files:
        one, other = before / file, after / file
        if not one.exists() or not other.exists():
            print(f"{file}: only {'after' if other.exists() else 'before'}")
        elif one.read_bytes() != other.read_bytes():
            print(f"{file}:")
            lines = difflib.unified_diff(one.read_text(errors="replace").splitlines(),
                                         other.read_text(errors="replace").splitlines(), lineterm="", n=0)
            for line in list(lines)[2:2 + options.lines]:
                print("   ", line[:300])
        else:
            continue
        differ += 1
    print(f"{len(files)} files, {differ} differ")
    return 1 if differ else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    storing = verbs.add_parser("store")
    storing.add_argument("folder")
    storing.add_argument("--kvsim", default=ROOT / "build/release/bin/kvsim")
    storing.add_argument("--only", help="cases whose name this regular expression is found in")
    storing.add_argument("--jobs", type=int, default=os.cpu_count())
    storing.set_defaults(do=store)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before")
    comparing.add_argument("after")
    comparing.add_argument("--lines", type=int, default=6, help="of each file that differs")
    comparing.set_defaults(do=compare)
    options = parser.parse_args()
    return options.do(options)


if __name__ == "__main__":
    sys.exit(main())
