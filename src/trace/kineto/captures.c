/* SPDX-License-Identifier: Apache-2.0 */
/* Launches between the calls that begin and end a capture, on one thread: they did not run, but
 * became nodes of a CUDA graph. */

#include "trace/kineto/private.h"
#include "trace/link.h"
#include "trace/trace.h"

enum { MOST = 1 << 24 }; /* moments of each list: such a trace has about 2 GB of text */

/* A moment of a thread: a capture begins (its call has returned), ends (its call begins), or a
 * kernel was launched. */
struct moment {
    int64_t ns, end_ns;
    uint32_t thread;
    uint32_t kernel; /* name; LPO_NONE */
    enum { BEGIN, LAUNCH, END } what;
};

typedef LPO_VEC(struct moment) moments;

struct lpo_kineto_captures {
    moments all;
    moments kernels; /* what launches launch, where that is recorded */
    bool any;
};

struct lpo_kineto_captures *lpo_kineto_captures_create(void)
{
    return lpo_xcalloc(1, sizeof(struct lpo_kineto_captures));
}

void lpo_kineto_captures_destroy(struct lpo_kineto_captures *c)
{
    if (!c)
        return;
    lpo_vec_free(&c->all);
    lpo_vec_free(&c->kernels);
    free(c);
}

/* cudaStreamBeginCapture, cuStreamBeginCapture_v2, hipStreamEndCapture: a trace has millions of
 * other calls. */
static bool is_call(const struct lpo_json_pull_text *name, const char *word, size_t len)
{
    for (size_t at = 2; at <= 4; at++)
        if (name->len >= at + len && memcmp(name->at + at, word, len) == 0)
            return true;
    return false;
}

void lpo_kineto_captures_call(struct lpo_kineto_captures *c, const struct kineto_event *e,
                              uint32_t thread, int64_t end_ns)
{
    static const char begin[] = "StreamBeginCapture", end[] = "StreamEndCapture";
    bool begins = is_call(&e->name, begin, sizeof begin - 1);

    if ((!begins && !is_call(&e->name, end, sizeof end - 1)) || c->all.len == MOST)
        return;
    c->any |= begins;
    lpo_vec_push(&c->all, ((struct moment){ begins ? end_ns : e->start_ns, end_ns, thread, LPO_NONE,
                                            begins ? BEGIN : END }));
}

void lpo_kineto_captures_kernel(struct lpo_kineto_captures *c, int64_t start_ns, uint32_t thread,
                                uint32_t kernel)
{
    if (c->kernels.len < MOST)
        lpo_vec_push(&c->kernels, ((struct moment){ start_ns, start_ns, thread, kernel, LAUNCH }));
}

bool lpo_kineto_captures_any(const struct lpo_kineto_captures *c)
{
    return c->any;
}

void lpo_kineto_captures_launch(void *ctx, const struct lpo_call *call)
{
    struct lpo_kineto_captures *c = ctx;

    if (c->all.len < MOST)
        lpo_vec_push(&c->all, ((struct moment){ call->start_ns, call->end_ns, call->thread,
                                                LPO_NONE, LAUNCH }));
}

/* What ends at a moment comes after what is launched then, and that after what begins. */
LPO_COMPARE(by_thread_and_time, struct moment, LPO_UP(thread) ?: LPO_UP(ns) ?: LPO_UP(what));

static void sort(moments *m)
{
    lpo_vec_sort(m, by_thread_and_time);
}

/* The kernel of a launch. A driver call lies in the runtime call that is the launch: either may
 * have the name. */
static uint32_t kernel_of(const moments *kernels, const struct moment *launch)
{
    size_t from = 0, to = kernels->len;

    lpo_search(from, to, middle, by_thread_and_time(&kernels->at[middle], launch) < 0);
    if (from == kernels->len || kernels->at[from].thread != launch->thread ||
        kernels->at[from].ns > launch->end_ns)
        return LPO_NONE;
    return kernels->at[from].kernel;
}

void lpo_kineto_captures_settle(struct lpo_kineto_captures *c, struct lpo_trace *t,
                                const uint32_t *threads, int64_t shift)
{
    uint32_t graph = LPO_NONE;

    if (!c->any)
        return;
    sort(&c->all);
    sort(&c->kernels);
    for (size_t i = 0; i < c->all.len; i++) {
        const struct moment *m = &c->all.at[i];

        if (i && m->thread != m[-1].thread)
            graph = LPO_NONE;
        if (m->what == BEGIN)
            graph = t->captured_graphs++;
        else if (m->what == END)
            graph = LPO_NONE;
        else if (graph != LPO_NONE)
            lpo_vec_push(
                &t->captured_launches,
                ((struct lpo_captured_launch){ m->ns + shift, m->end_ns + shift, threads[m->thread],
                                               graph, kernel_of(&c->kernels, m) }));
    }
}
