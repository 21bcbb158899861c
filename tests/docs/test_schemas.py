#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/schemas/: what lpo writes fits them, and a wrong type or a missing member does not. Prints TAP."""
from __future__ import annotations

import copy
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, ".."))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "diff"))
import tap  # noqa: E402
from json_schema import errors  # noqa: E402
from lpo_case import LpoCase  # noqa: E402
from traces import Program  # noqa: E402

try:
    import jsonschema  # a second opinion, where it is installed
except ImportError:
    jsonschema = None

DATA = os.path.join(ROOT, "tests", "data")
NCU = os.path.join(ROOT, "tests", "pipeline", "tools", "ncu")
SMALL = ["run.repeats=1", "run.warmup=0", "infer.max_new_tokens=2", "infer.prompt_tokens=4", "model.layers=1"]


def schema(name: str) -> dict:
    with open(os.path.join(ROOT, "docs", "schemas", f"{name}.schema.json"), encoding="utf-8") as f:
        return json.load(f)


def places(value, at=()):
    """The path of every member and of the first element of every list."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else []
    for k, v in items:
        yield (*at, k)
        yield from places(v, (*at, k))


def short(value):
    """The same shape with few elements: it is copied and judged many times."""
    if isinstance(value, list):
        return [short(v) for v in value[:1]]
    if isinstance(value, dict):
        few = list(value.items())[:2] if value and all(isinstance(v, dict) and "how" in v for v in value.values()) else value.items()
        return {k: short(v) for k, v in few}
    return value


def changed(value, at, to):
    """A copy with another value there; `...` takes the member away."""
    whole = copy.deepcopy(value)
    inside = whole
    for k in at[:-1]:
        inside = inside[k]
    if to is ...:
        del inside[at[-1]]
    else:
        inside[at[-1]] = to
    return whole


class Schemas(LpoCase):
    def fits(self, value, name: str) -> None:
        self.assertEqual(errors(value, schema(name), schema(name))[:5], [])
        if jsonschema:
            jsonschema.Draft202012Validator(schema(name)).validate(value)

    def refuses(self, value, name: str, why) -> None:
        self.assertTrue(errors(value, schema(name), schema(name)), why)
        if jsonschema:
            self.assertFalse(jsonschema.Draft202012Validator(schema(name)).is_valid(value), why)

    def printed(self, *words: str):
        done = self.lpo(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def measured(self) -> None:
        """A run with regions, kernels and counters, from the recorded ncu."""
        done = self.lpo_run("pipeline.static_analysis.enable=false", "pipeline.native.enable=false", "pipeline.ncu.enable=true",
                            f"pipeline.ncu.program={NCU}", "pipeline.ncu.regions.enable=true", "pipeline.ncu.regions.include=[A,B]",
                            "--", "true", env={"XDG_CACHE_HOME": os.path.join(self.cwd, "cache")})
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_run_of_the_toy_model(self) -> None:
        self.assertEqual(self.lpo_run(*SMALL).returncode, 0)
        self.fits(self.json("run.json"), "run")
        self.fits(self.json("report.json"), "report")
        self.fits(self.json("static_analysis/static_compute.json"), "static")
        self.fits(self.printed("report", "run", "--json"), "report")

    def test_a_run_without_a_trace_and_one_that_failed(self) -> None:
        self.assertEqual(self.lpo_run("pipeline.native.enable=false", "run.mode=light", *SMALL).returncode, 0)
        self.fits(self.json("report.json"), "report")
        self.assertEqual(self.lpo("run", "hydra.run.dir=bad", "--", "false").returncode, 1)
        with open(os.path.join(self.cwd, "bad", "run.json"), encoding="utf-8") as f:
            self.fits(json.load(f), "run")

    def test_the_reports_of_regions(self) -> None:
        self.measured()
        self.fits(self.json("run.json"), "run")
        self.fits(self.json("report.json"), "report")
        self.fits(self.json("ncu/regions/report.json"), "ncu-regions")
        pages = glob.glob(self.path("ncu/regions/*/report.json"))
        self.assertEqual(len(pages), 3)
        for page in pages:
            with open(page, encoding="utf-8") as f:
                self.fits(json.load(f), "ncu-regions")
        page = self.json("ncu/regions/A/report.json")
        scopes = self.json("ncu/regions/report.json")["scopes"]
        self.assertEqual(page["region"], next(r for r in scopes[0]["regions"] if r["path"] == "A"))

    def test_commands(self) -> None:
        traces = [os.path.join(DATA, "ncu", "ranges.ncu-rep.gz"), os.path.join(DATA, "native", "toy.lpot"),
                  os.path.join(DATA, "kineto", "a100_triton_kernel.json.gz")]
        for trace in traces:
            with self.subTest(os.path.basename(trace)):
                self.fits(self.printed("regions", trace, "--json"), "regions")
                self.fits(self.printed("top", trace, "--json"), "top")
                self.fits(self.printed("report", trace, "--json"), "report")
                self.fits(self.printed("diff", trace, traces[1], "--json"), "diff")
        for name in ("h200_llava.json.gz", "mi250_train.json.gz"):  # of the second GPU no rates are known
            self.fits(self.printed("operators", os.path.join(DATA, "kineto", name), "--json"), "operators")
        model = self.write("config.json", {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
                                           "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100})
        self.fits(self.printed("analyze", model, "--json"), "static")

    def test_a_history(self) -> None:
        for i, factor in enumerate([1.0] * 5 + [1.2] * 5):
            trace = Program(steps=2).scaled(None, factor).jittered(0.01, i).write(os.path.join(self.cwd, "t.json"))
            self.assertEqual(self.lpo("history", "add", "main", trace).returncode, 0)
        for words in (["list"], ["show"], ["trend", "main"]):
            with self.subTest(words):
                value = self.printed("history", *words, "--json")
                self.fits(value, "history")
                value = short(value)
                for at in places(value):
                    self.refuses(changed(value, at, {"wrong": []}), "history", at)
                    if isinstance(at[-1], str):
                        self.refuses(changed(value, at, ...), "history", f"without {at}")
        self.assertEqual(self.lpo("history", "trend", "main", "--what", "nothing", "--json").returncode, 2)
        self.assertEqual(self.lpo("history", "add", "main", "t.json", "--store", "folder/").returncode, 0)
        with open(os.path.join(self.cwd, "folder", "000001-main.json"), encoding="utf-8") as f:
            entry = json.load(f)
        self.fits(entry, "history")
        for member in entry:
            self.refuses(changed(entry, (member,), ...), "history", member)
        self.assertEqual(len(self.printed("history", "trend", "main", "--json")["changes"]), 1)

    def test_a_sweep(self) -> None:
        done = self.lpo("run", "-m", "-o", "out", "--only", "direct_inference", "run.repeats=1,2", "--", "sh", "-c", "exit 1")
        self.assertEqual(done.returncode, 1)
        with open(os.path.join(self.cwd, "out", "multirun.json"), encoding="utf-8") as f:
            value = json.load(f)
        self.fits(value, "multirun")
        value = short(value)
        for at in places(value):
            self.refuses(changed(value, at, {"wrong": []}), "multirun", at)
            if isinstance(at[-1], str) and at[-1] != "host":  # not in sweeps of older versions
                self.refuses(changed(value, at, ...), "multirun", f"without {at}")

    def test_the_entities_of_the_documents_are_definitions(self) -> None:
        defs = schema("ncu-regions")["$defs"]
        for name in ("NCUProfileRegion", "NCUProfileRegionReport", "KernelRecord"):
            self.assertIn("required", defs[name], name)

    def test_a_missing_member_is_refused(self) -> None:
        self.measured()
        for name, file in (("run", "run.json"), ("report", "report.json"), ("ncu-regions", "ncu/regions/report.json"),
                           ("ncu-regions", "ncu/regions/A/report.json")):
            value = short(self.json(file))
            known = schema(name).get("properties") or value  # others have been added since
            for member in (m for m in value if m in known):
                if (name, member) == ("report", "limits"):
                    continue  # not in every run
                self.refuses(changed(value, (member,), ...), name, f"{file} without '{member}'")
        contract = {("run", "run.json"): ["stages.0.name", "stages.0.state", "stages.0.wall_ns", "stages.0.files"],
                    ("report", "report.json"): [
                        *(f"scopes.0.{k}" for k in ("scope", "gpu_ns", "launches", "regions")), "kernels.0.name", "kernels.0.launches",
                        "kernels.0.gpu_ns", "kernels.0.min_ns", "kernels.0.max_ns", *(f"scopes.0.regions.0.{k}" for k in (
                            "path", "parent", "depth", "kind", "visits", "launches", "host_ns", "gpu_ns_inclusive", "gpu_ns_exclusive",
                            "metrics", "kernels"))],
                    ("ncu-regions", "ncu/regions/report.json"): ["folders.0.path", "scopes.0.regions.0.kernels.0.name"],
                    ("ncu-regions", "ncu/regions/A/report.json"): ["region.path", "region.kernels.0.launches", "region.metrics"]}
        for (name, file), members in contract.items():
            value = short(self.json(file))
            for member in members:
                at = tuple(int(k) if k.isdigit() else k for k in member.split("."))
                self.refuses(changed(value, at, ...), name, f"{file} without '{member}'")

    def test_a_wrong_type_is_refused(self) -> None:
        self.measured()
        for name, file in (("run", "run.json"), ("ncu-regions", "ncu/regions/A/report.json")):
            value = short(self.json(file))
            value.get("sections", []).clear()  # texts and tables for people: any value is of a right type somewhere
            for at in places(value):
                self.refuses(changed(value, at, [{"wrong": []}]), name, f"{file}: {at}")

    def test_a_wrong_member_of_the_wall_is_refused(self) -> None:
        value = short(self.printed("report", os.path.join(DATA, "kineto", "a100_triton_kernel.json.gz"), "--json"))
        self.fits(value, "report")
        for at in places(value["wall"]):
            if at[-1] in ("longest_gaps", "start_ns", "gaps", "operators", "python") and len(at) <= 2 or len(at) > 2 and at[1] == "longest_gaps":
                continue  # beside the contract
            if at != (0,):
                self.refuses(changed(value, ("wall", *at), {"wrong": []}), "report", at)
        for member in ("scope", "span_ns", "compute_ns", "exposed_communication_ns", "exposed_copy_ns", "idle_ns", "idle",
                       "longest_gap_ns", "blocked_calls"):
            self.refuses(changed(value, ("wall", 0, member), ...), "report", member)

    def test_members_that_only_some_traces_have(self) -> None:
        for file, member, required in (
                ("kineto/h200_train_memory.json.gz", "memory", ("scope", "source", "peak_bytes", "older_bytes", "owners")),
                ("memory/h200_train.pickle.gz", "memory", ("unused_bytes", "out_of_memory")),
                ("ncu/rules.ncu-rep.gz", "ncu_rules", ("kernel", "text", "speedup_percent", "saving_ns"))):
            with self.subTest(file=file):
                value = short(self.printed("report", os.path.join(DATA, file), "--json"))
                self.fits(value, "report")
                for name in required:
                    self.refuses(changed(value, (member, 0, name), ...), "report", name)
                self.refuses(changed(value, (member, 0), 3), "report", member)

    def test_findings(self) -> None:
        value = short(self.printed("report", os.path.join(DATA, "kineto", "h200_llama8.json.gz"), "--json"))
        self.assertTrue(value["findings"])
        self.fits(value, "report")
        for member in ("id", "title", "where", "saving_ns", "share", "basis", "evidence", "advice"):
            self.refuses(changed(value, ("findings", 0, member), ...), "report", member)

    def test_the_config_fits_the_schema_that_lpo_prints(self) -> None:
        if not jsonschema:
            self.skipTest("python3-jsonschema is not installed")
        printed = self.printed("config", "--schema")
        jsonschema.Draft202012Validator(printed).validate(self.printed("config", "--json", "--resolve"))


if __name__ == "__main__":
    tap.main()
