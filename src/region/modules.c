/* SPDX-License-Identifier: Apache-2.0 */
#include "region/modules.h"

#include <stdlib.h>
#include <string.h>

#include "region/thread_rows.h"
#include "trace/host.h"
#include "util/search.h"
#include "util/xmalloc.h"

/* 28 bytes each; the events themselves take 24. */
enum { MOST_RANGES = 8 << 20 };

/* What the name of a Python event says; asked once for each name. */
enum sort {
    UNSEEN,
    MODULE,   /* nn.Module: Linear_3 */
    FORWARD,  /* the function that a module is */
    LIBRARY,  /* of torch or of Python itself */
    OWN,      /* of the program */
    BUILT_IN, /* <built-in function len> */
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Files as Kineto writes them: without the folder in which Python keeps its libraries. */
static bool is_library(const char *name)
{
    static const char *const files[] = {
        "torch/",         "torchvision/",     "runpy.py(",       "threading.py(",
        "contextlib.py(", "functools.py(",    "typing.py(",      "weakref.py(",
        "abc.py(",        "enum.py(",         "copy.py(",        "collections/",
        "concurrent/",    "multiprocessing/", "asyncio/",        "importlib/",
        "selectors.py(",  "queue.py(",        "logging/",        "tqdm/",
        "inspect.py(",    "warnings.py(",     "dataclasses.py(", "nvtx/",
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (begins(name, files[i]))
            return true;
    return false;
}

static enum sort sort_of(const char *name, size_t len)
{
    static const char forward[] = "): forward";
    size_t tail = sizeof forward - 1;

    if (begins(name, LPO_MODULE_PREFIX))
        return MODULE;
    if (*name == '<' || !*name)
        return BUILT_IN;
    if (len > tail && strcmp(name + len - tail, forward) == 0)
        return FORWARD;
    return is_library(name) ? LIBRARY : OWN;
}

struct work {
    const struct lpo_trace *t;
    struct lpo_region_modules *m;
    unsigned char *sorts;      /* per name: enum sort */
    bool *has_modules;         /* per process */
    struct lpo_group launches; /* of each thread, by time */
    bool any_launch;
};

static enum sort sort_at(struct work *w, uint32_t name)
{
    if (w->sorts[name] == UNSEEN)
        w->sorts[name] =
            (unsigned char)sort_of(lpo_trace_text(w->t, name), lpo_trace_text_len(w->t, name));
    return (enum sort)w->sorts[name];
}

/* Outer before inner, by thread. */
static bool call_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_python_call *x = &((const struct lpo_trace *)trace)->python.at[a];
    const struct lpo_python_call *y = &((const struct lpo_trace *)trace)->python.at[b];

    if (x->thread != y->thread)
        return x->thread < y->thread;
    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->end_ns > y->end_ns;
}

/* Did the thread launch something in this call? Where nothing was launched at all, host times are
 * what is left to show. */
static bool launched(const struct work *w, const struct lpo_python_call *c)
{
    const size_t *starts = w->launches.starts;
    size_t from = starts[c->thread], to = starts[c->thread + 1];

    if (!w->any_launch)
        return true;
    lpo_search(from, to, i, w->t->launches.at[w->launches.rows[i]].start_ns < c->start_ns);
    return from < starts[c->thread + 1] &&
           w->t->launches.at[w->launches.rows[from]].end_ns <= c->end_ns;
}

static void add_range(struct work *w, const struct lpo_python_call *c, enum lpo_range_kind kind)
{
    if (w->m->view.ranges.len >= w->t->ranges.len + MOST_RANGES) {
        w->m->left_out++;
        return;
    }
    *(kind == LPO_MODULE ? &w->m->modules : &w->m->functions) += 1;
    lpo_vec_push(&w->m->view.ranges, ((struct lpo_range){ .start_ns = c->start_ns,
                                                          .end_ns = c->end_ns,
                                                          .name = c->name,
                                                          .thread = c->thread,
                                                          .kind = (uint8_t)kind }));
}

/* A module's own code is the first forward() that begins inside it, before any module that it
 * calls. */
static void find_ranges(struct work *w, const uint32_t *rows)
{
    const struct lpo_python_call *entered = NULL; /* the module that was entered last */

    for (size_t i = 0; i < w->t->python.len; i++) {
        const struct lpo_python_call *c = &w->t->python.at[rows[i]];
        enum sort sort = sort_at(w, c->name);
        bool modules = w->has_modules[w->t->threads.at[c->thread].process];

        if (sort == MODULE) {
            entered = c;
            add_range(w, c, LPO_MODULE);
        } else if (sort == FORWARD && entered) {
            uint32_t *source = &w->m->code[entered->name];

            if (*source == LPO_NONE && entered->thread == c->thread && c->end_ns <= entered->end_ns)
                *source = c->name;
            entered = NULL;
        }
        if (!modules &&
            (sort == OWN || (sort == FORWARD && !is_library(lpo_trace_text(w->t, c->name)))) &&
            launched(w, c)) {
            w->m->code[c->name] = c->name;
            add_range(w, c, LPO_PYTHON);
        }
    }
}

static void find_modules(struct work *w, uint32_t *rows)
{
    for (uint32_t i = 0; i < w->t->python.len; i++) {
        const struct lpo_python_call *c = &w->t->python.at[i];

        rows[i] = i;
        if (sort_at(w, c->name) == MODULE)
            w->has_modules[w->t->threads.at[c->thread].process] = true;
    }
}

struct lpo_region_modules *lpo_region_modules_create(const struct lpo_trace *t)
{
    struct work w = { .t = t, .any_launch = t->launches.len > 0 };
    size_t names = lpo_trace_name_count(t);
    uint32_t *rows;

    if (!t->python.len)
        return NULL;
    w.m = lpo_xcalloc(1, sizeof *w.m);
    w.m->view = *t;
    w.m->view.host = lpo_host_create();
    memset(&w.m->view.ranges, 0, sizeof w.m->view.ranges);
    for (size_t i = 0; i < t->ranges.len; i++)
        lpo_vec_push(&w.m->view.ranges, t->ranges.at[i]);
    w.m->code = lpo_xrealloc(NULL, names + 1, sizeof *w.m->code);
    memset(w.m->code, 0xff, (names + 1) * sizeof *w.m->code);
    w.m->view.code = w.m->code;
    w.m->view.ncode = names;
    w.sorts = lpo_xcalloc(names + 1, 1);
    w.has_modules = lpo_xcalloc(t->processes.len + 1, sizeof *w.has_modules);
    w.launches = lpo_region_group_launches(t);
    for (size_t i = 0; i < t->threads.len; i++)
        lpo_region_order_sort(w.launches.rows + w.launches.starts[i],
                              w.launches.starts[i + 1] - w.launches.starts[i],
                              lpo_region_launch_before, t);
    rows = lpo_xrealloc(NULL, t->python.len, sizeof *rows);
    find_modules(&w, rows);
    lpo_region_order_sort(rows, t->python.len, call_before, t);
    find_ranges(&w, rows);
    free(rows);
    free(w.sorts);
    free(w.has_modules);
    lpo_region_group_free(&w.launches);
    if (w.m->modules || w.m->functions)
        return w.m;
    lpo_region_modules_destroy(w.m);
    return NULL;
}

void lpo_region_modules_destroy(struct lpo_region_modules *m)
{
    if (!m)
        return;
    lpo_vec_free(&m->view.ranges);
    lpo_host_destroy(m->view.host);
    free(m->code);
    free(m);
}
