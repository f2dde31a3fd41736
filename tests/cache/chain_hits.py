#!/usr/bin/env python3
"""Hits of prefix blocks in one tier, counted three times: by a simulated run, by the curve of `workload info`, and here.

  tests/cache/chain_hits.py KVSIM [--traces 200] [--seed 1]

Traces are random, half of them chains of blocks that share their beginnings, half single blocks. All three counts must be equal,
for every eviction policy, and none has more than belady. The run has one request at a time and nothing in transit. Needs Python 3.9 and nothing else.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

NEVER = 10**9
BLOCK = 512  # tokens: 64 MiB of KV of the model below
SCENARIO = """
name: one tier
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm}, host: {memory: 1 GiB}}
workload: {trace: {format: mooncake, path: trace.jsonl}}
prefill: prefix_cache
placement: {policy: lru, granularity: blocks, in_transit: 0}
decode: {policy: full_kv}
"""


class Ranked:
    """The block with the least key leaves."""

    def __init__(self, capacity, next_use):
        self.keys, self.uses, self.now, self.next_use, self.aging = {}, {}, 0, next_use, 0

    def insert(self, b):
        self.uses[b] = 0
        self.hit(b)

    def hit(self, b):
        self.uses[b] += 1
        self.now += 1
        self.keys[b] = self.key(b)

    def touch(self, b):
        pass

    def evict(self, pinned, incoming):
        free = [b for b in self.keys if b not in pinned]
        victim = min(free, key=lambda b: self.keys[b], default=None)
        return None if victim is None else self.leave(victim, incoming)

    def leave(self, victim, incoming):
        self.aging = max(self.aging, self.keys.pop(victim)[0])
        return victim


class Lru(Ranked):
    def key(self, b):
        return (self.now,)

    def touch(self, b):
        self.hit(b)


class Lfu(Ranked):
    def key(self, b):
        return (self.uses[b], self.now)


class Gdsf(Ranked):
    def key(self, b):
        return (self.aging + self.uses[b], b)


class Belady(Ranked):
    def key(self, b):
        return (-self.next_use(b), self.now)

    def touch(self, b):
        self.now += 1
        self.keys[b] = self.key(b)

    def leave(self, victim, incoming):
        if -self.next_use(incoming) <= self.keys[victim][0]:
            return incoming
        del self.keys[victim]
        return victim


class Sieve(Ranked):
    def __init__(self, capacity, next_use):
        self.queue, self.visited, self.hand = [], set(), 0  # from the oldest; the hand is a position

    def insert(self, b):
        self.visited.discard(b)
        self.queue.append(b)

    def hit(self, b):
        self.visited.add(b)

    def evict(self, pinned, incoming):
        if all(b in pinned for b in self.queue):
            return None
        while True:
            self.hand %= len(self.queue)
            b = self.queue[self.hand]
            if b not in pinned and b not in self.visited:
                del self.queue[self.hand]
                self.hand %= max(1, len(self.queue))  # past the newest: the oldest is next
                return b
            if b not in pinned:
                self.visited.discard(b)
            self.hand += 1


class S3Fifo(Ranked):
    def __init__(self, capacity, next_use):
        self.small, self.main, self.ghost, self.uses = [], [], [], {}
        self.small_room, self.main_room = capacity * 0.1, capacity - capacity * 0.1

    def insert(self, b):
        self.uses[b] = 0
        (self.main if b in self.ghost else self.small).append(b)
        if b in self.ghost:
            self.ghost.remove(b)

    def hit(self, b):
        self.uses[b] = min(self.uses[b] + 1, 3)

    def evict(self, pinned, incoming):
        victim = self.from_main(pinned) if len(self.small) < self.small_room else None
        if victim is None:
            victim = self.from_small(pinned)
        return self.from_main(pinned) if victim is None else victim

    def from_small(self, pinned):
        for b in [b for b in self.small if b not in pinned]:
            self.small.remove(b)
            if self.uses[b] < 2:
                self.ghost.append(b)
                del self.ghost[: max(0, len(self.ghost) - int(self.main_room))]
                return b
            self.uses[b] = 0
            self.main.append(b)
            victim = self.from_main(pinned) if len(self.main) > self.main_room else None
            if victim is not None:
                return victim
        return None

    def from_main(self, pinned):
        while free := [b for b in self.main if b not in pinned]:
            for b in free:
                self.main.remove(b)
                if self.uses[b] == 0:
                    return b
                self.uses[b] -= 1
                self.main.append(b)
        return None


class Arc(Ranked):
    def __init__(self, capacity, next_use):
        self.capacity, self.target, self.decided = capacity, 0.0, (None, 0.0)
        self.t1, self.t2, self.b1, self.b2 = [], [], [], []

    def target_for(self, b):
        if b == self.decided[0]:
            return self.decided[1]
        if b in self.b1:
            return min(self.capacity, self.target + max(1, len(self.b2) / len(self.b1)))
        if b in self.b2:
            return max(0, self.target - max(1, len(self.b1) / len(self.b2)))
        return self.target

    def insert(self, b):
        self.target = self.target_for(b)
        self.decided = (None, 0.0)
        back = [ghosts for ghosts in (self.b1, self.b2) if b in ghosts]
        for ghosts in back:
            ghosts.remove(b)
        (self.t2 if back else self.t1).append(b)
        while self.b1 and len(self.t1) + len(self.b1) > self.capacity:
            self.b1.pop(0)
        while self.b2 and sum(map(len, (self.t1, self.t2, self.b1, self.b2))) > 2 * self.capacity:
            self.b2.pop(0)

    def hit(self, b):
        (self.t1 if b in self.t1 else self.t2).remove(b)
        self.t2.append(b)

    def evict(self, pinned, incoming):
        target = self.target_for(incoming)
        first = len(self.t1) > target or (incoming in self.b2 and len(self.t1) == target)
        for blocks, ghosts in ((self.t1, self.b1), (self.t2, self.b2))[:: 1 if first else -1]:
            for b in blocks:
                if b not in pinned:
                    blocks.remove(b)
                    ghosts.append(b)
                    self.decided = (incoming, target)
                    return b
        return None


POLICIES = {"lru": Lru, "lfu": Lfu, "arc": Arc, "s3fifo": S3Fifo, "sieve": Sieve, "gdsf": Gdsf, "belady": Belady}


def hits(policy, capacity, requests):
    """A request finds its leading blocks, uses all that are there, and stores the others in order as far as there is room."""
    now, found = 0, 0
    later = {}  # requests that use a block, the next one last
    for number in reversed(range(len(requests))):
        for b in requests[number]:
            later.setdefault(b, []).append(number)

    def next_use(b):
        while later[b] and later[b][-1] <= now:
            later[b].pop()
        return later[b][-1] if later[b] else NEVER

    order, present = POLICIES[policy](capacity, next_use), set()
    for now, blocks in enumerate(requests):
        leading = next((i for i, b in enumerate(blocks) if b not in present), len(blocks))
        found += leading
        for b in reversed(blocks):
            if b in present:
                order.hit(b)
        fresh = []
        for b in blocks[leading:]:
            victim = None
            if b in present:
                continue
            if len(present) == capacity:
                victim = order.evict(blocks[:leading], b)
                if victim is None:
                    break
            if victim != b:
                present.discard(victim)
                present.add(b)
                fresh.append(b)
        for b in reversed(fresh):
            order.insert(b)
        for b in reversed(blocks[:leading]):
            order.touch(b)
    return found


def random_requests(draw, chains):
    """Blocks are numbered in the order in which they first come."""
    documents = [[(k, b) for b in range(draw.randint(1, 12) if chains else 1)] for k in range(draw.choice([10, 40]))]
    skew, requests, numbers = draw.choice([0.4, 0.8, 1.5]), [], {}
    for number in range(draw.choice([60, 200])):
        names = documents[min(int(draw.paretovariate(skew)) - 1, len(documents) - 1)]
        if chains:
            names = names[: draw.randint(1, len(names))] if draw.random() < 0.4 else names
            names = names + [(number, -1 - i) for i in range(draw.choice([0, 0, 1, 2, 5]))]
        requests.append([numbers.setdefault(name, len(numbers)) for name in names])
    return requests


def kvsim(program, folder, *words):
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"kvsim {' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout)


def check(program, folder, seed):
    """Returns how many counts were compared, and what differs."""
    draw = random.Random(seed)
    requests = random_requests(draw, chains=seed % 2 == 0)
    lines = [{"timestamp": 20000 * i, "input_length": BLOCK * len(blocks), "output_length": 2, "hash_ids": blocks}
             for i, blocks in enumerate(requests)]
    (folder / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "tier.yaml").write_text(SCENARIO)
    info = kvsim(program, folder, "workload", "info", "trace.jsonl", "--format", "mooncake", "--curve", "--policies",
                 ",".join(POLICIES), "--json")
    total = sum(map(len, requests))
    points = [p["blocks"] for p in info["hit_rate_curve"]["points"]]
    simulated, compared, wrong, most = draw.sample(points, min(2, len(points))), 0, [], {}
    for curve in info.get("policy_curves") or []:
        for point in curve["points"]:
            policy, blocks = curve["policy"], point["blocks"]
            counts = {"here": hits(policy, blocks, requests), "curve": round(point["hit_rate"] * total)}
            if policy == "lru":
                counts["stack"] = round(next(p["hit_rate"] for p in info["hit_rate_curve"]["points"] if p["blocks"] == blocks) * total)
            if blocks in simulated:
                run = kvsim(program, folder, "run", "tier.yaml", "--json", "--set", f"placement.policy={policy}", "--set",
                            f"cluster.host.memory={64 * blocks} MiB")
                counts["run"] = run["tiers"]["host"]["hits"]
            most.setdefault(blocks, {})[policy] = counts["here"]
            compared += len(counts) - 1
            if len(set(counts.values())) > 1:
                wrong.append(f"seed {seed}, {policy}, {blocks} blocks, {total} looked up: {counts}")
    for blocks, by_policy in most.items():
        if by_policy["belady"] < max(by_policy.values()):
            wrong.append(f"seed {seed}, {blocks} blocks: belady has fewer hits than another policy: {by_policy}")
    return compared, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kvsim", type=pathlib.Path)
    parser.add_argument("--traces", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    compared, wrong = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.traces):
            more, differ = check(options.kvsim.resolve(), pathlib.Path(folder), seed)
            compared, wrong = compared + more, wrong + differ
    print("\n".join(wrong + [f"{options.traces} traces: {compared} counts compared, {len(wrong)} differ"]))
    sys.exit(1 if wrong or compared == 0 else 0)


if __name__ == "__main__":
    main()
