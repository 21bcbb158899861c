/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "gpu/driver.h"
#include "lpo/launchers.h"
#include "lpo/refusal.h"
#include "pipeline/capture_words.h"
#include "pipeline/stage.h"
#include "report/doc/doc.h"
#include "run/install.h"
#include "run/one_rank.h"
#include "run/secrets/secrets.h"
#include "rundir/rundir.h"
#include "trace/reader.h"
#include "util/path.h"
#include "writer/writer.h"

/* --- when the collector records: pipeline.native.capture as its environment ---------------------
 */

struct lpo_native_capture {
    const char *range, *calls, *signal, *attach;
    int64_t every, in_a_row, after_ns, for_ns;
    int64_t ring_ns, ring_mb, slow_ns; /* the last seconds in memory; 0: not */
    bool count, control, wait;
};

enum { LONGEST_RANGE = 255 }; /* bytes */

static void set_number(struct lpo_arena *a, struct lpo_step *step, const char *name, int64_t value)
{
    lpo_run_step_env(a, step, name, lpo_arena_printf(a, "%lld", (long long)value));
}

/* What the collector takes at most (collect/knobs.c): it would record with less, and say nothing.
 */
static int check_bounds(const struct lpo_native_capture *c, struct lpo_err *err)
{
    static const int64_t hour_ns = 3600000000000;

    if (c->range && !*c->range)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.range is empty: name an NVTX range, '*' for any, "
                        "or set null to record the whole run");
    if (c->range && strlen(c->range) > LONGEST_RANGE)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.range has %zu bytes, and the collector compares "
                        "%d at most: shorten it with '*', which is any text",
                        strlen(c->range), LONGEST_RANGE);
    if (c->ring_ns > hour_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.ring keeps the last hour at most: set 1h or less");
    if (c->slow_ns > 24 * hour_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.slow is 24h at most: no longer call is watched");
    return 0;
}

static int check_capture(const struct lpo_native_capture *c, struct lpo_err *err)
{
    int64_t first, last;

    if (!c->range && (c->calls || c->every > 1 || c->in_a_row > 1 || c->count))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture has calls, every, in_a_row or count and no range: "
                        "set pipeline.native.capture.range to the NVTX range they are about");
    if (c->count && strcmp(c->attach, "start") != 0)
        return lpo_fail(
            err, LPO_E_CONFIG,
            "pipeline.native.capture.count=true needs CUPTI all the time, and attach=%s "
            "has it in windows alone: set attach=start, or count=false",
            c->attach);
    if (c->in_a_row > 1 && c->every == 1)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.in_a_row=%lld needs every: every=8 records the "
                        "first %lld calls of each %lld",
                        (long long)c->in_a_row, (long long)c->in_a_row,
                        (long long)(8 * c->in_a_row));
    if (c->ring_ns && (c->calls || c->every > 1 || c->count || c->after_ns || c->for_ns ||
                       c->wait || (c->range && !c->slow_ns)))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.ring keeps everything of the last seconds: set "
                        "beside it only signal, control, or range and slow");
    if (c->slow_ns && !(c->ring_ns && c->range))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.slow needs ring, and the range whose calls must "
                        "not take longer");
    if (c->wait && !c->signal && !c->control)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture.wait=true waits for nothing: set signal or "
                        "control beside it");
    if (c->wait && c->after_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.native.capture has wait and after: choose one of them");
    return check_bounds(c, err) < 0
               ? err->code
               : lpo_pipeline_capture_calls("native", c->calls, &first, &last, err);
}

static int add_capture_env(struct lpo_arena *a, const struct lpo_native_capture *c,
                           struct lpo_step *step, struct lpo_err *err)
{
    int64_t first = 1, last = 0;

