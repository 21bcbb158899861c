#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`lpo analyze` from the outside: the fields scripts rely on, exit codes, and the counted truths. Prints TAP."""
import glob
import json
import os
import subprocess
import sys
import tempfile

LPO = os.environ["LPO_BIN"]
SOURCE = os.environ.get("LPO_SOURCE_ROOT", os.getcwd())
MODEL = os.path.join(SOURCE, "tests/data/models/llama-3.2-1b")
results = []


def run(*args, env=None):
    return subprocess.run([LPO, "analyze", *args], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LPO_CONFIG_DIR": os.path.join(SOURCE, "conf"), **(env or {})})


def analyze(*args, **kw):
    done = run(*args, "--json", **kw)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fields():
    d = analyze(MODEL, "--seq", "128", "--batch", "2", "--hardware", "h200_sxm")
    assert d["family"] == "llama" and d["parameters"] == {"total": 1235814400, "active": 1235814400}
    assert d["prefill"]["tokens"] == 128 and d["prefill"]["flops"] > 0 and d["prefill"]["seconds"] > 0
    assert d["decode"]["context"] == 128 and d["decode"]["flops"] > 0 and d["vision"] is None
    assert d["kv_cache"]["bytes_per_token"] == 16 * 2 * 8 * 64 * 2
    assert sum(m["parameters"] for m in d["modules"]) == d["parameters"]["total"]
    assert sum(m["prefill"]["flops"] for m in d["modules"] if "prefill" in m) == d["prefill"]["flops"]
    assert d["choices"]["counting"] == "model" and d["hardware"]["name"] == "h200_sxm"


def no_hardware_no_times():
    d = analyze(MODEL)
    assert d["hardware"] is None and d["prefill"]["seconds"] is None
    assert d["prefill"]["bound"] is None and d["decode"]["tokens_per_second"] is None
    assert "fits" not in d["memory"]


def config_alone_is_the_same_as_its_folder():
    a, b = analyze(MODEL), analyze(os.path.join(MODEL, "config.json"))
    assert a["prefill"] == b["prefill"] and a["modules"] == b["modules"]


def sweep():
    d = analyze(MODEL, "--sweep", "seq=128,256,batch=1,8")
    assert [(r["seq"], r["batch"]) for r in d["sweep"]] == [(128, 1), (128, 8), (256, 1), (256, 8)]
    assert d["sweep"][1]["prefill_flops"] == 8 * d["sweep"][0]["prefill_flops"]


def tensor_parallel():
    d = analyze(MODEL, "--tp", "4", "--hardware", "NVIDIA H100 80GB HBM3")
    assert d["hardware"]["name"] == "h100_sxm"
    assert d["prefill"]["rank"]["flops"] * 4 == d["prefill"]["flops"]
    assert d["prefill"]["rank"]["comm_bytes"] > 0


def every_member_says_whose_it_is():
    d = analyze(MODEL, "--tp", "2", "--hardware", "h200_sxm")
    for key in ("prefill", "decode"):
        p = d[key]
        tokens = p.get("tokens", 1)
        assert (p["scope"], p["rank"]["scope"]) == ("model", "rank")
        assert abs(p["tokens_per_second"] * p["seconds"] - tokens) < 1e-6
        assert abs(p["rank"]["tokens_per_second"] * p["rank"]["step_seconds"] - tokens) < 1e-6
        assert p["rank"]["step_seconds"] == p["rank"]["seconds"] + p["rank"]["comm_seconds"]
        assert sum(m[key]["flops"] for m in d["modules"] if key in m) == p["flops"]
        assert sum(m[key]["rank"]["flops"] for m in d["modules"] if key in m) == p["rank"]["flops"]
    cache = d["kv_cache"]
    assert cache["bytes"] == cache["bytes_per_token"] * 1024 == 2 * cache["rank"]["bytes"]
    assert d["memory"]["scope"] == "rank" and d["memory"]["kv"] == cache["rank"]["bytes"]


def communication_can_be_the_bound():
    for tp, words in (("2", ("compute", "memory")), ("16", ("communication", "memory"))):
        d = analyze(MODEL, "--tp", tp, "--hardware", "h200_sxm")
        assert (d["prefill"]["rank"]["bound"], d["decode"]["rank"]["bound"]) == words, tp
        assert (d["prefill"]["bound"], d["decode"]["bound"]) == ("compute", "memory")
    assert "  communication  " in run(MODEL, "--tp", "16", "--hardware", "h200_sxm").stdout
    assert "without communication" in " ".join(analyze(MODEL, "--tp", "2", "--hardware", "cpu")["notes"])
    assert "communication in the least time" not in run(MODEL, "--tp", "2", "--hardware", "cpu").stdout


def tables_of_ranks_say_so():
    out = run(MODEL, "--tp", "2", "--hardware", "h200_sxm", "--sweep", "tp=1,2").stdout
    for title in ("Needed by one of 2 ranks", "FLOPs by kind, one of 2 ranks", "Needed on the device of one of 2 ranks",
                  "By module, FLOPs and times of one of 2 ranks", "Sweep, FLOPs and memory of one rank"):
        assert f"\n{title}" in out, (title, out)
    alone = run(MODEL, "--hardware", "h200_sxm", "--sweep", "seq=64").stdout
    assert "rank" not in alone.replace("1 tensor-parallel rank", ""), alone


def ranks_that_do_not_divide():
    for tp, words in ((2, []), (3, ["32 attention heads do not divide by 3", "8 KV heads do not divide by 3"]),
                      (16, ["8 KV heads on 16 ranks"])):
        notes = " ".join(analyze(MODEL, "--tp", str(tp))["notes"])
        assert all(w in notes for w in words) and bool(notes) == bool(words), (tp, notes)
        assert notes == " ".join(analyze(MODEL, "--sweep", f"tp={tp}")["notes"])


def bytes_are_whole():
    def walk(value, path=""):
        for k, v in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
            walk(v, f"{path}/{k}")
            if str(k).endswith("bytes") or "bytes_per" in str(k) or path.endswith("/memory") and not isinstance(v, str):
                assert isinstance(v, int), (path, k, v)

    walk(analyze(MODEL, "--tp", "3", "--dtype", "int4", "--hardware", "h200_sxm", "--sweep", "tp=2,3"))


def narrow_weights():
    wide, narrow = analyze(MODEL), analyze(MODEL, "--dtype", "int4", "--kv-dtype", "fp8")
    assert narrow["decode"]["weight_bytes"] * 4 == wide["decode"]["weight_bytes"]
    assert narrow["kv_cache"]["bytes_per_token"] * 2 == wide["kv_cache"]["bytes_per_token"]


def ceilings_from_the_environment():
    d = analyze(MODEL, "--hardware", "h200_sxm", env={"MFU_PEAK_TFLOPS": "500", "MFU_PEAK_GBS": "1000"})
    assert d["hardware"]["peak_flops"] == 5e14 and d["hardware"]["bandwidth"] == 1e12


def output_folder():
    with tempfile.TemporaryDirectory() as tmp:
        assert run(MODEL, "-o", tmp).returncode == 0
        assert sorted(os.listdir(tmp)) == ["static_compute.json", "static_compute.md"]
        with open(os.path.join(tmp, "static_compute.json"), encoding="utf-8") as f:
            assert json.load(f)["schema"] == "lpo.static/1"


def errors_name_what_is_wrong():
    for args, code, word in [
        ((MODEL, "--hardware", "h200_smx"), 2, "h200_sxm"),
        ((MODEL, "--dtype", "bf17"), 2, "bf17"),
        ((MODEL, "--seq", "0"), 2, "seq"),
        ((MODEL, "--counting", "both"), 2, "framework"),
        ((MODEL, "--sweep", "colour=3"), 2, "colour"),
        (("/nowhere/at/all",), None, "/nowhere/at/all"),
        ((os.path.join(SOURCE, "meson.build"),), None, "config"),
        ((), 2, "one model"),
    ]:
        done = run(*args)
        assert done.returncode != 0 and (code is None or done.returncode == code), (args, done.returncode)
        assert word in done.stderr, (args, done.stderr)


def unknown_family():
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "config.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"model_type": "brand_new", "hidden_size": 64, "num_hidden_layers": 2,
                       "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128}, f)
        d = analyze(tmp)
        assert d["fallback"] and d["family"] == "generic" and "brand_new" in " ".join(d["notes"])
        done = run(tmp, "--strict")
        assert done.returncode != 0 and "brand_new" in done.stderr


def truth(path):
    with open(path, encoding="utf-8") as f:
        want = json.load(f)
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, "config.json"), "w", encoding="utf-8") as f:
            json.dump(want["config"], f)
        assert analyze(tmp)["parameters"]["total"] == want["params"]
        for size, flops in want.get("flops", {}).items():
            d = analyze(tmp, "--counting", "framework", "--seq", size, "--image", size)
            got = d["prefill"] or d["vision"]
            assert got["flops"] == flops["total"], (size, got["flops"], flops["total"])
            assert got["by_op"] == flops["by_op"]
            if "decode_next" in flops:
                assert d["decode"]["flops"] == flops["decode_next"]


def check(name, fn, *args):
    try:
        fn(*args)
        results.append(True)
        print(f"ok {len(results)} - {name}")
    except Exception as e:  # a failure is printed, and the next test runs
        results.append(False)
        print(f"not ok {len(results)} - {name}")
        for line in f"{type(e).__name__}: {e}".splitlines()[:8]:
            print(f"# {line}")


def main():
    print("TAP version 13")
    for fn in (fields, no_hardware_no_times, config_alone_is_the_same_as_its_folder, sweep, tensor_parallel,
               every_member_says_whose_it_is, communication_can_be_the_bound, tables_of_ranks_say_so, ranks_that_do_not_divide, bytes_are_whole,
               narrow_weights, ceilings_from_the_environment, output_folder, errors_name_what_is_wrong,
               unknown_family):
        check(fn.__name__.replace("_", " "), fn)
    for path in sorted(glob.glob(os.path.join(SOURCE, "tests/data/static", "*.json"))):
        check(f"tests/data/static/{os.path.basename(path)}", truth, path)
    print(f"1..{len(results)}")
    return 0 if all(results) else 1


sys.exit(main())
