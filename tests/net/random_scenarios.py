#!/usr/bin/env python3
"""Random whole scenarios, run by two binaries: equal bytes, or a reason that CHANGELOG names.

  tests/net/random_scenarios.py BEFORE AFTER [--count 2000] [--seed 1] [--jobs 2] [--only BASE] [--ignore REGEX] [--show 10] [--set K=V]

  # Stretches on against off: the same binary twice.
  tests/net/random_scenarios.py BIN BIN --set run.stretches=false --ignore resolved_scenario

Each is a shipped scenario, shortened, with a few keys of the tables below drawn anew; number N of a seed is always the same
one. Both binaries run it (`kvsim run --json`); a refusal is an outcome like any other. Figures whose path --ignore matches may
differ: those that CHANGELOG names. --set changes a key for AFTER alone, repeatable. Prints the command lines of those that
differ with the figures that do, then counts by base, and by the largest relative change of a figure. Status 1 if any differs.
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What any scenario may vary.
COMMON = {
    "run.seed": ["1", "2", "3"],
    "cluster.gpu.tensor_parallel": ["1", "2", "4"],
    "schedule.max_requests": ["4", "16", "64", "256"],
    "schedule.max_batched_tokens": ["512", "2048", "8192"],
    "workload.output": ["16 tokens", "{distribution: exponential, mean: 100 tokens}",
                        "{distribution: lognormal, mean: 300 tokens, cv: 0.8}"],
}
REPLICAS = {
    "cluster.replicas": ["1", "2", "3"],
    "cluster.router": ["least_loaded", "round_robin"],
    "cluster.host.link": ["pcie4-x16", "pcie5-x16", "c2c"],
    "cluster.host.link.setup": ["0 s", "10 us", "1 ms"],
    "cluster.host.link.latency": ["0 s", "5 us", "2 ms"],
    "cluster.host.discipline": ["serialised", "fair_share"],
    "schedule.asynchronous": ["true", "false"],
}
DRAFTS = {
    "decode.policy": ["full_kv", "draft_verify", "lossy", "full_offload", "sparse_self"],
    "decode.draft_length": ["2", "8", "25"],
    "decode.keep_ratio": ["0.1", "0.2", "0.5"],
    "decode.compressor": ["kvzip", "snapkv", "kivi-2bit", "kivi-4bit"],
    "decode.acceptance": ["{model: constant, agreement: 0.8}", "{model: constant, agreement: 0.98}"],
    "schedule.policy": ["fcfs", "lock_step", "sequential_verify", "staggered"],
    "prefill": ["stored", "recompute"],
    "workload.context": ["2k tokens", "{distribution: lognormal, mean: 8k tokens, cv: 0.8}", "30k tokens"],
    "workload.closed.concurrency": ["4", "24", "100"],
}
FETCHES = {
    "decode.policy": ["full_kv", "speculative_prefetch", "fetch_on_demand", "quantised_only", "full_offload"],
    "decode.prefetch.top_k": ["16", "64", "256"],
    "workload.closed.concurrency": ["8", "64", "300"],
}
TIERS = {
    "placement": ["{policy: lru}", "{policy: utility}", "{policy: lfu}", "{policy: lru, compressor: keydiff, keep_ratio: 0.3}",
                  "{policy: arc, compressor: kivi-4bit}"],
    "cluster.host.memory": ["10 GB", "80 GB"],
    "workload.arrivals.rate": ["0.5/s", "2/s", "6/s"],
    "workload.requests": ["200", "500"],
}
POOLS = {
    "cluster.pools.local.nodes": ["1", "2"],
    "cluster.pools.remote.nodes": ["0", "2", "4"],
    "cluster.pools.local.link": ["storage-node-fast", "storage-node-slow"],
    "cluster.pools.message_latency": ["0 s", "1 ms", "20 ms"],
    "cluster.pools.local.outages": ["[]", "[{at: 20 s, lasting: 10 s, bandwidth: 0.2}]"],
    "dispatch.policy": ["online", "admit"],
    "decode.policy": ["full_kv", "draft_verify"],
    "decode.draft_length": ["4", "20", "40"],
    "workload.closed.concurrency": ["8", "64", "128"],
    "workload.context": ["2k tokens", "{distribution: lognormal, mean: 8k tokens, cv: 0.5}"],
    "prefill": ["stored", "recompute"],
}
DRAFTER = "drafter: {type: eagle3-llama-3.1-8b, draft_length: 4}"
ACCEPTANCE = "acceptance: {model: constant, agreement: 0.95}"
# Every decode policy between pools.
POOL_DECODES = {
    "decode": ["{policy: full_kv}", f"{{policy: drafter, {DRAFTER}}}",
               f"{{policy: drafter, {DRAFTER}, draft_lengths: {{policy: adaptive}}}}",
               "{policy: lossy, compressor: kivi-4bit}", f"{{policy: lossy+drafter, compressor: kivi-4bit, {DRAFTER}}}",
               "{policy: quantised_only, compressor: specache-2bit}", "{policy: speculative_prefetch, compressor: specache-2bit}",
               f"{{policy: speculative_prefetch+drafter, compressor: specache-2bit, {DRAFTER}}}",
               "{policy: fetch_on_demand, compressor: specache-2bit}", "{policy: full_offload}",
               f"{{policy: full_offload+drafter, {DRAFTER}}}",
               f"{{policy: draft_verify, compressor: kvzip, keep_ratio: 0.3, draft_length: 8, {ACCEPTANCE}}}",
               f"{{policy: draft_verify, compressor: kivi-4bit, draft_length: 20, {ACCEPTANCE}}}",
               f"{{policy: draft_verify, compressor: kivi-4bit, {ACCEPTANCE}, draft_lengths: {{policy: goodput}}}}",
               f"{{policy: draft_verify+drafter, compressor: kivi-4bit, draft_length: 20, {ACCEPTANCE}, {DRAFTER}}}"],
    "dispatch": ["{policy: online}", "{policy: admit}", "{policy: online, paths: [P1_cached, B1]}",
                 "{policy: online, paths: [P1_stateless, B2]}", "{policy: online, paths: [P2_cached, P2_stateless, B1, B2]}",
                 "{policy: weighted, weights: {B1: 1, P1_stateless: 2, P2_stateless: 1}}"],
    "schedule.arrival": ["whole", "layerwise"],
    "schedule.policy": ["fcfs", "lock_step", "sequential_verify", "staggered"],
    "schedule.asynchronous": ["true", "false"],
    "prefill": ["stored", "recompute"],
    "cluster.pools.local.nodes": ["1", "2"],
    "cluster.pools.remote.nodes": ["1", "3"],
    "cluster.pools.message_latency": ["0 s", "5 ms"],
    "workload.context": ["2k tokens", "{distribution: lognormal, mean: 6k tokens, cv: 0.8, max: 30k tokens}"],
    "workload.closed.concurrency": ["4", "24", "100"],
}
# Prompts that are found again between pools.
POOL_PLACEMENTS = {
    "decode": ["{policy: full_kv}", f"{{policy: drafter, {DRAFTER}}}"],
    "placement": ["{policy: lru}", "{policy: utility}", "{policy: lru, compressor: keydiff, keep_ratio: 0.3}"],
    "cluster.pools.storage.capacity": ["2 GB", "20 GB", "200 GB"],
    "cluster.pools.local.nodes": ["1", "2"],
    "cluster.pools.remote.nodes": ["0", "1", "3"],
    "workload.closed.concurrency": ["4", "24", "100"],
    "workload.prefixes": ["{count: 20, tokens: 3k tokens}", "{count: 100, tokens: 6k tokens}"],
}
# Rules of engines on replicas.
ENGINE_RULES = {
    "schedule.prefill_order": ["mixed", "prefill_first"],
    "schedule.reserve": ["prompt", "prompt_and_output"],
    "schedule.preempted": ["recomputed", "cached"],
    "schedule.receive_interval": ["1", "4"],
    "schedule.batch_wait": ["{iterations: 8, tokens: 0.5}"],
    "schedule.blocking_loads": ["true", "false"],
    "schedule.prefix_caching": ["true", "false"],
    "schedule.engine": ["vllm", "sglang", "tensorrt-llm"],
    "cluster.gpu.pipeline_parallel": ["1", "2"],
    "model": ["llama-3.1-8b", "gemma-3-12b", "qwen3-30b-a3b"],
}
REUSE = {
    "prefill.policy": ["selective", "cacheblend", "epic", "full_reuse", "full_recompute", "prefix_cache"],
    "prefill.rho": ["0.05", "0.15", "0.5"],
    "workload.arrivals.rate": ["0.5/s", "2/s"],
    "workload.requests": ["100", "300"],
}
SHORT = ["run.duration=60 s", "run.warmup=10 s"]
SMALL_POOLS = ["dispatch={policy: online}", "model=llama-3.1-8b", "cluster.gpu.tensor_parallel=1",
               "cluster.pools.local.link=pcie5-x16", "cluster.pools.remote.link=pcie4-x16"]
PLACED = ["prefill=prefix_cache", "workload.prefixes={count: 40, tokens: 4k tokens}", "decode={policy: full_kv}", "placement={policy: lru}"]
COUNTED = ["run.warmup=10 s"]

# Shipped scenario, and a word that tells two of one apart: what shortens it, and which keys are drawn.
BASES = {
    "long_context/headline": (SHORT, [COMMON, REPLICAS, DRAFTS]),
    "long_context/headline_rate": (SHORT, [COMMON, REPLICAS, {k: v for k, v in DRAFTS.items() if "closed" not in k}]),
    "speculative_prefetch/published": (SHORT, [COMMON, REPLICAS, FETCHES]),
    "baselines/llama-3.1-8b": (SHORT, [COMMON, REPLICAS, {"decode.policy": ["drafter", "sparse_self", "full_kv"]}]),
    "tiered_eviction/published": (COUNTED, [COMMON, REPLICAS, TIERS]),
    "composition/utility_verified": (COUNTED, [COMMON, TIERS]),
    "selective_reuse/published": (COUNTED, [COMMON, REUSE]),
    "composition/reuse_verified": (COUNTED, [COMMON, REUSE]),
    "composition/four_systems": (COUNTED, [COMMON, REUSE]),
    "remote_prefix/published": (SHORT, [COMMON, POOLS]),
    "remote_prefix/published decode": (SHORT + SMALL_POOLS, [POOL_DECODES]),
    "remote_prefix/published placed": (SHORT + SMALL_POOLS + PLACED, [POOL_PLACEMENTS]),
    "remote_prefix/published found": (SHORT + SMALL_POOLS + PLACED[:2], [{k: v for k, v in POOL_DECODES.items() if k != "prefill"}]),
    "chat_sessions/users": (SHORT, [COMMON, REPLICAS, ENGINE_RULES]),
    "baselines/llama-3.1-8b rules": (SHORT, [COMMON, REPLICAS, ENGINE_RULES]),
}


def drawn(seed, number, bases):
    """(base, overrides) of a number."""
    draw = random.Random(f"{seed}/{number}")
    base = draw.choice(bases)
    fixed, tables = BASES[base]
    keys = {key: values for table in tables for key, values in table.items()}
    some = draw.sample(sorted(keys), draw.randint(1, 6))
    return base, fixed + [f"{key}={draw.choice(keys[key])}" for key in sorted(some)]


def command(binary, base, sets):
    return [binary, "run", f"scenarios/{base.split()[0]}.yaml", "--json"] + [word for s in sets for word in ("--set", s)]


def outcome(binary, base, sets):
    try:
        done = subprocess.run(command(binary, base, sets), cwd=ROOT, capture_output=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "too long", b""
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr


def figures(node, path=""):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from figures(value, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from figures(value, f"{path}[{i}]")
    else:
        yield path, node


def change(before, after):
    """Relative change of a figure; 1 for what is no number."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (before, after))
    if not numbers:
        return 1.0
    return abs(after - before) / max(abs(before), abs(after))