    if (check_capture(c, err) < 0 ||
        lpo_pipeline_capture_calls("native", c->calls, &first, &last, err) < 0)
        return err->code;
    if (c->range) {
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_RANGE", c->range);
        set_number(a, step, "LPO_COLLECT_CAPTURE_FIRST", first);
        set_number(a, step, "LPO_COLLECT_CAPTURE_LAST", last);
        set_number(a, step, "LPO_COLLECT_CAPTURE_EVERY", c->every);
        set_number(a, step, "LPO_COLLECT_CAPTURE_IN_A_ROW", c->in_a_row);
        set_number(a, step, "LPO_COLLECT_CAPTURE_COUNT", c->count);
    }
    if (c->after_ns)
        set_number(a, step, "LPO_COLLECT_CAPTURE_AFTER_MS", c->after_ns / 1000000);
    if (c->for_ns)
        set_number(a, step, "LPO_COLLECT_CAPTURE_FOR_MS", (c->for_ns + 999999) / 1000000);
    if (lpo_pipeline_capture_signal(c->signal))
        set_number(a, step, "LPO_COLLECT_CAPTURE_SIGNAL", lpo_pipeline_capture_signal(c->signal));
    if (c->ring_ns) {
        set_number(a, step, "LPO_COLLECT_RING_MS", (c->ring_ns + 999999) / 1000000);
        set_number(a, step, "LPO_COLLECT_RING_MB", c->ring_mb);
        set_number(a, step, "LPO_COLLECT_SLOW_MS", (c->slow_ns + 999999) / 1000000);
    }
    if (c->control)
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_CONTROL", "1");
    if (c->wait)
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_WAIT", "1");
    if (strcmp(c->attach, "start") != 0)
        lpo_run_step_env(a, step, "LPO_COLLECT_CAPTURE_ATTACH",
                         strcmp(c->attach, "window") == 0 ? "1" : "2");
    return 0;
}

/* --- processes that could not make their trace (lpo/refusal.h) ----------------------------------
 */

enum {
    NAMED = 8,   /* more would fill the report */
    MOST = 4096, /* anybody may send; reading ends */
};

struct lpo_refusals {
    int fd;
};

static struct lpo_refusals *listen_for_refusals(struct lpo_arena *a, const char *dir)
{
    struct lpo_refusals *r = LPO_NEW(a, struct lpo_refusals);
    struct sockaddr_un address = { 0 };
    socklen_t len = lpo_refusal_address(&address, dir);
    int on = 1;

    r->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (r->fd < 0)
        return NULL;
    if (bind(r->fd, (struct sockaddr *)&address, len) < 0 ||
        setsockopt(r->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) {
        close(r->fd);
        return NULL;
    }
    return r;
}

/* The next one, and who sent it: the kernel's word, not the sender's. */
static bool next_refusal(int fd, struct lpo_refusal *out, struct ucred *who)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec io = { out, sizeof *out };
    struct msghdr m = {
        .msg_iov = &io, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
    };
    ssize_t n = recvmsg(fd, &m, 0);
    struct cmsghdr *c;

    if (n < 0)
        return false;
    memset(who, 0, sizeof *who);
    c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
        memcpy(who, CMSG_DATA(c), sizeof *who);
    if (n != (ssize_t)sizeof *out || out->magic != LPO_REFUSAL_MAGIC)
        out->magic = 0;
    return true;
}

static unsigned note_refusals(struct lpo_refusals *r, struct lpo_stage_ctx *ctx)
{
    struct lpo_refusal refusal = { 0 };
    struct ucred who;
    unsigned count = 0;

    if (!r || r->fd < 0)
        return 0;
    for (int i = 0; i < MOST && next_refusal(r->fd, &refusal, &who); i++) {
        if (refusal.magic == 0)
            continue;
        if (count++ < NAMED)
            lpo_run_manifest_note(ctx->manifest, ctx->record,
                                  "process %d of user %u is not recorded: it could not make its "
                                  "trace in this run folder: %s. Run lpo as that user, or give it "
                                  "a folder to which it may write",
                                  (int)who.pid, (unsigned)who.uid, strerror(refusal.why));
    }
    if (count > NAMED)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%u more processes are not recorded",
                              count - NAMED);
    close(r->fd);
    r->fd = -1;
    return count;
}

