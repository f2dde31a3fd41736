#!/usr/bin/env python3
"""Damaged files of every kind that kvsim reads: read as something else, or refused in words.

  tests/attack/files.py KVSIM [--seed 1] [--seconds 120] [--count N] [--jobs 2] [--kind KIND]

Each attack damages one file that is whole (scenarios, what they include, traces of every format, a model's config.json, prices,
experiments, results, journals, points of a sweep, measured serving points, tables of kernel times): bits flipped, bytes cut off, left out, put in or
doubled, lines swapped, a number replaced by an extreme one; then runs the command that reads it. attack.py says what a
finding is. A damaged journal must besides lead to the results of the whole one, or be refused. Number N of a seed is always
the same attack. Status 1 if anything was found.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from attack import ROOT, Result, arguments, fight, finding, shown

TINY = """name: tiny
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm}, host: {memory: 100 GB}}
workload: {closed: {concurrency: 2}, context: 1k tokens, output: 20 tokens}
prefill: recompute
decode: {policy: full_kv}
run: {duration: 2 s, warmup: 0 s, seed: 1}
"""
CONFIG = """{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
 "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "head_dim": 128,
 "max_position_embeddings": 131072, "torch_dtype": "bfloat16", "tie_word_embeddings": false}
"""
ENTRY = """gpus:
  - {name: mine, base: h100-sxm, memory: 90 GB}
models:
  - {name: small, base: llama-3.1-8b, layers: 16}
"""
EXPERIMENT = """place: our bench
title: Throughput
scenario: tiny.yaml
runs: [{name: run(policy), policy: "{policy}"}]
panels:
  - x: {title: policy, named: true, over: {columns: policy, rows: [full_kv]}}
    y: {title: tokens/s}
    tolerance: 0.2
    series: [{name: ours, simulated: "run({policy}).throughput.output_tokens_per_s", points: [{at: full_kv, is: 100}]}]
"""
PRICES = """gpus:
  - {name: h100-sxm, usd_per_hour: 2, date: mid 2025, source: round figure}
