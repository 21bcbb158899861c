/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/native/ranks.h"

#include <string.h>

#include "lpo/launchers.h"
#include "pipeline/stage.h"
#include "run/manifest.h"
#include "run/ranks.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

enum {
    NAMED = 16,     /* more would fill the report */
    MOST = 1 << 16, /* the size of a job is a number in a file: no more are looked for */
};

/* Ranks of one fate, as "1, 2 and 9 more". */
struct fate {
    struct lpo_str names;
    size_t count;
};

static void add_rank(struct fate *f, uint32_t rank)
{
    if (f->count++ < NAMED)
        lpo_str_addf(&f->names, "%s%u", f->names.len ? ", " : "", rank);
}

static void note_fate(struct lpo_stage_ctx *ctx, struct fate *f, uint32_t ranks, const char *what)
{
    if (f->count > NAMED)
        lpo_str_addf(&f->names, " and %zu more", f->count - NAMED);
    if (f->count)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "rank%s %s of %u: %s",
                              f->count == 1 ? "" : "s", lpo_str_text(&f->names), ranks, what);
    lpo_str_free(&f->names);
}

void lpo_pipeline_native_ranks_note(struct lpo_stage_ctx *ctx, const struct lpo_trace *t)
{
    enum { SEEN = 1, OPEN = 2 };
    const char *chosen = lpo_run_ranks_word(ctx->arena, ctx->config);
    uint32_t ranks = t->ranks < MOST ? t->ranks : MOST;
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