/* --- what became of each rank of a job ----------------------------------------------------------
 */

enum {
    NAMED_RANKS = 16,     /* more would fill the report */
    MOST_RANKS = 1 << 16, /* the size of a job is a number in a file: no more are looked for */
};

/* Ranks of one fate, as "1, 2 and 9 more". */
struct fate {
    struct lpo_str names;
    size_t count;
};

static void add_rank(struct fate *f, uint32_t rank)
{
    if (f->count++ < NAMED_RANKS)
        lpo_str_addf(&f->names, "%s%u", f->names.len ? ", " : "", rank);
}

static void note_fate(struct lpo_stage_ctx *ctx, struct fate *f, uint32_t ranks, const char *what)
{
    if (f->count > NAMED_RANKS)
        lpo_str_addf(&f->names, " and %zu more", f->count - NAMED_RANKS);
    if (f->count)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "rank%s %s of %u: %s",
                              f->count == 1 ? "" : "s", lpo_str_text(&f->names), ranks, what);
    lpo_str_free(&f->names);
}

static void note_ranks(struct lpo_stage_ctx *ctx, const struct lpo_trace *t)
{
    enum { SEEN = 1, OPEN = 2 };
    const char *chosen = lpo_run_ranks_word(ctx->arena, ctx->config);
    uint32_t ranks = t->ranks < MOST_RANKS ? t->ranks : MOST_RANKS;
    struct fate absent = { 0 }, cut = { 0 };
    uint8_t *seen;

    if (ranks < 2 || lpo_launcher_rank().world_size > 1)
        return; /* one lpo in each task: each says it of its own (run/shared_job.h) */
    seen = lpo_arena_array(ctx->arena, ranks, 1);
    memset(seen, 0, ranks);
    for (size_t i = 0; i < t->processes.len; i++) {
        const struct lpo_process *p = &t->processes.at[i];
        if (p->rank >= 0 && (uint32_t)p->rank < ranks)
            seen[p->rank] |= p->cut_short ? SEEN | OPEN : SEEN;
    }
    for (uint32_t i = 0; i < ranks; i++) {
        /* a node's first rank cannot be told from its number */
        struct lpo_rank r = { "", (int32_t)i, 1, (int32_t)ranks };
        if (!seen[i] && lpo_launcher_chosen(&r, chosen))
            add_rank(&absent, i);
        else if (seen[i] & OPEN)
            add_rank(&cut, i);
    }
    note_fate(ctx, &absent, ranks,
              "no trace: not started, or ended before its first call of NVTX or CUDA");
    note_fate(ctx, &cut, ranks,
              "killed, or ended before its trace was closed: what it did last may be missing");
}

/* --- native/regions.json: every region the workload entered -------------------------------------
 */

#define NATIVE_REGIONS_SCHEMA "lpo.native_regions/1"

/* Threads that entered ranges of this name: a bit of key for (domain, name, thread). */
static struct lpo_map *count_threads(const struct lpo_trace *t)
{
    struct lpo_map *seen = lpo_map_create(), *count = lpo_map_create();

    for (size_t i = 0; i < t->ranges.len + t->paths.len; i++) {
        const struct lpo_range *r = i < t->ranges.len ? &t->ranges.at[i] : NULL;
        const struct lpo_path *p = r ? NULL : &t->paths.at[i - t->ranges.len];
        uint32_t key[3] = { r ? r->domain : p->domain, r ? r->name : p->name,
                            r ? r->thread : p->thread };
        bool fresh;

        lpo_map_put(seen, (const char *)key, sizeof key, &fresh);
        if (fresh)
            ++*lpo_map_put(count, (const char *)key, 2 * sizeof *key, NULL);
    }
    lpo_map_destroy(seen);
    return count;
}

