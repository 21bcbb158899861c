#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted servers: the arithmetic of a prediction, and measured servers that took no part in the
fit of its constants (../shared/data/references; skipped where the folder is absent). Prints TAP."""
import csv
import gzip
import importlib.util
import json
import os
import subprocess

LPO = os.environ["LPO_BIN"]
SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
MODEL = os.path.join(SOURCE, "tests/data/models/llama-3.2-1b")
DATA = os.path.join(SOURCE, "../shared/data/references")
os.environ["LPO_CONFIG_DIR"] = os.path.join(SOURCE, "conf")
spec = importlib.util.spec_from_file_location("fit", os.path.join(SOURCE, "scripts/fit-serving.py"))
fit = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fit)


def run(*args):
    return subprocess.run([LPO, "analyze", *args], capture_output=True, text=True, timeout=60)


def serve(*args, model=MODEL):
    done = run(model, "--hardware", "h200_sxm", "--isl", "512", "--osl", "128", "--json", *args)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parts_add_up():
    s = serve("--batch", "8", "--tp", "2")["serving"]
    for phase in ("prefill", "decode"):
        names = [p["part"] for p in s[phase]["parts"]]
        assert names == ["attention", "projections", "mlp", "all_reduce", "head", "framework"], names
        assert abs(sum(p["us"] for p in s[phase]["parts"]) - s[phase]["us"]) < 1e-6 * s[phase]["us"]
    assert abs(s["ttft_ms"] - s["prefill"]["us"] / 1000) < 1e-9
    more = s["tpot_ms"] - s["decode"]["us"] / 1000
    assert abs(more - 1.3 * s["ttft_ms"] * 7 / 128) < 1e-9, more
    assert abs(s["tokens_per_second"] - 8000 / s["tpot_ms"]) < 1e-6
    assert s["requests_fit"] > 8 and s["unknown"] is None


def the_context_is_half_of_the_output_later():
    d = serve()
    assert d["decode"]["context"] == 512 + 64 and d["prefill"]["tokens"] == 512
    one, two = (serve("--osl", n)["memory"]["kv"] for n in ("512", "1536"))
    assert two == 2 * one, (one, two)  # the cache holds all of it


def more_requests_cost_more():
    rows = serve("--sweep", "batch=1..100")["sweep"]
    assert [r["batch"] for r in rows] == [1, 2, 4, 8, 16, 32, 64, 100]
    times = [r["tpot_ms"] for r in rows]
    rates = [r["tokens_per_second"] for r in rows]
    assert times == sorted(times) and rates == sorted(rates), (times, rates)


def frameworks_differ_by_their_share():
    found = {f: serve("--framework", f)["serving"]["decode"]["parts"] for f in ("vllm", "sglang")}
    kernels = [[p for p in parts if p["part"] != "framework"] for parts in found.values()]
    assert kernels[0] == kernels[1] and found["vllm"] != found["sglang"]


def what_no_table_has_has_no_total(tmp="sparse.json"):
    config = {"model_type": "glm_moe_dsa", "hidden_size": 512, "num_hidden_layers": 2, "vocab_size": 999,
              "num_attention_heads": 4, "intermediate_size": 512, "kv_lora_rank": 512,
              "q_lora_rank": 256, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
              "index_topk": 64, "index_n_heads": 2, "index_head_dim": 64, "n_routed_experts": 4,
              "num_experts_per_tok": 2, "moe_intermediate_size": 128, "first_k_dense_replace": 1}
    with open(tmp, "w") as f:
        json.dump(config, f)
    s = serve(model=tmp)["serving"]
    assert s["unknown"] == "sparse attention" and s["tpot_ms"] is None and s["decode"]["us"] is None
    assert any(p["part"] == "experts" for p in s["decode"]["parts"])


def modules_take_what_their_parts_take():
    d = serve("--batch", "8")
    blocks = {"attn": ("attention", "projections"), "mlp": ("mlp",), "lm_head": ("head",)}
    us = {p["part"]: p["us"] for p in d["serving"]["decode"]["parts"]}
    for block, names in blocks.items():
        found = [m["decode"]["best_seconds"] for m in d["modules"] if m["block"] == block]
        assert abs(sum(found) * 1e6 / sum(us[n] for n in names) - 1) < 1e-6, (block, found)
        assert all(m["decode"]["best_seconds"] > m["decode"]["seconds"] for m in d["modules"] if m["block"] == block)


def a_run_beside_it():
    trace = os.path.join(SOURCE, "tests/data/native/torch_llama.lpot")
    rows = {(r["phase"], r["region"]): r for r in serve("--measured", trace)["serving"]["measured"]}
    decode = rows["decode", "all"]
    assert abs(decode["busy_ns"] - 459.2e3 / 2) < 100, decode  # of one of two steps
    assert abs(rows["prefill", "all"]["busy_ns"] - 267.6e3) < 100
    assert decode["measured_ns"] > decode["busy_ns"] and decode["expected_ns"] > 0


def wrong_questions():
    for args, says in (((MODEL, "--isl", "9"), "--hardware"),
                       ((MODEL, "--isl", "9", "--hardware", "t4"), "no reference for 't4'"),
                       ((MODEL, "--hardware", "h200_sxm", "--framework", "x"), "vllm"),
                       ((MODEL, "--hardware", "h200_sxm", "--tp", "4", "--ep", "3"), "divide"),
                       ((MODEL, "--sweep", "batch=4..x"), "whole number")):
        done = run(*args)
        assert done.returncode == 2 or "no reference" in says, (args, done.returncode)
        assert done.returncode and says in done.stderr, done.stderr


def measured_servers():
    table = os.path.join(DATA, "serving_measured.csv.gz")
    if not os.path.exists(table):
        return "SKIP no ../shared/data/references"
    errors = {}
    with gzip.open(table, "rt") as f:
        rows = list(csv.DictReader(f))
    for row in rows[::4]:
        words = fit.command(LPO, os.path.join(DATA, "models"), row)
        if isinstance(words, str) or fit.is_fitted(row):
            continue
        found = fit.predict(words)
        if not isinstance(found, str):
            error = abs(found["tpot_ms"] / float(row["silicon_tpot_ms"]) - 1)
            errors.setdefault(row["backend"], []).append(error)
    for name, found in errors.items():
        middle = sorted(found)[len(found) // 2]
        assert len(found) > 20 and middle < 0.15, (name, len(found), middle)
    assert len(errors) == 3


cases = [parts_add_up, the_context_is_half_of_the_output_later, more_requests_cost_more,
         frameworks_differ_by_their_share, what_no_table_has_has_no_total, modules_take_what_their_parts_take, a_run_beside_it,
         wrong_questions, measured_servers]
print(f"1..{len(cases)}")
for i, case in enumerate(cases, 1):
    try:
        skipped = case()
        print(f"ok {i} - {case.__name__}" + (f" # {skipped}" if skipped else ""))
    except Exception as e:
        print(f"not ok {i} - {case.__name__}\n# {type(e).__name__}: {str(e)[:500]}")
