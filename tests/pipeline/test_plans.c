/* SPDX-License-Identifier: Apache-2.0 */
/* What each stage would start, from config alone: no tool is needed. */
#include "../unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "hydra/compose.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

#define BASE                                                                                       \
    "run: {mode: deep, repeats: 2, device: cpu, representative_max_new_tokens: 4}\n"               \
    "infer: {max_new_tokens: 16}\n"                                                                \
    "workload: {kind: command, argv: [/bin/echo, hello world], env: {A: 1, GONE: null}, cwd: "     \
    "sub}\n"

static const struct plan_case {
    const char *name, *config;
    const char *want[8];   /* each must stand in the commands, in this order */
    const char *not_there; /* and this must not */
} cases[] = {
    { "direct runs the program bare",
      BASE "pipeline: {direct_inference: {enable: true}}\n",
      { "# direct_inference: direct inference", "cd /call/sub", "env A=1 -u GONE",
        "/bin/echo 'hello world'" },
      "INJECTION" },
    { "native injects the collector",
      BASE "pipeline: {native: {enable: true, library: /bin/sh}}\n",
      { "# native", "NVTX_INJECTION64_PATH=/bin/sh", "CUDA_INJECTION64_PATH=/bin/sh",
        "LPO_COLLECT_DIR=/run/native", "/bin/echo" },
      "nsys" },
    { "native without the GPU part",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, gpu: false}}\n",
      { "NVTX_INJECTION64_PATH=/bin/sh" },
      "CUDA_INJECTION64_PATH" },
    { "nsys ungated has no NVTX gate",
      BASE "pipeline: {nsys: {enable: true, program: nsys, trace: [cuda, nvtx], sample: none, "
           "cpuctxsw: null, gating_nvtx: false, capture_range: nvtx, nvtx_capture: decode, "
           "cuda_graph_trace: node}}\n",
      { "nsys profile --trace=cuda,nvtx --sample=none --cuda-graph-trace=node "
        "--force-overwrite=true --output=/run/nsys/run /bin/echo" },
      "--capture-range" },
    { "nsys gated on a range",
      BASE "pipeline: {nsys: {enable: true, trace: 'cuda,nvtx', gating_nvtx: true, "
           "capture_range: nvtx, nvtx_capture: decode, capture_range_end: 'repeat:3'}}\n",
      { "--trace=cuda,nvtx", "--capture-range=nvtx", "--capture-range-end=repeat:3", "--kill=none",
        "--nvtx-capture=decode", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0" },
      NULL },
    { "nsys: no end policy when it is null",
      BASE "pipeline: {nsys: {enable: true, gating_nvtx: true, capture_range: nvtx, nvtx_capture: "
           "decode, capture_range_end: null}}\n",
      { "--nvtx-capture=decode" },
      "--capture-range-end" },
    { "nsys domains",
      BASE "pipeline: {nsys: {enable: true, nvtx_domain_include: [default, LLM]}}\n",
      { "--nvtx-domain-include=default,LLM" },
      "exclude" },
    { "ncu: flags one to one",
      BASE "pipeline: {ncu: {enable: true, gating_nvtx: true, ncu_cli: {target_processes: all, "
           "replay_mode: kernel, nvtx: {include: [decode*, prefill]}, set: roofline, "
           "metrics: [a.sum, b.avg], sections: [SpeedOfLight, Occupancy], launch_skip: 2, "
           "launch_count: 5, clock_control: none, extra_args: [--x]}}}\n",
      { "ncu --list-sections", "ncu --list-sets", "ncu --query-metrics",
        "ncu --config-file off --target-processes all --replay-mode kernel --set roofline "
        "--launch-skip 2 --launch-count 5 --clock-control none --section SpeedOfLight "
        "--section Occupancy --metrics a.sum,b.avg --x --nvtx --nvtx-include "
        "'regex:^decode.*$/' --nvtx-include 'regex:^(decode.*|prefill)$' --nvtx-include prefill/ "
        "--force-overwrite --log-file /run/ncu/run.log --export /run/ncu/run /bin/echo" },
      "--filter-mode" },
    { "ncu: globs that native's regions will stand for, before they are known",
      BASE "pipeline: {native: {enable: true, library: /bin/sh}, ncu: {enable: true, ncu_cli: "
           "{nvtx: {include: ['a*/x', 'b*/y']}}}}\n",
      { "--nvtx-include 'regex:^a.*$/^x$/' --nvtx-include 'regex:^b.*$/^y$/'" },
      NULL },
    { "ncu: no metrics, no gate",
      BASE "pipeline: {ncu: {enable: true, gating_nvtx: false, ncu_cli: {metrics: null, nvtx: "
           "{include: decode}, set: null, sections: [], target_processes: null, replay_mode: null, "
           "clock_control: null}}}\n",
      { "ncu --config-file off --force-overwrite" },
      "--nvtx" },
    { "ncu: metrics as a comma string",
      BASE "pipeline: {ncu: {enable: true, ncu_cli: {metrics: 'a.sum,b.sum'}}}\n",
      { "--metrics a.sum,b.sum" },
      NULL },
    { "ncu: blanks between metrics, sections as one text",
      BASE "pipeline: {ncu: {enable: true, ncu_cli: {metrics: ['a.sum, b.sum ', c], "
           "sections: 'Occupancy, SpeedOfLight', extra_args: --x, nvtx: {include: null}}}}\n",
      { "--section Occupancy --section SpeedOfLight --metrics a.sum,b.sum,c --x --force" },
      NULL },
    { "ncu: region mode measures representatives",
      BASE "pipeline: {ncu: {enable: true, ncu_cli: {nvtx: {include: null}}, regions: {enable: "
           "true, include: [decode]}, sampling: "
           "{mode: auto, per_config: 2}}}\n",
      { "--nvtx --nvtx-include decode/ --nvtx-include decode --kernel-name-base mangled "
        "--filter-mode per-launch-config "
        "--launch-count 2" },
      NULL },
    { "ncu: representatives from the first tokens, the others from all",
      "run: {repeats: 1, device: cpu}\ninfer: {max_new_tokens: 64}\n"
      "workload: {kind: toy, program: /bin/toy}\npipeline: {native: {enable: true, library: "
      "/bin/sh}, ncu: {enable: true, regions: {enable: true, include: [decode]}, sampling: {mode: "
      "auto, per_config: 1, max_new_tokens: 4}}}\n",
      { "# native", "--max-new-tokens 64", "# ncu", "--launch-count 1", "--max-new-tokens 4 " },
      NULL },
    { "ncu: everything has all tokens",
      "run: {repeats: 1, device: cpu}\ninfer: {max_new_tokens: 64}\n"
      "workload: {kind: toy, program: /bin/toy}\npipeline: {ncu: {enable: true, regions: {enable: "
      "true, include: [decode]}, sampling: {mode: all, max_new_tokens: 4}}}\n",
      { "--max-new-tokens 64" },
      "--max-new-tokens 4 " },
    { "ncu: everything when asked",
      BASE "pipeline: {ncu: {enable: true, regions: {enable: true, include: [decode]}, sampling: "
           "{mode: all}}}\n",
      { "--nvtx" },
      "--filter-mode" },
    { "ncu: region mode that knows no region plans nothing, and says so",
      BASE "pipeline: {ncu: {enable: true, regions: {enable: true}}}\n",
      { "# ncu: skipped:", "pipeline.ncu.regions.include" },
      "# ncu: ncu" },
    { "ncu: one capture for each region that is named",
      BASE "pipeline: {ncu: {enable: true, regions: {enable: true, capture: separate, include: "
           "['a*', decode]}}}\n",
      { "# ncu: ncu, region a*",
        "--nvtx --nvtx-include 'regex:^a.*$/' --nvtx-include "
        "'regex:^a.*$' --kernel-name-base mangled",
        "--export /run/ncu/regions/a_", "# ncu: ncu, region decode",
        "--nvtx-include decode/ --nvtx-include decode --kernel",
        "--export /run/ncu/regions/decode/run /bin/echo" },
      NULL },
    { "ncu: no gating, no kernel filter",
      BASE "pipeline: {ncu: {enable: true, gating_nvtx: false, ncu_cli: {kernel_name: 'regex:x', "
           "nvtx: {include: decode}}}}\n",
      { "ncu --config-file off" },
      "regex:x" },
    { "native: whole graphs",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, graphs: whole}}\n",
      { "LPO_COLLECT_GRAPH_NODES=0" },
      NULL },
    { "native: every eighth call of a range from the third on",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, capture: {range: 'decode*', calls: "
           "'3-', every: 8}}}\n",
      { "# native", "LPO_COLLECT_CAPTURE_RANGE='decode*'", "LPO_COLLECT_CAPTURE_FIRST=3",
        "LPO_COLLECT_CAPTURE_LAST=0", "LPO_COLLECT_CAPTURE_EVERY=8" } },
    { "native: 32 calls of every 256, with CUPTI for them alone",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, capture: {range: step, every: 8, "
           "in_a_row: 32, attach: inside}}}\n",
      { "LPO_COLLECT_CAPTURE_EVERY=8", "LPO_COLLECT_CAPTURE_IN_A_ROW=32",
        "LPO_COLLECT_CAPTURE_ATTACH=2" } },
    { "native: CUPTI from the first window on",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, capture: {range: step, attach: "
           "window}}}\n",
      { "LPO_COLLECT_CAPTURE_ATTACH=1" } },
    { "native: one call",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, capture: {range: a, calls: 3}}}\n",
      { "LPO_COLLECT_CAPTURE_FIRST=3", "LPO_COLLECT_CAPTURE_LAST=3" } },
    { "native: a ring, written when a call is slow",
      BASE
      "pipeline: {native: {enable: true, library: /bin/sh, capture: {ring: 30s, range: decode, "
      "slow: 250ms}}}\n",
      { "# native", "LPO_COLLECT_CAPTURE_RANGE=decode", "LPO_COLLECT_RING_MS=30000",
        "LPO_COLLECT_RING_MB=256", "LPO_COLLECT_SLOW_MS=250" } },
    { "native: ten seconds after half a minute, switched by a signal",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, capture: {after: 30s, for: 10s, "
           "signal: USR2, control: true}}}\n",
      { "# native", "LPO_COLLECT_CAPTURE_AFTER_MS=30000", "LPO_COLLECT_CAPTURE_FOR_MS=10000",
        "LPO_COLLECT_CAPTURE_SIGNAL=12", "LPO_COLLECT_CAPTURE_CONTROL=1" } },
    { "nsys: the shared words for a range and its first calls",
      BASE "pipeline: {nsys: {enable: true, capture: {range: a@b, calls: 1-4}}}\n",
      { "--capture-range=nvtx --capture-range-end=repeat:4 --kill=none", "--nvtx-capture=a\\@b@*" },
      "prefill" },
    { "nsys: the shared words for all calls, and for one",
      BASE "pipeline: {nsys: {enable: true, capture: {range: window}}}\n",
      { "--capture-range-end=repeat --kill=none", "--nvtx-capture=window@*" },
      NULL },
    { "nsys: the shared words for later calls: those before are recorded and not kept",
      BASE "pipeline: {nsys: {enable: true, capture: {range: a, calls: 3-5}}}\n",
      { "--capture-range-end=repeat:5 --kill=none" },
      NULL },
    { "nsys: a server is recorded under load, by a session",
      "workload: {kind: server, argv: [/bin/echo], server: {load: {argv: [/bin/true]}}}\n"
      "pipeline: {nsys: {enable: true, trace: [nvtx], gating_nvtx: false, extra_args: "
      "[--gpu-metrics-device=all, --trace-fork-before-exec=true]}}\n",
      { "LPO_SERVER_WINDOW_BEGIN='", "nsys\nstart\n--session=lpo-",
        "\n--gpu-metrics-device=all\n--force-overwrite=true\n--output=",
        "nsys\nstop\n--session=lpo-", " launch --session-new=lpo-",
        " --trace=nvtx --trace-fork-before-exec=true " },
      "--kill" },
    { "nsys: a server that is recorded whole",
      "workload: {kind: server, argv: [/bin/echo], server: {load: {argv: [/bin/true]}, window: "
      "{over: all}}}\npipeline: {nsys: {enable: true, gating_nvtx: false}}\n",
      { " profile " },
      "LPO_SERVER_WINDOW" },
    { "nsys: the shared words for a time",
      BASE "pipeline: {nsys: {enable: true, capture: {after: 30s, for: 10s}}}\n",
      { "--delay=30 --duration=10 --kill=none" },
      "nvtx-capture" },
    { "ncu: the shared words for one call of a range",
      BASE "pipeline: {ncu: {enable: true, capture: {range: step, calls: 3}}}\n",
      { "--nvtx-include step/ --nvtx-include step --range-filter ::3" },
      "decode" },
    { "ncu: the shared words for several calls: a number is matched whole",
      BASE "pipeline: {ncu: {enable: true, capture: {range: step, calls: 3-10}}}\n",
      { "--range-filter '::^([3-9]|10)$'" },
      NULL },
    { "ncu: the shared words for all calls from one on",
      BASE "pipeline: {ncu: {enable: true, capture: {range: step, calls: 95-}}}\n",
      { "--range-filter '::^(9[5-9]|[1-9][0-9][0-9][0-9]*)$'" },
      NULL },
    { "ncu: calls from the first on are all calls",
      BASE "pipeline: {ncu: {enable: true, capture: {range: step, calls: 1-}}}\n",
      { "--nvtx-include step/" },
      "--range-filter" },
    { "ncu: the shared words for one call in so many",
      BASE "pipeline: {ncu: {enable: true, capture: {range: step, calls: 2-26, every: 8}}}\n",
      { "--range-filter '::^(2|10|18|26)$'" },
      NULL },
    { "nsys: switched by lpo ctl",
      BASE "pipeline: {nsys: {enable: true, capture: {control: true}}}\n",
      { "LPO_SERVER_WINDOW_BEGIN='", "nsys\nstart\n--session=lpo-", "/run.@window@'",
        "nsys\nstop\n--session=lpo-", " launch --session-new=lpo-",
        "__switched --dir /run/nsys -- /bin/echo" },
      "nvtx-capture" },
    { "nsys: switched by a signal, not before it comes",
      BASE "pipeline: {nsys: {enable: true, capture: {signal: USR2, wait: true}}}\n",
      { "__switched --dir /run/nsys --signal 12 --wait -- /bin/echo" },
      "--capture-range" },
    { "ncu: the window of a program that opens it itself",
      BASE "pipeline: {ncu: {enable: true, capture: {range: window}}}\n",
      { "--nvtx-include lpo@window" },
      "--range-filter" },
    { "native: every kernel of a graph",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, graphs: nodes}}\n",
      { "LPO_COLLECT_GRAPH_NODES=1" },
      NULL },
    { "native: a range for each module, in every profiled stage",
      "workload: {kind: command, argv: [/bin/echo, train.py]}\npipeline: {direct_inference: "
      "{enable: "
      "true}, native: {enable: true, library: /bin/sh, modules: true, modules_depth: 2}, nsys: "
      "{enable: true}}\n",
      { "# direct_inference", "# native", "LPO_TORCH_MODULES=2",
        "PYTHONPATH=", "lpo_sitecustomize:/own", "# nsys", "LPO_TORCH_MODULES=2" } },
    { "native: modules of a program that is not Python",
      BASE "pipeline: {native: {enable: true, library: /bin/sh, modules: true}}\n",
      { "# native" },
      "LPO_TORCH_MODULES" },
    { "torch injects itself, with the modules",
      "workload: {kind: command, argv: [/bin/echo, train.py]}\npipeline: {native: {modules: true}, "
      "torch_profiler: {enable: true}}\n",
      { "LPO_TORCH_MODULES=4", "lpo_sitecustomize:/own", "LPO_TORCH_PROFILE=" },
      "lpo_sitecustomize:/own:" },
    { "torch injects itself",
      "workload: {kind: command, argv: [/bin/echo, train.py]}\npipeline: {torch_profiler: {enable: "
      "true}}\n",
      { "PYTHONPATH=", "lpo_sitecustomize", "LPO_TORCH_PROFILE=/run/torch_profiler/settings.json" },
      "INJECTION" },
    { "torch leaves other programs alone",
      BASE "pipeline: {torch_profiler: {enable: true}}\n",
      { "# torch_profiler: skipped: the workload is not a Python program" },
      "/bin/echo" },
    { "the documents' ncu defaults, where a preset says nothing",
      BASE "pipeline: {ncu: {enable: true}}\n",
      { "--target-processes all", "--set roofline", "--nvtx --nvtx-include 'regex:^decode.*$/'" },
      "--metrics" },
    { "the documents' nsys defaults, where a preset says nothing",
      BASE "pipeline: {nsys: {enable: true}}\n",
      { "--capture-range=nvtx", "--nvtx-capture=prefill" },
      NULL },
    { "nsys: gating off keeps another capture range",
      BASE "pipeline: {nsys: {enable: true, gating_nvtx: false, capture_range: cudaProfilerApi}}\n",
      { "--capture-range=cudaProfilerApi" },
      "--nvtx-capture" },
    { "light mode leaves the dear stages out",
      "run: {mode: light}\nworkload: {kind: command, argv: [/bin/true]}\n"
      "pipeline: {direct_inference: {enable: true}, nsys: {enable: true}}\n",
      { "# direct_inference", "# nsys: skipped:", "run.mode=light" },
      "nsys profile" },
    { "order of the stages",
      BASE "pipeline: {nsys: {enable: true}, native: {enable: true, library: /bin/sh}, "
           "direct_inference: {enable: true}}\n",
      { "# direct_inference", "# native", "# nsys" },
      NULL },
    { "representative tokens under a profiler only",
      "run: {repeats: 1, device: cpu, representative_max_new_tokens: 4}\n"
      "infer: {max_new_tokens: 16}\nworkload: {kind: toy, program: /bin/toy}\n"
      "pipeline: {direct_inference: {enable: true}, native: {enable: true, library: /bin/sh}}\n",
      { "# direct_inference", "--max-new-tokens 16", "--predictions", "# native",
        "--max-new-tokens 4" },
      NULL },
    { "nothing enabled plans nothing, and says what to set",
      BASE "pipeline: {nsys: {enable: false}}\n",
      { "# no stage is enabled", "pipeline.native.enable=true" },
      "cd /call" },
};

