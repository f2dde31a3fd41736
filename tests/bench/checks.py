#!/usr/bin/env python3
"""What the checks of conservation cost: processor time of runs with them, over that of the same runs without.

  tests/bench/checks.py WITH WITHOUT [--rounds 15]

WITH is kvsim, WITHOUT kvsim built with -DCMAKE_CXX_FLAGS=-DKVSIM_CHECKS=0 (sim/engine/invariant.h). Each load is run by
both in turn; the ratio is that of the least processor times, beside it the median of the ratios of neighbours. Results of both are
compared first: what does not check computes the same.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADS = {"chat": ["tests/bench/chat.yaml", "--set", "workload.requests=60000"],
         "headline, draft_verify": ["scenarios/long_context/headline.yaml"],
         "remote_prefix": ["scenarios/remote_prefix/published.yaml"],
         "tiered_eviction": ["scenarios/tiered_eviction/published.yaml"],
         "selective_reuse": ["scenarios/selective_reuse/published.yaml"]}


def run(binary, load):
    """(processor seconds, JSON) of a run."""
    process = subprocess.Popen([binary, "run", *load, "--json", "--jobs", "1"], cwd=ROOT, stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{binary} run {load[0]}: status {status}")
    return usage.ru_utime + usage.ru_stime, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvsim", nargs=2, type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    checked, unchecked = args.kvsim
    print("load, s with checks, s without, ratio of the least, median ratio of neighbours")
    for name, load in LOADS.items():
        if run(checked, load)[1] != run(unchecked, load)[1]:
            sys.exit(f"{name}: other results without checks")
        pairs = [(run(checked, load)[0], run(unchecked, load)[0]) for _ in range(args.rounds)]
        least = [min(times) for times in zip(*pairs)]
        between = statistics.median(a / b for a, b in pairs)
        print(f"{name}, {least[0]:.3f}, {least[1]:.3f}, {least[0] / least[1]:.3f}, {between:.3f}", flush=True)


if __name__ == "__main__":
    main()