def differences(before, after, ignored):
    """[(relative change, path, before, after)], the largest first."""
    a, b = dict(figures(json.loads(before))), dict(figures(json.loads(after)))
    found = [(change(a.get(p), b.get(p)), p, a.get(p), b.get(p)) for p in {**a, **b}
             if a.get(p) != b.get(p) and not (ignored and re.search(ignored, p))]
    return sorted(found, key=lambda f: (-f[0], f[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="bases whose name contains this")
    parser.add_argument("--ignore", default="", help="figures that may differ")
    parser.add_argument("--set", action="append", default=[], help="a key that AFTER alone changes")
    parser.add_argument("--show", type=int, default=10, help="of those that differ, printed")
    args = parser.parse_args()
    bases = [base for base in BASES if args.only in base]
    binaries = [str(pathlib.Path(b).resolve()) for b in (args.before, args.after)]

    def both(number):
        base, sets = drawn(args.seed, number, bases)
        return number, base, sets, [outcome(binary, base, sets + more) for binary, more in zip(binaries, ([], args.set))]

    seen, refused, largest, shown = collections.Counter(), collections.Counter(), collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for number, base, sets, (before, after) in pool.map(both, range(args.count)):
            comparable = before[0] == after[0] == 0
            found = differences(before[1], after[1], args.ignore) if comparable and before != after else []
            equal = before == after or (comparable and args.ignore and not found)
            seen[base, not equal] += 1
            refused[base] += before[0] != 0
            if equal:
                continue
            largest["status" if not found else next(f"<= {b:g}" for b in (1e-9, 1e-6, 1e-4, 1e-2, 1) if found[0][0] <= b)] += 1
            if shown < args.show:
                shown += 1
                print(f"{number}: " + " ".join(f"'{word}'" if " " in word else word for word in command("kvsim", base, sets)))
                if not comparable:
                    print(f"  {before[0]}: {before[1][-300:]!r}\n  {after[0]}: {after[1][-300:]!r}")
                for by, path, old, new in found[:6]:
                    print(f"  {path}: {str(old)[:60]} -> {str(new)[:60]} ({by:.3g})")
    for base in bases:
        print(f"{base}: {seen[base, False]} equal ({refused[base]} of all refused), {seen[base, True]} differ")
    if largest:
        print("largest change of a figure: " + ", ".join(f"{bound}: {count}" for bound, count in sorted(largest.items())))
    return 1 if largest else 0


if __name__ == "__main__":
    sys.exit(main())