static void put_row(struct lpo_record *r, const struct lpo_region_scope *s,
                    const struct lpo_region_row *row, const struct lpo_map *threads)
{
    const struct lpo_region_tree *tree = s->cells->tree;
    LPO_STR path = { 0 };

    lpo_region_row_add_path(s, row, &path);
    lpo_doc_put(r, LPO_KV("path", lpo_jv_textn(lpo_str_text(&path), path.len)),
                LPO_KV("kind", lpo_region_row_kind(s, row)));
    if (row->node != LPO_NODE_OUTSIDE) {
        uint32_t key[2] = { tree->nodes.at[row->node].domain, tree->nodes.at[row->node].name };
        const uint64_t *n = lpo_map_find(threads, (const char *)key, sizeof key);

        lpo_doc_put(r,
                    LPO_KV("domain", lpo_trace_text(tree->trace, tree->trace->domains.at[key[0]])),
                    LPO_KV("threads", n ? *n : 0), LPO_KV("visits", row->visits),
                    LPO_KV("host_ns", row->host_ns));
    }
    lpo_doc_put(r, LPO_KV("launches", row->all.launches), LPO_KV("gpu_ns", row->all.ns));
}

static int write_regions(const struct lpo_analysis *a, const char *path, size_t *regions,
                         struct lpo_err *err)
{
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    LPO_AUTO(lpo_map) threads = count_threads(a->trace);
    LPO_AUTO(lpo_doc)
    doc = lpo_doc_create_data(NATIVE_REGIONS_SCHEMA, "native_regions", "Regions of the workload");
    struct lpo_record *rows = lpo_doc_put_list(doc->data, "regions");

    *regions = 0;
    for (size_t i = 0; i < s->rows.len; i++) {
        put_row(lpo_doc_put_record(rows, NULL), s, &s->rows.at[i], threads);
        *regions += s->rows.at[i].node != LPO_NODE_OUTSIDE;
    }
    return lpo_writer_write(doc, &lpo_writer_json, path, err);
}

/* --- the stage ----------------------------------------------------------------------------------
 */

static const char regions_file[] = "regions.json";

struct native_settings {
    const char *library, *graphs;
    bool gpu;
    int64_t buffer_kb, flush_ms;
    struct lpo_native_capture capture;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(native_settings, library, LPO_S_TEXT, "pipeline.native.library"),
    LPO_SETTING(native_settings, gpu, LPO_S_BOOL, "pipeline.native.gpu"),
    LPO_SETTING(native_settings, graphs, LPO_S_TEXT, "pipeline.native.graphs"),
    LPO_SETTING(native_settings, buffer_kb, LPO_S_INT, "pipeline.native.buffer_kb"),
    LPO_SETTING(native_settings, flush_ms, LPO_S_INT, "pipeline.native.flush_ms"),
    LPO_SETTING(native_settings, capture.range, LPO_S_TEXT, "pipeline.native.capture.range"),
    LPO_SETTING(native_settings, capture.calls, LPO_S_TEXT, "pipeline.native.capture.calls"),
    LPO_SETTING(native_settings, capture.every, LPO_S_INT, "pipeline.native.capture.every"),
    LPO_SETTING(native_settings, capture.count, LPO_S_BOOL, "pipeline.native.capture.count"),
    LPO_SETTING(native_settings, capture.after_ns, LPO_S_DURATION, "pipeline.native.capture.after"),
    LPO_SETTING(native_settings, capture.for_ns, LPO_S_DURATION, "pipeline.native.capture.for"),
    LPO_SETTING(native_settings, capture.ring_ns, LPO_S_DURATION, "pipeline.native.capture.ring"),
    LPO_SETTING(native_settings, capture.ring_mb, LPO_S_INT, "pipeline.native.capture.ring_mb"),
    LPO_SETTING(native_settings, capture.slow_ns, LPO_S_DURATION, "pipeline.native.capture.slow"),
    LPO_SETTING(native_settings, capture.signal, LPO_S_TEXT, "pipeline.native.capture.signal"),
    LPO_SETTING(native_settings, capture.control, LPO_S_BOOL, "pipeline.native.capture.control"),
    LPO_SETTING(native_settings, capture.wait, LPO_S_BOOL, "pipeline.native.capture.wait"),
    LPO_SETTING(native_settings, capture.in_a_row, LPO_S_INT, "pipeline.native.capture.in_a_row"),
    LPO_SETTING(native_settings, capture.attach, LPO_S_TEXT, "pipeline.native.capture.attach"),
};

