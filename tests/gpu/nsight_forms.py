# SPDX-License-Identifier: Apache-2.0
"""Every form of NVTX range under ncu: nvtx_forms.cu numbers its places, so a capture shows which it took."""
from __future__ import annotations

import collections
import concurrent.futures

from nsight_lab import DRY, EVERY, FORMS, NCU, NO_NATIVE, SUMS, Lab, Run, rows_of

ONE = ["pipeline.ncu.ncu_cli.metrics=[gpu__time_duration.sum]"]
# place: launches
PLACES = {1: 1, 2: 2, 3: 1, 4: 1, 5: 2, 6: 1, 7: 1, 8: 2, 9: 1, 10: 1, 11: 2, 12: 3, 13: 2, 14: 1, 15: 3,
          18: 1, 19: 1, 20: 1, 21: 1, 22: 1, 23: 1, 24: 2, 25: 1, 26: 2, 27: 3, 28: 1}
WIDE = {16: 2, 17: 1}  # nvtx_forms --wide
# Patterns of one capture and the places that they name. No two name the same place, so each is held to its own.
CAPTURES = [
    ("plain text, globs, levels, domains, start/end", {
        "plain": [2], "decode/**/attn": [5, 8], "decode_*": [10, 11], "LLM@decode": [13, 14], "LLM@span": [12],
        "A::A1": [26], "registered": [15], "right": [27]}),
    ("a glob over a tree, a nested domain, other alphabets", {
        "decode*": [3, 4, 5, 6, 7, 8, 9, 10, 11], "LLM@inner": [24], "größe": [28], "left": [25, 26]}),
    ("globs at every level", {"d*/layer?/a*": [5, 8], "dec*/**/mlp": [6, 9], "L*@decode/attn": [14]}),
    ("names that hold ncu's own marks", {
        "a\\/b": [18], "x\\[0\\]": [19], "m\\@n": [20], "c\\,d": [21], "p\\*q\\+r": [22], "u$v": [23]}),
]
# Regions not known: one regular expression for each kind of range has to say it all.
UNKNOWN = {"plain": [2], "decode_*": [10, 11], "r?ght": [27], "LLM@decode/attn": [14]}
# What was lost in the run before: globs beside start/end names of two domains, and a '$'.
QUICK = ("globs beside start/end names, odd names", {
    "d*/layer?/a*": [5, 8], "dec*/**/mlp": [6, 9], "decode_*": [10, 11], "LLM@sp*": [12], "L*@decode": [13, 14], "A::A?": [26],
    "a\\/b": [18], "x\\[*": [19], "m\\@n": [20], "c?d": [21], "p\\*q*": [22], "u$v": [23]})
# Expressions in ncu's own grammar: what they match is not documented, so this prints and does not judge.
PROBES = [
    ["LLM@span"], ["regex:^decode_.*$", "LLM@span"], ["LLM@span", "regex:^decode_.*$"], ["regex:^LLM$@^span$"],
    ["regex:^d.*$/^layer.$/^a.*$/", "decode/layer0/mlp/"], ["decode/layer0/mlp/", "regex:^d.*$/^layer.$/^a.*$/"],
    ["decode/layer0/attn/", "decode/layer0/mlp/"], ["regex:^d.*$/^layer.$/^a.*$/", "regex:^d.*$/^layer.$/^m.*$/"],
    ["regex:*/^attn$/"], ["regex:^dec.*$/*/"], ["regex:^a/b$/"], ["regex:^m@n$/"], ["u$v/"], ["u\\$v/"],
    ["decode/*/layer0/"],  # not known: may '*' be no level at all?
]


def places_of(rows: list[dict[str, str]]) -> dict[int, int]:
    return dict(sorted(collections.Counter(int(r["Grid Size"].strip("() ").split(",")[0]) for r in rows).items()))


def quoted(patterns: list[str]) -> str:
    """A list as an override: each in quotes, backslashes as they are."""
    return "[" + ",".join(f"'{p}'" for p in patterns) + "]"


def judge(lab: Lab, name: str, run: Run, patterns: dict[str, list[int]], native: bool = True) -> None:
    """The capture has these places and no other, by names alone where the regions are known."""
    want = {p: PLACES[p] for p in sorted(p for places in patterns.values() for p in places)}
    have = places_of(rows_of(run.text("ncu/raw.csv")))
    wrong = [pattern for pattern, places in patterns.items() if any(have.get(p) != PLACES[p] for p in places)]
    lab.last = run.path
    lab.check(f"forms, {name}", have == want, f"{have}, not {want}; wrong: {wrong}; {run.said('ncu')}")
    regexes = run.text("ncu/cmd.txt").count("regex:")
    lab.check(f"forms, {name}: {'no' if native else 'one'} regular expression for a kind of range", regexes == (0 if native else 2),
              run.text("ncu/cmd.txt"))


