/* SPDX-License-Identifier: Apache-2.0 */
#include "region/modules.h"

#include "trace/host.h"
#include "trace/trace.h"

/* What the name of a Python event says. */
enum sort {
    NO_FRAME, /* no Python event has this name */
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

    return lpo_any(i, sizeof files / sizeof *files, begins(name, files[i]));
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

/* Did the thread launch something in this call? Where nothing was launched at all, host times are
 * what is left to show. */
static bool has_launched(const struct lpo_trace *t, const struct lpo_slice *s)
{
    struct lpo_host_rows rows = lpo_host_rows(t, s->thread, LPO_HOST_LAUNCH);
    size_t from = 0, to = rows.len;

    if (!t->launches.len)
        return true;
    lpo_search(from, to, i, t->launches.at[rows.at[i]].start_ns < s->start_ns);
    return from < rows.len && t->launches.at[rows.at[from]].end_ns <= s->end_ns;
}

bool lpo_region_is_module(const struct lpo_region_modules *m, const struct lpo_slice *s)
{
    enum sort sort = (enum sort)m->sorts[s->name];

    if (m->has_modules[m->trace->threads.at[s->thread].process])
        return sort == MODULE;
    return (sort == OWN || (sort == FORWARD && !is_library(lpo_trace_text(m->trace, s->name)))) &&
           has_launched(m->trace, s);
}

/* A module's own code is the first forward() that begins inside it, before any module that it
 * calls. True: the thread has regions. */
static bool find_code(struct lpo_region_modules *m, uint32_t thread)
{
    struct lpo_host_walk walk = lpo_host_walk(m->trace, thread, LPO_HOST_MODULE | LPO_HOST_PYTHON);
    struct lpo_slice s, entered = { .name = LPO_NONE }; /* the module that was entered last */
    bool any = false;

    while (lpo_host_next(&walk, &s)) {
        bool region = lpo_region_is_module(m, &s);

        any |= region;
        if (s.kind == LPO_HOST_MODULE) {
            entered = s;
        } else if (region) {
            m->code[s.name] = s.name;
        } else if (m->sorts[s.name] == FORWARD && entered.name != LPO_NONE) {
            if (m->code[entered.name] == LPO_NONE && s.end_ns <= entered.end_ns)
                m->code[entered.name] = s.name;
            entered.name = LPO_NONE;
        }
    }
    return any;
}

struct lpo_region_modules *lpo_region_modules_create(const struct lpo_trace *t)
{
    struct lpo_region_modules *m;
    bool any = false;

    if (!t->python.len)
        return NULL;
    m = lpo_xcalloc(1, sizeof *m);
    m->trace = t;
    m->ncode = lpo_trace_name_count(t);
    m->code = lpo_xmalloc(m->ncode * sizeof *m->code);
    memset(m->code, 0xff, m->ncode * sizeof *m->code);
    m->sorts = lpo_xcalloc(m->ncode, 1);
    m->has_modules = lpo_xcalloc(t->processes.len, sizeof *m->has_modules);
    for (size_t i = 0; i < t->python.len; i++) {
        const struct lpo_python_call *c = &t->python.at[i];
        unsigned char *sort = &m->sorts[c->name];

        if (*sort == NO_FRAME)
            *sort =
                (unsigned char)sort_of(lpo_trace_text(t, c->name), lpo_trace_text_len(t, c->name));
        m->has_modules[t->threads.at[c->thread].process] |= *sort == MODULE;
    }
    for (uint32_t i = 0; i < t->threads.len; i++)
        any |= find_code(m, i);
    if (any)
        return m;
    lpo_region_modules_destroy(m);
    return NULL;
}

void lpo_region_modules_destroy(struct lpo_region_modules *m)
{
    if (!m)
        return;
    free(m->code);
    free(m->sorts);
    free(m->has_modules);
    free(m);
}