static const char *const trace_files[] = { "*.lpot", NULL };

static const char *const formats[] = { "native", NULL };

static const struct lpo_rundir_kind results = {
    .stage = "native",
    .what = "the trace of lpo's own collector",
    .patterns = trace_files,
    .formats = formats,
    .trust = 1,
    .skip = LPO_SKIP_OPS,
};

static const char *const from_start[] = { "pipeline.native.capture.after",
                                          "pipeline.native.capture.for",
                                          "pipeline.native.capture.ring", NULL };

/* --- what it needs -------------------------------------------------------------------------- */

static bool look_for_collector(struct lpo_arena *a, const char **detail, const char **remedy)
{
    const char *path = lpo_run_install_find(a, "liblpo-collect.so");

    (void)remedy;
    *detail = path ? path : "liblpo-collect.so is not beside lpo";
    return path != NULL;
}

static bool look_for_gpu(struct lpo_arena *a, const char **detail, const char **remedy)
{
    struct lpo_gpus gpus;

    (void)remedy;
    lpo_gpu_list(a, &gpus);
    if (gpus.len == 0) {
        *detail = gpus.why ? gpus.why : "no GPU";
        return false;
    }
    *detail =
        lpo_arena_printf(a, "%zu x %s, driver %s", gpus.len,
                         gpus.at[0].name ? gpus.at[0].name : "?", gpus.driver ? gpus.driver : "?");
    return true;
}

/* The collector loads the CUPTI that the program has already loaded, if there is one. */
static bool look_for_cupti(struct lpo_arena *a, const char **detail, const char **remedy)
{
    static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };

    (void)a;
    (void)remedy;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);

        if (lib) {
            dlclose(lib);
            *detail = names[i];
            return true;
        }
    }
    *detail = "libcupti is not on the library path (PyTorch brings its own: then this is fine)";
    return false;
}

static const struct lpo_stage_check checks[] = {
    { "collector", "no region times (stage native)", "build or install lpo whole",
      look_for_collector },
    { "gpu", "no GPU operation is traced; CPU regions and all reports still work",
      "run on a machine with an NVIDIA GPU and driver", look_for_gpu },
    { "cupti", "the collector records NVTX ranges but no kernels",
      "install the CUDA toolkit's CUPTI, or put its folder on LD_LIBRARY_PATH", look_for_cupti },
    { NULL, NULL, NULL, NULL },
};

/* --- the stage ------------------------------------------------------------------------------ */

static int find_library(struct lpo_stage_ctx *ctx, const char **out, struct lpo_err *err)
{
    const struct native_settings *settings = ctx->settings;
    const char *given = settings->library;

    *out = given ? lpo_path_absolute(ctx->arena, given)
                 : lpo_run_install_find(ctx->arena, "liblpo-collect.so");
    if (*out && lpo_path_exists(*out))
        return 0;
    return lpo_fail(err, LPO_E_MISSING,
                    "the collector %s was not found; set pipeline.native.library to its path",
                    given ? given : "liblpo-collect.so");
}

static int native_check(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct native_settings *settings = ctx->settings;

    return check_capture(&settings->capture, err);
}