def judge_all(lab: Lab, run: Run) -> None:
    lab.last = run.path
    native = lab.launches(*run.files("native/*.lpot"))
    outside = native.pop("(outside)", 0)
    lab.equal("forms, every region: native's launches", sum(places_of(rows_of(run.text("ncu/raw.csv"))).values()),
              sum(PLACES.values()) - outside)
    lab.equal("forms, every region: the report has native's table", lab.launches(run.path / "ncu/run.ncu-rep"), native)
    lab.equal("forms, every region: ncu's CSV has native's table", lab.launches(run.path / "ncu/raw.csv"), native)


def include(patterns: dict[str, list[int]]) -> str:
    return f"pipeline.ncu.ncu_cli.nvtx.include={quoted(list(patterns))}"


def part_forms(lab: Lab) -> None:
    program = [FORMS, *(["--dry"] if DRY else [])]
    for i, (name, patterns) in enumerate(CAPTURES):
        judge(lab, name, lab.run(f"forms-{i}", *NCU, *ONE, include(patterns), program=program), patterns)
    run = lab.run("forms-alone", NO_NATIVE, *NCU, *ONE, include(UNKNOWN), program=program)
    judge(lab, "regions not known", run, UNKNOWN, native=False)
    run = lab.run("forms-refused", NO_NATIVE, *NCU, *ONE, include(CAPTURES[0][1]), program=program)
    lab.check("forms, what one regular expression cannot say is refused before ncu", run.code == 1 and
              "in one capture" in run.said("ncu") and not run.files("ncu/cmd.txt"), (run.code, run.said("ncu")))
    judge_all(lab, lab.run("forms-all", *NCU, *ONE, *EVERY, program=program))
    wide(lab, program)
    for expressions in PROBES if not DRY else []:
        probe(lab, program, expressions)


def part_forms_quick(lab: Lab) -> None:
    """Three captures side by side: ncu lets one kernel at a time be measured, its start is most of the time."""
    program = [FORMS, *(["--dry"] if DRY else [])]
    once = [*NCU, "pipeline.ncu.ncu_cli.metrics=null", f"pipeline.ncu.ncu_cli.extra_args=[--metrics,{SUMS[0]}]"]  # no query
    words = {"quick-names": [include(QUICK[1])], "quick-alone": [NO_NATIVE, include(UNKNOWN)], "quick-all": EVERY}
    with concurrent.futures.ThreadPoolExecutor(len(words)) as pool:
        runs = {name: pool.submit(lab.run, name, *once, *more, program=program) for name, more in words.items()}
    judge(lab, QUICK[0], runs["quick-names"].result(), QUICK[1])
    judge(lab, "regions not known", runs["quick-alone"].result(), UNKNOWN, native=False)
    judge_all(lab, runs["quick-all"].result())


def wide(lab: Lab, program: list[str]) -> None:
    """Wide strings: native has them; what becomes of the program under ncu is printed and not judged."""
    run = lab.run("forms-wide", *NCU, *ONE, *EVERY, program=[*program, "--wide"])
    lab.equal("forms, wide strings: native's launches", lab.launches(*run.files("native/*.lpot")), {"wide": 2, "größe": 1})
    found = places_of(rows_of(run.text("ncu/raw.csv")))
    print(f"    wide strings under ncu: {run.stage('ncu')['state']}, places {found} of {WIDE}; {run.said('ncu')}")
    lab.numbers["wide strings under ncu"] = {"state": run.stage("ncu")["state"], "places": found}


def probe(lab: Lab, program: list[str], expressions: list[str]) -> None:
    done = lab.call(["ncu", "--config-file", "off", "--clock-control", "none", "--metrics", "gpu__time_duration.sum", "--nvtx",
                     *(w for e in expressions for w in ("--nvtx-include", e)), "--csv", "--page", "raw", *program])
    found, name = places_of(rows_of(done.stdout)), "  ".join(expressions)
    messages = [x for x in (done.stdout + done.stderr).splitlines() if ("WARN" in x or "ERR" in x) and "GPU clocks" not in x]
    lab.numbers.setdefault("probes", {})[name] = found
    print(f"    probe {name:60} {found or messages[:2]}", flush=True)