"""
POINTS = "workload.closed.concurrency,decode.policy\n1,full_kv\n2,full_kv\n3,full_kv\n"
SHORT = ["--set", "run.duration=2 s", "--set", "run.warmup=0 s"]
EXTREMES = [b"0", b"-1", b"1e308", b"1e999", b"9223372036854775807", b"18446744073709551616", b"nan", b"0.0000001", b"null",
            b"true", b'"x"', b"[]", b"{}"]
INSERTED = [b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xe2\x80\xae", b"[" * 2000, b"{" * 300, b'"', b"&a [*a]", b"- ", b"\t", b"\r", b"%",
            b"<<: {}\n", b"#", b"9" * 400, b"\xef\xbb\xbf"]


def damaged(draw, whole):
    """What becomes of the bytes of a file."""
    data = bytearray(whole)

    def place():
        return draw.randrange(len(data) + 1)

    for _ in range(draw.choice([1, 1, 1, 2, 5])):
        if not data:
            break
        way = draw.randrange(9)
        if way == 0:
            at = draw.randrange(len(data))
            data[at] ^= 1 << draw.randrange(8)
        elif way == 1:
            del data[place():]
        elif way == 2:
            begin = place()
            del data[begin:begin + draw.choice([1, 1, 4, 40, 400])]
        elif way == 3:
            at = place()
            data[at:at] = draw.choice(INSERTED)
        elif way == 4:
            begin = place()
            data[begin:begin] = data[begin:begin + draw.choice([1, 10, 100])]
        elif way == 5:
            lines = bytes(data).splitlines(keepends=True)
            i, k = draw.randrange(len(lines)), draw.randrange(len(lines))
            lines[i], lines[k] = lines[k], lines[i]
            data = bytearray(b"".join(lines))
        elif way == 6:
            lines = bytes(data).splitlines(keepends=True)
            del lines[draw.randrange(len(lines))]
            data = bytearray(b"".join(lines))
        else:
            numbers = list(re.finditer(rb"-?\d+\.?\d*(?:[eE][+-]?\d+)?", bytes(data)))
            if numbers:
                one = draw.choice(numbers)
                data[one.start():one.end()] = draw.choice(EXTREMES)
    return bytes(data)


class Kind:
    def __init__(self, name, file, command, is_json=False, same_as=None):
        self.name, self.file, self.command, self.is_json = name, file, command, is_json
        self.same_as = same_as  # a file that must be as it was where the command ends with 0


def prepared(kvsim, top):
    """Whole files under `top`; the kinds of attack on them."""

    def put(name, text):
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def ran(*words):
        done = subprocess.run([kvsim, *words], cwd=top, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"a whole file is refused: {shown(words)}: {done.stderr}")

    put("tiny.yaml", TINY)
    put("config.json", CONFIG)
    put("entry.yaml", ENTRY)
    put("with_entry.yaml", "include: [entry.yaml]\n" + TINY.replace("h100-sxm", "mine").replace("llama-3.1-8b", "small"))
    put("with_config.yaml", TINY.replace("model: llama-3.1-8b", "model: {config: config.json}"))
    put("experiment.yaml", EXPERIMENT)
    put("prices.yaml", PRICES)
    put("points.csv", POINTS)
    kinds = [
        Kind("scenario", "tiny.yaml", ["run", "tiny.yaml", "--json"], True),
        Kind("entry", "entry.yaml", ["run", "with_entry.yaml", "--json"], True),
        Kind("config", "config.json", ["run", "with_config.yaml", "--json"], True),
        Kind("import", "config.json", ["model", "import", "config.json"]),
        Kind("experiment", "experiment.yaml", ["reproduce", "experiment.yaml", "--json"]),
        Kind("prices", "prices.yaml", ["compare", "tiny.yaml", "--policies", "full_kv", "--prices", "prices.yaml", "--json"], True),
        Kind("points", "points.csv", ["sweep", "tiny.yaml", "--points", "points.csv", "--json"], True),
    ]
    for path in sorted((ROOT / "tests/fuzz/corpus/trace").iterdir()):
        put(f"trace/{path.name}", path.read_bytes()[1:])  # the first byte tells the fuzzer the format
        reader = path.name.split(".")[0]
        names = ["--columns", "arrival=ts,prompt=in,output=out,session=conv,end=end"] if reader == "columns" else []
        kinds.append(Kind(f"trace-{path.name}", f"trace/{path.name}",
                          ["workload", "info", f"trace/{path.name}", "--format", reader, *names, "--json"]))
    # Their first byte tells the fuzzer which kind of file it is.
    served = ["--given", "model_path=llama-3.1-8b", "--given", "system=h200"]
    for path in sorted((ROOT / "tests/fuzz/corpus/serving_points").iterdir()):
        ending = {"csv": ".csv", "recording_csv": ".csv", "recording_jsonl": ".jsonl", "timeseries": ".csv"}.get(path.name, ".json")
        name = f"serving/{path.name}/timeseries.csv" if path.name == "timeseries" else f"serving/{path.name}{ending}"
        put(name, path.read_bytes()[1:])
        if path.name == "timeseries":  # of a recorded run
            put(f"serving/{path.name}/requests.csv", (path.parent / "recording_csv").read_bytes()[1:])
            kinds.append(Kind("backtest-timeseries", name, ["backtest", f"serving/{path.name}", *served, "--json"]))
            continue
        shown = path.name if path.name.startswith("recording") else "1"
        kinds.append(Kind(f"backtest-{path.name}", name, ["backtest", name, *served, "--show", shown]))
    for path in sorted((ROOT / "tests/fuzz/corpus/scenario").iterdir()):
        put(f"scenario/{path.name}", path.read_bytes())
        kinds.append(Kind("scenario", f"scenario/{path.name}", ["run", f"scenario/{path.name}", *SHORT, "--json"], True))
    ran("run", "tiny.yaml", "--out", "results/run")
    ran("compare", "tiny.yaml", "--policies", "full_kv,full_offload", "--out", "results/compare")
    ran("sweep", "tiny.yaml", "--points", "points.csv", "--out", "results/sweep")
    for name, file in (("run", "result.json"), ("compare", "result.json"), ("sweep", "sweep.json")):
        kinds.append(Kind(f"result-{name}", f"results/{name}/{file}",
                          ["report", f"results/{name}/{file}", "--format", "md"]))
    shutil.copytree(top / "results/sweep", top / "journal")
    for name in ("sweep.json", "sweep.csv"):
        (top / "journal" / name).unlink()
    kinds.append(Kind("journal", "journal/points.jsonl",
                      ["sweep", "tiny.yaml", "--points", "points.csv", "--out", "journal", "--resume", "--json"], True,
                      "results/sweep/sweep.json"))
    ran("reproduce", "experiment.yaml", "--out", "reproduced")
    for path in sorted((top / "reproduced/runs").iterdir()):
        kinds.append(Kind("reproduced", f"reproduced/runs/{path.name}",
                          ["reproduce", "experiment.yaml", "--out", "reproduced", "--json"], False, "reproduced/reproduce.json"))
    return kinds


def main():
    parser = arguments(__doc__)
    parser.add_argument("--kind", default="", help="kinds of files whose name contains this")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder) / "whole"
        whole.mkdir()
        every = prepared(args.kvsim, whole)
        names = sorted({kind.name for kind in every if args.kind in kind.name})

        def attack(draw, number):
            name = draw.choice(names)
            kind = draw.choice([kind for kind in every if kind.name == name])
            top = pathlib.Path(folder) / str(threading.get_ident())
            shutil.rmtree(top, ignore_errors=True)
            shutil.copytree(whole, top)
            (top / kind.file).write_bytes(damaged(draw, (whole / kind.file).read_bytes()))
            result = Result([args.kvsim, *kind.command], top)
            wrong = finding(result, kind.is_json and result.status == 0)
            if not wrong and kind.same_as and result.status == 0 and result.out != (whole / kind.same_as).read_text():
                wrong = "other results: those of the whole file are lost"
            line = (f"tests/attack/files.py KVSIM --seed {args.seed} --first {number} --count 1 --kind '{args.kind}'   # "
                    + shown(["kvsim", *kind.command]))
            return kind.name, result.status, [(kind.command[0], wrong, line)] if wrong else []

        return fight(args, attack, f"{len(names)} kinds of files")


if __name__ == "__main__":
    sys.exit(main())