static void check(void **state)
{
    const struct plan_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_node *config = NULL;
    struct lpo_manifest m = { .arena = a };
    struct lpo_pipeline p = { .arena = a, .run_dir = "/run", .call_dir = "/call", .manifest = &m };
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };
    const char *at;

    assert_int_equal(lpo_yaml_parse(a, c->config, strlen(c->config), "test", &config, &err), 0);
    p.config = config;
    lpo_pipeline_fill_manifest(&p);
    if (lpo_pipeline_dry_run(&p, &out, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    at = lpo_str_text(&out);
    for (int i = 0; c->want[i]; i++) {
        const char *hit = strstr(at, c->want[i]);

        if (!hit)
            fail_msg("'%s' is not in (or not in order):\n%s", c->want[i], lpo_str_text(&out));
        at = hit + strlen(c->want[i]);
    }
    if (c->not_there && strstr(lpo_str_text(&out), c->not_there))
        fail_msg("'%s' should not be in:\n%s", c->not_there, lpo_str_text(&out));
}

#define SIXTEEN   "0123456789abcdef"
#define SIXTY     SIXTEEN SIXTEEN SIXTEEN SIXTEEN
#define LONG_NAME SIXTY SIXTY SIXTY SIXTY

/* What a stage's tool cannot do is refused, with who can. */
static const struct refused_case {
    const char *name, *config, *why;
    bool here; /* on this machine, so only when its turn comes; all else before the first stage */
} refused[] = {
    { "nsys: every of nothing", "{nsys: {enable: true, capture: {every: 8}}}",
      "pipeline.nsys.capture has calls or every and no range" },
    { "nsys: a ring", "{nsys: {enable: true, capture: {ring: 30s}}}",
      "nsys cannot keep the last seconds alone: pipeline.native.capture.ring can" },
    { "nsys: slow calls", "{nsys: {enable: true, capture: {range: a, slow: 1s}}}",
      "pipeline.native.capture.ring can" },
    { "nsys: counts", "{nsys: {enable: true, capture: {range: a, count: true}}}",
      "pipeline.native.capture.count does" },
    { "nsys: waits for nothing", "{nsys: {enable: true, capture: {wait: true}}}",
      "pipeline.nsys.capture.wait=true waits for nothing" },
    { "nsys: lpo ctl and a range", "{nsys: {enable: true, capture: {control: true, range: a}}}",
      "nsys takes one of them; pipeline.native.capture combines all" },
    { "nsys: a signal and a time", "{nsys: {enable: true, capture: {signal: USR1, for: 1s}}}",
      "nsys takes one of them; pipeline.native.capture combines all" },
    { "nsys: wildcards", "{nsys: {enable: true, capture: {range: 'a*'}}}",
      "nsys knows no wildcards" },
    { "nsys: parts of a second", "{nsys: {enable: true, capture: {after: 1500ms}}}",
      "capture.after must be whole seconds" },
    { "nsys: a range and a time", "{nsys: {enable: true, capture: {range: a, for: 1s}}}",
      "nsys takes one of them; pipeline.native.capture combines both" },
    { "nsys: calls of nothing", "{nsys: {enable: true, capture: {calls: 1}}}",
      "pipeline.nsys.capture has calls or every and no range" },
    { "nsys: calls that are no numbers", "{nsys: {enable: true, capture: {range: a, calls: some}}}",
      "pipeline.nsys.capture.calls is 'some'; write 3, 3-10 or 3-" },
    { "ncu: a time", "{ncu: {enable: true, capture: {for: 1s}}}", "ncu knows no time" },
    { "ncu: every, without an end", "{ncu: {enable: true, capture: {range: a, every: 8}}}",
      "pipeline.ncu.capture.every needs pipeline.ncu.capture.calls with an end" },
    { "ncu: every, of too many",
      "{ncu: {enable: true, capture: {range: a, calls: 1-1000000, every: 8}}}",
      "at most 1000 calls" },
    { "ncu: more calls than there can be",
      "{ncu: {enable: true, capture: {range: a, calls: 1-9223372036854775807}}}",
      "write 3, 3-10 or 3-" },
    { "ncu: lpo ctl", "{ncu: {enable: true, capture: {control: true}}}",
      "ncu cannot be switched while the program runs" },
    { "ncu: a signal", "{ncu: {enable: true, capture: {signal: USR2, wait: true}}}",
      "ncu cannot be switched while the program runs" },
    { "ncu: a ring", "{ncu: {enable: true, capture: {ring: 30s}}}",
      "ncu cannot keep the last seconds alone" },
    { "ncu: region mode",
      "{ncu: {enable: true, capture: {range: a}, regions: {enable: true, include: [b]}}}",
      "pipeline.ncu.regions.include names the regions" },
    { "native: calls of nothing", "{native: {enable: true, library: /bin/sh, capture: {calls: 3}}}",
      "and no range" },
    { "native: so many in a row of all",
      "{native: {enable: true, library: /bin/sh, capture: {range: a, in_a_row: 4}}}",
      "pipeline.native.capture.in_a_row=4 needs every: every=8 records the first 4 calls of each "
      "32" },
    { "native: in a row of nothing",
      "{native: {enable: true, library: /bin/sh, capture: {in_a_row: 4}}}", "and no range" },
    { "native: counts what CUPTI does not see",
      "{native: {enable: true, library: /bin/sh, capture: {range: a, count: true, attach: "
      "inside}}}",
      "set attach=start, or count=false" },
    { "native: a range of no name",
      "{native: {enable: true, library: /bin/sh, capture: {range: ''}}}",
      "pipeline.native.capture.range is empty" },
    { "native: a longer ring than there is",
      "{native: {enable: true, library: /bin/sh, capture: {ring: 61m}}}",
      "pipeline.native.capture.ring keeps the last hour at most" },
    { "native: slower than is watched",
      "{native: {enable: true, library: /bin/sh, capture: {ring: 60m, range: a, slow: 25h}}}",
      "pipeline.native.capture.slow is 24h at most" },
    { "native: a longer name than is compared",
      "{native: {enable: true, library: /bin/sh, capture: {range: " LONG_NAME "}}}",
      "pipeline.native.capture.range has 256 bytes, and the collector compares 255 at most" },
    { "native: counts while CUPTI is away",
      "{native: {enable: true, library: /bin/sh, capture: {range: a, count: true, attach: "
      "window}}}",
      "set attach=start, or count=false" },
    { "native: calls that are no numbers",
      "{native: {enable: true, library: /bin/sh, capture: {range: a, calls: 5-3}}}",
      "pipeline.native.capture.calls is '5-3'" },
};

static void check_refused(void **state)
{
    const struct refused_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest m = { .arena = a };
    struct lpo_pipeline p = { .arena = a, .run_dir = "/run", .call_dir = "/call", .manifest = &m };
    struct lpo_node *config = NULL;
    struct lpo_err before = { 0 }, err = { 0 };
    LPO_STR out = { 0 };
    const char *text = lpo_arena_printf(
        a, "workload: {kind: command, argv: [/bin/echo, hi]}\npipeline: %s\n", c->config);

    assert_int_equal(lpo_yaml_parse(a, text, strlen(text), "test", &config, &err), 0);
    p.config = config;
    assert_int_equal(lpo_pipeline_check_settings(a, config, &before), c->here ? 0 : LPO_E_CONFIG);
    if (!c->here)
        assert_non_null(strstr(lpo_err_cause(&before), c->why));
    lpo_pipeline_fill_manifest(&p);
    assert_true(lpo_pipeline_dry_run(&p, &out, &err) < 0);
    assert_non_null(strstr(lpo_err_cause(&err), c->why));
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

/* What a stage leaves in the commands and no other does; the program it runs under. */
static const struct toggle {
    const char *stage, *knobs, *mark;
    bool runs_workload;
} toggles[] = {
    { "static_analysis", "", "# static_analysis: inside lpo", false },
    { "direct_inference", "", "# direct_inference: direct inference", true },
    { "native", ", library: /bin/sh", "NVTX_INJECTION64_PATH=/bin/sh", true },
    { "torch_profiler", "", "LPO_TORCH_PROFILE=", true },
    { "nsys", ", program: /bin/true, trace: [nvtx]", "/bin/true profile", true },
    { "ncu", ", program: /bin/false", "/bin/false --config-file", true },
    { "nvml", "", "# nvml: inside lpo", false },
};

enum { STAGES = sizeof toggles / sizeof *toggles };

static void plan_of(unsigned mask, const char *mode, struct lpo_str *out)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest m = { .arena = a };
    struct lpo_pipeline p = { .arena = a, .run_dir = "/run", .call_dir = "/call", .manifest = &m };
    struct lpo_node *config = NULL;
    struct lpo_err err = { 0 };
    LPO_STR yaml = { 0 };

    lpo_str_addf(&yaml,
                 "run: {mode: %s}\nworkload: {kind: command, argv: [/bin/echo, a.py]}\npipeline:\n",
                 mode);
    for (unsigned i = 0; i < STAGES; i++)
        lpo_str_addf(&yaml, "  %s: {enable: %s%s}\n", toggles[i].stage,
                     mask >> i & 1 ? "true" : "false", toggles[i].knobs);
    assert_int_equal(lpo_yaml_parse(a, yaml.at, yaml.len, "test", &config, &err), 0);
    p.config = config;
    lpo_pipeline_fill_manifest(&p);
    if (lpo_pipeline_dry_run(&p, out, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
}

/* Every combination of stages plans exactly its own, in the order of the table, and runs the
 * program once for each that profiles it; light mode takes the light ones of them. */
static void every_combination_of_toggles(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 2 << STAGES; mask++) {
        bool light = mask >> STAGES & 1;
        const char *last = NULL;
        size_t runs = 0;
        LPO_STR out = { 0 };

        plan_of(mask, light ? "light" : "deep", &out);
        for (unsigned i = 0; i < STAGES; i++) {
            const char *at = strstr(lpo_str_text(&out), toggles[i].mark);
            bool wanted =
                mask >> i & 1 && (!light || lpo_pipeline_stage_find(toggles[i].stage)->light);

            if (!at != !wanted)
                fail_msg("%s is %s %#x:\n%s", toggles[i].stage, at ? "in" : "not in", mask, out.at);
            if (at && last && at < last)
                fail_msg("%s comes too early in %#x:\n%s", toggles[i].stage, mask, out.at);
            last = at ? at : last;
            runs += wanted && toggles[i].runs_workload;
        }
        assert_int_equal(count(lpo_str_text(&out), "/bin/echo"), runs);
    }
}

/* Plans are pure: every stage is planned in an empty folder, as home, cache, temporary and run
 * folder at once, and nothing appears in it. Only `prepare`, which a dry run does not call, may
 * write. */
static void plans_write_nothing(void **state)
{
    static const char *const variables[] = { "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
                                             "TMPDIR" };
    static const char config[] =
        "run: {mode: deep}\nworkload: {kind: hf, program: /bin/true, python: "
        "/bin/true}\npipeline:\n"
        "  static_analysis: {enable: true}\n  direct_inference: {enable: true}\n"
        "  native: {enable: true, library: /bin/sh}\n  torch_profiler: {enable: true}\n"
        "  nsys: {enable: true, program: /bin/true, gating_nvtx: true, nvtx_capture: decode}\n"
        "  ncu: {enable: true, program: /bin/true, top_kernels: true, ncu_cli: {metrics: "
        "[a.sum]}}\n"
        "  nvml: {enable: true}\n";
    char empty[] = "/tmp/lpo-test-plans-XXXXXX";
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest m = { .arena = a };
    struct lpo_pipeline p;
    struct lpo_node *node = NULL;
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };

    (void)state;
    assert_non_null(mkdtemp(empty));
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i], empty, 1);
    assert_int_equal(lpo_yaml_parse(a, config, strlen(config), "test", &node, &err), 0);
    p = (struct lpo_pipeline){
        .arena = a, .config = node, .run_dir = empty, .call_dir = empty, .manifest = &m
    };
    lpo_pipeline_fill_manifest(&p);
    assert_int_equal(chmod(empty, 0500), 0); /* for users other than root a write would fail, too */
    if (lpo_pipeline_dry_run(&p, &out, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    assert_non_null(strstr(lpo_str_text(&out), "--settings"));
    assert_int_equal(rmdir(empty), 0); /* fails where anything is in it */
}

int main(void)
{
    struct unit u = { 0 };

    setenv("PYTHONPATH", "/own", 1);
    UNIT_ROWS(&u, cases, check);
    UNIT_ROWS(&u, refused, check_refused);
    UNIT_TEST(&u, every_combination_of_toggles);
    UNIT_TEST(&u, plans_write_nothing);
    return unit_run(&u);
}
