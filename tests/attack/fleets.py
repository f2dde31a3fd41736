#!/usr/bin/env python3
"""Fleets of sessions on random machines: bought, run again with a fresh seed, and with one replica fewer.

  tests/attack/fleets.py KVSIM [--count 20] [--seed 1] [--jobs 2] [--only N] [--minutes 10] [--keep DIR]

Each fleet is of a random machine (a GPU of the catalogue with memory, bandwidth and compute changed, and host memory), random sessions
whose prompts are stored in host memory, and objectives of two percentiles. `kvsim capacity` finds what one replica sustains, then buys a fleet for
N - 0.3 times that rate. `kvsim run` simulates what was bought with four other seeds, and one replica fewer. The first must meet the
objectives in the mean of the four, with the confidence that capacity states (95 %). Of the second it must not be certain, with the same
confidence, that it meets them. Fleet N of a seed is always the same one. Prints a line for each, and status 1 where more fleets miss than
chance allows, or more of one replica fewer meet the objectives. Takes some CPU-minutes a fleet, so that it is run by hand.
"""
import argparse
import concurrent.futures
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

CONFIDENCE = 0.95
SEEDS = [424242, 424243, 424244, 424245]
T_QUANTILE = 2.353  # Student's, one-sided 95 %, three degrees of freedom
GPUS = ["a100", "h100-sxm", "h100-nvl", "h200", "b200", "l40s"]
PERCENTILES = ["p90", "p95", "p99"]

SCENARIO = """name: fleet {number}
model: llama-3.1-8b
cluster:
  gpu:
    type: {{base: {gpu}, memory_bandwidth: {bandwidth} GB/s, bf16_peak: {peak} TFLOP/s, fp8_peak: {fp8} TFLOP/s}}
  host: {{memory: {memory} GB}}
workload:
  arrivals: {{rate: 1/s}}
  context: {{distribution: lognormal, mean: {context} tokens, cv: 0.8, max: 16k tokens}}
  output: {{distribution: lognormal, mean: {output} tokens, cv: 0.6, min: 4 tokens, max: 1k tokens}}
  sessions:
    turns: {{distribution: uniform, min: 1, max: {turns}}}
    growth: {{distribution: lognormal, mean: {growth} tokens, cv: 0.8, max: 4k tokens}}
    think_time: {{distribution: exponential, mean: {think} s}}
prefill: prefix_cache
placement: {{policy: lru}}
decode: {{policy: full_kv}}
schedule: {{policy: fcfs}}
slo: {{ttft_{ttft_percentile}: {ttft} ms, tpot_{tpot_percentile}: {tpot} ms}}
run: {{duration: 2 min, warmup: 20 s, seed: {seed}}}
"""


def scenario(seed, number):
    """The scenario of a fleet, and about how many replicas it shall have."""
    draw = random.Random(f"{seed} {number}")
    gpu, bandwidth, peak = draw.choice(GPUS), round(draw.uniform(800, 6000)), round(draw.uniform(250, 2000))
    text = SCENARIO.format(
        number=number, seed=number + 1, gpu=gpu, bandwidth=bandwidth, peak=peak, fp8=2 * peak, memory=draw.choice([16, 32, 64, 128, 256]), context=draw.choice([500, 1000, 2000, 4000]),
        output=draw.choice([50, 100, 200]), turns=draw.choice([4, 8, 12]), growth=draw.choice([100, 300, 1000]),
        think=draw.choice([5, 15, 30]), ttft_percentile=draw.choice(PERCENTILES), ttft=draw.choice([500, 1000, 2000]),
        tpot_percentile=draw.choice(PERCENTILES), tpot=draw.choice([25, 40, 60]))
    return text, draw.choice([2, 3, 4, 6, 8, 12, 20])


def answer(command):
    """The document that a command prints; none where nothing meets the objectives."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 4:
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def above(kvsim, path, rate, replicas, minutes):
    """By how many points the share of requests that meet a percentile's objectives is above it, of the percentile where that is least: in the mean of four
    runs, its one-sided lower bound (Student's t), and requests."""
    margins, requests = [], 0
    for seed in SEEDS:
        run = answer([kvsim, "run", path, "--json", "--seed", str(seed), "--set", f"cluster.replicas={replicas}", "--set",
                      f"workload.arrivals.rate={rate}/s", "--set", f"run.duration={minutes + 5} min", "--set", "run.warmup=5 min"])
        shares = run["slo"]["percentiles"]
        margins.append(min(100 * share - int(p[1:]) for p, share in shares.items()))
        requests += run["requests"]["completed"]
    mean = sum(margins) / len(margins)
    variance = sum((m - mean) ** 2 for m in margins) / (len(margins) - 1)
    return mean, mean - T_QUANTILE * math.sqrt(variance / len(margins)), requests


def fleet(kvsim, seed, number, minutes, folder):
    """A line about one fleet: what happened, and words."""
    text, replicas = scenario(seed, number)
    path = str(pathlib.Path(folder) / f"fleet{number}.yaml")
    pathlib.Path(path).write_text(text)
    capacity = [kvsim, "capacity", path, "--json", "--jobs", "1"]
    one = answer(capacity)
    if one is None:
        return "infeasible", f"{number}: nothing meets the objectives"
    rate = (replicas - 0.3) * one["configurations"][0]["rate_per_replica"]
    bought = answer([*capacity, "--rate", f"{rate:.6g}/s"])
    c = bought["configurations"][0]
    if "fleet" not in c:
        return "none", f"{number}: no fleet: {c.get('no_fleet')}"
    needed = c["fleet"]["replicas"]
    margin, _, requests = above(kvsim, path, f"{rate:.6g}", needed, minutes)
    words = (f"{number}: {needed} x {c['machine']}, {c['fleet']['replicas_simulated']} simulated, {rate:.3g} sessions/s: "
             f"{margin:+.2f} points above what is asked for, of {requests} requests")
    outcome = "met" if margin >= 0 else "missed"
    if needed > 1:
        fewer, lower, _ = above(kvsim, path, f"{rate:.6g}", needed - 1, minutes)
        words += f"; one fewer {fewer:+.2f}, at least {lower:+.2f}"
        if lower >= 0:
            outcome = "too many" if outcome == "met" else outcome
    return outcome, words


def allowed(count):
    """Fleets that may miss by chance: as many as leave less than one in a hundred sets of fleets above."""
    most, below, term = 0, 0.0, CONFIDENCE**count
    while below + term < 0.99:
        below += term
        most += 1
        term *= (count - most + 1) / most * (1 - CONFIDENCE) / CONFIDENCE
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kvsim")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    parser.add_argument("--minutes", type=int, default=10, help="measured time of each run, simulated")
    parser.add_argument("--keep", help="folder for the scenarios; else they are removed")
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else [options.only]
    outcomes = []
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or temporary
        work = [pool.submit(fleet, options.kvsim, options.seed, n, options.minutes, folder) for n in numbers]
        for one in work:
            outcome, words = one.result()
            outcomes.append(outcome)
            print(f"{outcome:10} {words}", flush=True)
    counts = {word: outcomes.count(word) for word in sorted(set(outcomes))}
    judged = sum(counts.get(word, 0) for word in ("met", "missed", "too many"))
    print(f"{counts}; of {judged} fleets {allowed(judged)} may miss by chance")
    return 1 if max(counts.get("missed", 0), counts.get("too many", 0)) > allowed(judged) or judged == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