static int native_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    const struct native_settings *settings = ctx->settings;
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_arena *a = ctx->arena;
    const char *library = NULL;
    struct lpo_step *step;

    if (find_library(ctx, &library, err) < 0 ||
        lpo_pipeline_stage_add_workload(ctx, steps, "native", &opts, &step, err) < 0)
        return err->code;
    lpo_run_step_env(a, step, "NVTX_INJECTION64_PATH", library);
    if (settings->gpu)
        lpo_run_step_env(a, step, "CUDA_INJECTION64_PATH", library);
    lpo_run_step_env(a, step, "LPO_COLLECT_DIR", ctx->dir);
    if (strcmp(lpo_run_ranks_word(a, ctx->config), "all") != 0)
        lpo_run_step_env(a, step, "LPO_COLLECT_RANKS", lpo_run_ranks_word(a, ctx->config));
    if (lpo_secrets_any()) /* the collector sees the command line as it is */
        lpo_run_step_env(a, step, "LPO_COLLECT_COMMAND", "0");
    lpo_run_step_env(a, step, "LPO_COLLECT_GRAPH_NODES",
                     strcmp(settings->graphs, "nodes") == 0 ? "1" : "0");
    lpo_run_step_env(a, step, "LPO_COLLECT_BUFFER_KB",
                     lpo_arena_printf(a, "%lld", (long long)settings->buffer_kb));
    lpo_run_step_env(a, step, "LPO_COLLECT_FLUSH_MS",
                     lpo_arena_printf(a, "%lld", (long long)settings->flush_ms));
    return add_capture_env(a, &settings->capture, step, err);
}

/* From prepare to collect. */
struct native_run {
    struct lpo_refusals *refusals;
    unsigned refused; /* processes that could not make their trace */
};

static int native_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct native_run *run = LPO_NEW(ctx->arena, struct native_run);

    (void)steps;
    (void)err;
    run->refusals = listen_for_refusals(ctx->arena, ctx->dir);
    ctx->private = run;
    return 0;
}

static int native_after(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                        const struct lpo_result *r, struct lpo_err *err)
{
    struct native_run *run = ctx->private;

    const struct lpo_analysis *a;
    int rc = lpo_pipeline_stage_judge(&steps->at[i], r, err);

    lpo_trace_finish(ctx->dir);
    run->refused = note_refusals(run->refusals, ctx);
    a = rc < 0 ? lpo_analysis_run_stage(ctx->analysis, ctx->stage->name) : NULL;
    if (a) /* a job fails when one of its ranks does: the others are there */
        note_ranks(ctx, a->trace);
    return rc;
}

static int native_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct lpo_analysis *a = lpo_analysis_run_stage(ctx->analysis, ctx->stage->name);
    const struct lpo_source *s = lpo_rundir_find(ctx->analysis->dir, ctx->stage->name);
    const struct native_run *run = ctx->private;
    size_t regions = 0;

    if (s->problem)
        return lpo_fail(err, LPO_E_FORMAT, "cannot list the regions of the traces: %s", s->problem);
    if (!a && run->refused) {
        ctx->record->message = "no trace: the workload could not write into the run folder";
        return 0;
    }
    if (!a) {
        ctx->record->message = "no trace: the workload called neither NVTX nor CUDA";
        return 0;
    }
    note_ranks(ctx, a->trace);
    if (write_regions(a, lpo_path_join(ctx->arena, ctx->dir, regions_file), &regions, err) < 0)
        return lpo_ctx(err, "cannot list the regions of the traces");
    if (regions == 0)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "the workload entered no NVTX range: everything is (outside)");
    return 0;
}

const struct lpo_stage lpo_pipeline_native = {
    .name = "native",
    .summary = "NVTX ranges and GPU operations with lpo's own collector",
    .light = true,
    LPO_STAGE_SETTINGS(native_settings, fields),
    .results = &results,
    .checks = checks,
    .regions_file = regions_file,
    .from_start = from_start,
    .check_settings = native_check,
    .plan = native_plan,
    .prepare = native_prepare,
    .after = native_after,
    .collect = native_collect,
};
