/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/host.h"

#include <pthread.h>

#include "trace/trace.h"

/* Where the events of a kind stand in a trace, and where the facts of one stand in its row. */
struct source {
    unsigned kind;
    size_t at, len;   /* of the array: its pointer and its length, in struct lpo_trace */
    size_t row_bytes; /* of a row */
    size_t start, end, thread, name;
};

#define NO_NAME SIZE_MAX

#define SOURCE(kind, array, type, start, end, name)                                                \
    {                                                                                              \
        kind, offsetof(struct lpo_trace, array.at), offsetof(struct lpo_trace, array.len),         \
            sizeof(struct type), offsetof(struct type, start), offsetof(struct type, end),         \
            offsetof(struct type, thread), name                                                    \
    }

/* Of slices that start and end together, those further down lie inside. */
static const struct source sources[] = {
    SOURCE(LPO_HOST_RANGE, ranges, lpo_range, start_ns, end_ns, offsetof(struct lpo_range, name)),
    SOURCE(LPO_HOST_MODULE, python, lpo_python_call, start_ns, end_ns,
           offsetof(struct lpo_python_call, name)),
    SOURCE(LPO_HOST_PYTHON, python, lpo_python_call, start_ns, end_ns,
           offsetof(struct lpo_python_call, name)),
    SOURCE(LPO_HOST_OP, ops, lpo_op, start_ns, end_ns, offsetof(struct lpo_op, name)),
    SOURCE(LPO_HOST_CALL, calls, lpo_api_call, start_ns, end_ns,
           offsetof(struct lpo_api_call, name)),
    SOURCE(LPO_HOST_CAPTURE, captures, lpo_capture, ns, ns, NO_NAME),
    SOURCE(LPO_HOST_LAUNCH, launches, lpo_launch, start_ns, end_ns, NO_NAME),
    SOURCE(LPO_HOST_CAPTURED, captured_launches, lpo_captured_launch, start_ns, end_ns,
           offsetof(struct lpo_captured_launch, kernel)),
    SOURCE(LPO_HOST_START_END, ranges, lpo_range, start_ns, end_ns,
           offsetof(struct lpo_range, name)),
    /* nothing says when: they stay as they are in the file */
    SOURCE(LPO_HOST_PATH, paths, lpo_path, count, count, offsetof(struct lpo_path, name)),
};

/* Calls that are rows of launches. */
static const struct source named_launches = SOURCE(LPO_HOST_CALL, launches, lpo_launch, start_ns,
                                                   end_ns, offsetof(struct lpo_launch, name));

enum {
    SOURCES = sizeof sources / sizeof *sources,
    SLICES = 5,
    RANGES = 0,
    MODULES = 1,
    LAUNCHES = 6
};

struct order {
    uint32_t *rows;   /* by thread, then time; NULL: nobody asked yet */
    size_t *first;    /* per thread: where its rows begin; one more at the end */
    uint32_t *parent; /* per row of the array; `flat`: none has one */
    uint32_t *launch; /* per launch: the innermost row that contains it */
};

struct lpo_host {
    pthread_mutex_t making; /* held while something below is made; it is const afterwards */
    uint64_t rows;          /* that the trace had when it was made */
    int64_t *ends;          /* per process */
    bool *is_module;        /* per name */
    struct order of[SOURCES];
};

struct lpo_host *lpo_host_create(void)
{
    struct lpo_host *h = lpo_xcalloc(1, sizeof *h);
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&h->making, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return h;
}

/* In place of an array of LPO_NONE: most calls of the CUDA API lie in no other. */
static uint32_t flat[1];

static void clear(struct lpo_host *h)
{
    for (size_t i = 0; i < SOURCES; i++) {
        free(h->of[i].rows);
        free(h->of[i].first);
        if (h->of[i].parent != flat)
            free(h->of[i].parent);
        free(h->of[i].launch);
    }
    memset(h->of, 0, sizeof h->of);
    free(h->ends);
    free(h->is_module);
    h->ends = NULL;
    h->is_module = NULL;
}

void lpo_host_destroy(struct lpo_host *h)
{
    if (!h)
        return;
    clear(h);
    pthread_mutex_destroy(&h->making);
    free(h);
}

/* Makes *kept once, whichever thread asks first. */
#define MADE_ONCE(host, kept, make)                                                                \
    do {                                                                                           \
        if (!__atomic_load_n(&(kept), __ATOMIC_ACQUIRE)) {                                         \
            pthread_mutex_lock(&(host)->making);                                                   \
            if (!(kept))                                                                           \
                __atomic_store_n(&(kept), (make), __ATOMIC_RELEASE);                               \
            pthread_mutex_unlock(&(host)->making);                                                 \
        }                                                                                          \
    } while (0)

/* What is kept of the trace; all of it goes when the trace has grown. */
static struct lpo_host *host_of(const struct lpo_trace *t)
{
    uint64_t rows = 1 + t->ranges.len + t->python.len + t->ops.len + t->calls.len +
                    t->launches.len + t->captures.len + t->captured_launches.len + t->paths.len +
                    t->gpu_ops.len + t->threads.len;

    if (t->host->rows != rows) {
        clear(t->host);
        t->host->rows = rows;
    }
    return t->host;
}

/* --- rows of any kind ----------------------------------------------------------------------- */

static size_t count_of(const struct lpo_trace *t, const struct source *s)
{
    size_t len;

    if (s->kind == LPO_HOST_CALL)
        return lpo_trace_call_count(t);
    memcpy(&len, (const char *)t + s->len, sizeof len);
    return len;
}

/* The array that the row stands in, and its number there. */
static const struct source *array_of(const struct lpo_trace *t, const struct source *s,
                                     uint32_t *row)
{
    if (s->kind != LPO_HOST_CALL)
        return s;
    if (*row < t->launches.len)
        return &named_launches;
    *row -= (uint32_t)t->launches.len;
    return s;
}

static const char *row_of(const struct lpo_trace *t, const struct source *s, uint32_t row)
{
    const char *at;

    s = array_of(t, s, &row);
    memcpy(&at, (const char *)t + s->at, sizeof at);
    return at + row * s->row_bytes;
}

static int64_t time_of(const char *row, size_t at)
{
    int64_t ns;

    memcpy(&ns, row + at, sizeof ns);
    return ns;
}

static uint32_t number_of(const char *row, size_t at)
{
    uint32_t n;

    memcpy(&n, row + at, sizeof n);
    return n;
}

static int64_t end_of(const struct lpo_trace *t, const struct source *s, const char *row)
{
    if (s->row_bytes == sizeof(struct lpo_range) && s->at == sources[RANGES].at)
        return lpo_host_range_end(t, (const struct lpo_range *)(const void *)row);
    return time_of(row, s->end);
}

static struct lpo_slice slice_of(const struct lpo_trace *t, const struct source *s, uint32_t row)
{
    const char *at = row_of(t, s, row);
    uint32_t there = row;

    s = array_of(t, s, &there);
    return (struct lpo_slice){ .start_ns = time_of(at, s->start),
                               .end_ns = end_of(t, s, at),
                               .name = s->name == NO_NAME ? LPO_NONE : number_of(at, s->name),
                               .thread = number_of(at, s->thread),
                               .row = row,
                               .kind = s->kind };
}

/* --- where processes end -------------------------------------------------------------------- */

static void see(int64_t *ends, uint16_t process, int64_t ns)
{
    if (ns > ends[process])
        ends[process] = ns;
}

static int64_t *make_ends(const struct lpo_trace *t)
{
    int64_t *ends = lpo_xcalloc(t->processes.len + 1, sizeof *ends);

    for (size_t i = 0; i < t->processes.len; i++)
        ends[i] = t->processes.at[i].end_ns;
    for (size_t i = 0; i < t->launches.len; i++)
        see(ends, t->threads.at[t->launches.at[i].thread].process, t->launches.at[i].end_ns);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED))
            see(ends, t->gpu_ops.at[i].process, t->gpu_ops.at[i].end_ns);
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        see(ends, t->threads.at[r->thread].process,
            r->flags & LPO_RANGE_OPEN ? r->start_ns : r->end_ns);
    }
    return ends;
}

int64_t lpo_host_process_end(const struct lpo_trace *t, uint16_t process)
{
    struct lpo_host *h = host_of(t);

    MADE_ONCE(h, h->ends, make_ends(t));
    return h->ends[process];
}

int64_t lpo_host_range_end(const struct lpo_trace *t, const struct lpo_range *r)
{
    return r->flags & LPO_RANGE_OPEN ? lpo_host_process_end(t, t->threads.at[r->thread].process)
                                     : r->end_ns;
}

/* --- orders --------------------------------------------------------------------------------- */

struct ordering {
    const struct lpo_trace *t;
    const struct source *s;
};

static bool comes_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct ordering *o = ctx;
    const char *x = row_of(o->t, o->s, a), *y = row_of(o->t, o->s, b);
    int64_t from = time_of(x, o->s->start), other = time_of(y, o->s->start);

    if (from != other)
        return from < other;
    return end_of(o->t, o->s, x) > end_of(o->t, o->s, y);
}

static bool *find_modules(const struct lpo_trace *t)
{
    size_t names = lpo_trace_name_count(t);
    bool *is_module = lpo_xcalloc(names + 1, sizeof *is_module);

    for (uint32_t i = 0; i < names; i++)
        is_module[i] = lpo_str_starts(lpo_trace_text(t, i), LPO_MODULE_PREFIX);
    return is_module;
}

/* The thread of a row of this kind; LPO_NONE: it is of another, or has no thread. */
static uint32_t thread_of(const struct lpo_trace *t, const struct source *s, uint32_t row)
{
    if (s->at == sources[RANGES].at &&
        (t->ranges.at[row].kind == LPO_START_END) != (s->kind == LPO_HOST_START_END))
        return LPO_NONE;
    if (s->at == sources[MODULES].at &&
        t->host->is_module[t->python.at[row].name] != (s->kind == LPO_HOST_MODULE))
        return LPO_NONE;
    if (s->kind == LPO_HOST_CALL)
        return lpo_trace_call(t, row).name ? lpo_trace_call(t, row).thread : LPO_NONE;
    return number_of(row_of(t, s, row), s->thread);
}

/* Counting sort by thread, then each thread by time. */
static uint32_t *make_order(const struct lpo_trace *t, const struct source *s, size_t *first)
{
    size_t count = count_of(t, s), threads = t->threads.len;
    struct ordering how = { t, s };
    uint32_t *rows;

    if (s->at == sources[MODULES].at)
        MADE_ONCE(t->host, t->host->is_module, find_modules(t));
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = thread_of(t, s, (uint32_t)i);

        if (thread != LPO_NONE)
            first[thread + 2]++;
    }
    for (size_t i = 1; i <= threads; i++)
        first[i + 1] += first[i];
    rows = lpo_xmalloc((first[threads + 1] + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = thread_of(t, s, (uint32_t)i);

        if (thread != LPO_NONE)
            rows[first[thread + 1]++] = (uint32_t)i;
    }
    for (size_t i = 0; s->kind != LPO_HOST_PATH && i < threads; i++)
        lpo_order_sort(rows + first[i], first[i + 1] - first[i], comes_before, &how);
    return rows;
}

static const struct order *order_of(const struct lpo_trace *t, size_t source)
{
    struct lpo_host *h = host_of(t);
    struct order *o = &h->of[source];

    MADE_ONCE(h, o->first, lpo_xcalloc(t->threads.len + 2, sizeof *o->first));
    MADE_ONCE(h, o->rows, make_order(t, &sources[source], o->first));
    return o;
}

static struct lpo_host_rows rows_of(const struct lpo_trace *t, uint32_t thread, size_t source)
{
    const struct order *o = order_of(t, source);

    return (struct lpo_host_rows){ o->rows + o->first[thread],
                                   o->first[thread + 1] - o->first[thread] };
}

struct lpo_host_rows lpo_host_rows(const struct lpo_trace *t, uint32_t thread,
                                   enum lpo_host_kind kind)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (sources[i].kind & kind)
            return rows_of(t, thread, i);
    return (struct lpo_host_rows){ NULL, 0 };
}

struct lpo_slice lpo_host_slice(const struct lpo_trace *t, enum lpo_host_kind kind, uint32_t row)
{
    size_t i = 0;

    while (!(sources[i].kind & kind))
        i++;
    return slice_of(t, &sources[i], row);
}

/* --- what lies in what ---------------------------------------------------------------------- */

/* Slices that may contain one that is still to come, outermost first: ends fall. One that began
 * earlier and ends earlier than another is not among them, since what it contains lies in the other
 * one too, which started later. */
struct stack {
    LPO_VEC(struct open_slice {
        int64_t end_ns;
        uint32_t row;
    })
    open;
};

static uint32_t innermost(const struct stack *s, int64_t end_ns)
{
    size_t i = s->open.len;

    while (i && s->open.at[i - 1].end_ns < end_ns)
        i--;
    return i ? s->open.at[i - 1].row : LPO_NONE;
}

/* Returns the row that it lies in. */
static uint32_t enter(struct stack *s, uint32_t row, int64_t end_ns)
{
    uint32_t parent;

    while (s->open.len && s->open.at[s->open.len - 1].end_ns < end_ns)
        s->open.len--;
    parent = s->open.len ? s->open.at[s->open.len - 1].row : LPO_NONE;
    if (s->open.len < LPO_HOST_DEPTH)
        lpo_vec_push(&s->open, (struct open_slice){ end_ns, row });
    return parent;
}

/* Is there any? */
static bool add_parents(const struct lpo_trace *t, size_t source, uint32_t *parent)
{
    const struct source *s = &sources[source];
    const struct order *o = order_of(t, source);
    struct stack stack = { 0 };
    bool any = false;

    for (size_t i = 0; i < t->threads.len; i++) {
        stack.open.len = 0;
        for (size_t k = o->first[i]; k < o->first[i + 1]; k++)
            any |= (parent[o->rows[k]] = enter(&stack, o->rows[k],
                                               end_of(t, s, row_of(t, s, o->rows[k])))) != LPO_NONE;
    }
    lpo_vec_free(&stack.open);
    return any;
}

/* Kinds that share an array share this one: a row is of one of them. */
static uint32_t *find_parents(const struct lpo_trace *t, size_t first)
{
    uint32_t *parent = lpo_xmalloc((count_of(t, &sources[first]) + 1) * sizeof *parent);
    bool any = false;

    for (size_t i = first; i < SLICES && sources[i].at == sources[first].at; i++)
        any |= add_parents(t, i, parent);
    if (any)
        return parent;
    free(parent);
    return flat;
}

static uint32_t parent_of(const struct lpo_trace *t, size_t source, uint32_t row)
{
    struct lpo_host *h = host_of(t);
    size_t first = source;

    while (first && sources[first - 1].at == sources[source].at)
        first--;
    MADE_ONCE(h, h->of[first].parent, find_parents(t, first));
    return h->of[first].parent == flat ? LPO_NONE : h->of[first].parent[row];
}

/* Joins the launches of a thread with the slices of one kind: both in order. */
static void join_thread(const struct lpo_trace *t, const struct source *s,
                        struct lpo_host_rows slices, struct lpo_host_rows launches,
                        struct stack *stack, uint32_t *out)
{
    size_t next = 0;

    stack->open.len = 0;
    for (size_t i = 0; i < launches.len; i++) {
        const struct lpo_launch *l = &t->launches.at[launches.at[i]];

        for (; next < slices.len; next++) {
            const char *row = row_of(t, s, slices.at[next]);

            if (time_of(row, s->start) > l->start_ns)
                break;
            enter(stack, slices.at[next], end_of(t, s, row));
        }
        while (stack->open.len && stack->open.at[stack->open.len - 1].end_ns < l->start_ns)
            stack->open.len--;
        out[launches.at[i]] = innermost(stack, l->end_ns);
    }
}

static uint32_t *join_launches(const struct lpo_trace *t, size_t source)
{
    uint32_t *launch = lpo_xmalloc((t->launches.len + 1) * sizeof *launch);
    struct stack stack = { 0 };

    /* of a launch whose thread is not known nothing is known to be around it */
    for (size_t i = 0; i < t->launches.len; i++)
        launch[i] = LPO_NONE;
    for (uint32_t i = 0; i < t->threads.len; i++)
        join_thread(t, &sources[source], rows_of(t, i, source), rows_of(t, i, LAUNCHES), &stack,
                    launch);
    lpo_vec_free(&stack.open);
    return launch;
}

/* Per launch the innermost row that contains it. */
static const uint32_t *launches_in(const struct lpo_trace *t, size_t source)
{
    struct lpo_host *h = host_of(t);

    MADE_ONCE(h, h->of[source].launch, join_launches(t, source));
    return h->of[source].launch;
}

/* --- questions ------------------------------------------------------------------------------ */

/* A stretch that is to lie in a slice. */
struct wanted {
    int64_t start_ns, end_ns;
    bool moment;   /* a slice that ends there does not contain it */
    size_t source; /* of the slice that it is; SOURCES: it is none */
};

/* Does this slice, which started no later, contain it? */
static bool contains(const struct wanted *w, size_t source, const struct lpo_slice *s)
{
    if (s->end_ns < w->end_ns || (w->moment && s->end_ns == w->end_ns))
        return false;
    return source < w->source || s->start_ns != w->start_ns || s->end_ns != w->end_ns;
}

/* From a row outwards. */
static bool climb(const struct lpo_trace *t, size_t source, uint32_t row, const struct wanted *w,
                  struct lpo_slice *out)
{
    for (; row != LPO_NONE; row = parent_of(t, source, row)) {
        *out = slice_of(t, &sources[source], row);
        if (contains(w, source, out))
            return true;
    }
    return false;
}

static bool find(const struct lpo_trace *t, size_t source, uint32_t thread, const struct wanted *w,
                 struct lpo_slice *out)
{
    const struct source *s = &sources[source];
    struct lpo_host_rows rows = rows_of(t, thread, source);
    size_t low = 0, high = rows.len;

    lpo_search(low, high, i, time_of(row_of(t, s, rows.at[i]), s->start) <= w->start_ns);
    return low && climb(t, source, rows.at[low - 1], w, out);
}

/* `b` is of a source further down. */
static bool is_inner(const struct lpo_slice *b, const struct lpo_slice *a)
{
    return b->start_ns != a->start_ns ? b->start_ns > a->start_ns : b->end_ns <= a->end_ns;
}

static bool find_innermost(const struct lpo_trace *t, uint32_t thread, unsigned kinds,
                           const struct wanted *w, struct lpo_slice *out)
{
    bool found = false;

    for (size_t i = 0; i < SLICES && thread != LPO_NONE; i++) {
        struct lpo_slice s;

        if (sources[i].kind & kinds && find(t, i, thread, w, &s) && (!found || is_inner(&s, out))) {
            *out = s;
            found = true;
        }
    }
    return found;
}

bool lpo_host_at(const struct lpo_trace *t, uint32_t thread, int64_t ns, unsigned kinds,
                 struct lpo_slice *out)
{
    return find_innermost(t, thread, kinds, &(struct wanted){ ns, ns, true, SOURCES }, out);
}

bool lpo_host_holding(const struct lpo_trace *t, uint32_t thread, int64_t start_ns, int64_t end_ns,
                      unsigned kinds, struct lpo_slice *out)
{
    return find_innermost(t, thread, kinds, &(struct wanted){ start_ns, end_ns, false, SOURCES },
                          out);
}

bool lpo_host_around(const struct lpo_trace *t, uint32_t launch, unsigned kinds,
                     struct lpo_slice *out)
{
    const struct lpo_launch *l;
    struct wanted w = { .source = SOURCES };
    bool found = false;

    if (launch == LPO_NONE)
        return false;
    l = &t->launches.at[launch];
    w.start_ns = l->start_ns;
    w.end_ns = l->end_ns;
    for (size_t i = 0; i < SLICES; i++) {
        struct lpo_slice s;

        if (sources[i].kind & kinds && count_of(t, &sources[i]) &&
            climb(t, i, launches_in(t, i)[launch], &w, &s) && (!found || is_inner(&s, out))) {
            *out = s;
            found = true;
        }
    }
    return found;
}

bool lpo_host_parent(const struct lpo_trace *t, const struct lpo_slice *s, unsigned kinds,
                     struct lpo_slice *out)
{
    struct wanted w = { s->start_ns, s->end_ns, false, 0 };
    bool found = false;

    while (w.source < SOURCES && !(sources[w.source].kind & s->kind))
        w.source++;
    for (size_t i = 0; i < SLICES; i++) {
        struct lpo_slice p;
        bool any;

        if (!(sources[i].kind & kinds))
            continue;
        if (i == w.source) /* of equals the first is the outer one: its parent says which */
            any = climb(t, i, parent_of(t, i, s->row),
                        &(struct wanted){ s->start_ns, s->end_ns, false, SOURCES }, &p);
        else
            any = find(t, i, s->thread, &w, &p);
        if (any && (!found || is_inner(&p, out))) {
            *out = p;
            found = true;
        }
    }
    return found;
}

size_t lpo_host_open(const struct lpo_trace *t, uint32_t thread, int64_t ns, unsigned kinds,
                     struct lpo_slice *out, size_t room)
{
    const struct wanted w = { ns, ns, true, SOURCES };
    struct lpo_slice next[SLICES];
    bool has[SLICES] = { false };
    size_t count = 0;

    for (size_t i = 0; i < SLICES && thread != LPO_NONE; i++)
        has[i] = sources[i].kind & kinds && find(t, i, thread, &w, &next[i]);
    while (count < room) {
        size_t best = SLICES;

        for (size_t i = 0; i < SLICES; i++)
            if (has[i] && (best == SLICES || is_inner(&next[i], &next[best])))
                best = i;
        if (best == SLICES)
            break;
        out[count++] = next[best];
        has[best] = climb(t, best, parent_of(t, best, next[best].row), &w, &next[best]);
    }
    for (size_t a = 0, b = count; a + 1 < b; a++) {
        struct lpo_slice outer = out[--b];

        out[b] = out[a];
        out[a] = outer;
    }
    return count;
}

/* --- the walk ------------------------------------------------------------------------------- */

struct lpo_host_walk lpo_host_walk(const struct lpo_trace *t, uint32_t thread, unsigned kinds)
{
    struct lpo_host_walk w = { .t = t };

    for (size_t i = 0; i < SOURCES; i++) {
        struct lpo_host_rows rows;

        if (!(sources[i].kind & kinds))
            continue;
        rows = rows_of(t, thread, i);
        if (!rows.len)
            continue;
        w.cursors[w.count++] =
            (struct lpo_host_cursor){ .at = rows.at,
                                      .end = rows.at + rows.len,
                                      .source = i,
                                      .head = slice_of(t, &sources[i], *rows.at) };
    }
    return w;
}

bool lpo_host_next(struct lpo_host_walk *w, struct lpo_slice *out)
{
    struct lpo_host_cursor *first = NULL;

    for (size_t i = 0; i < w->count; i++) {
        struct lpo_host_cursor *c = &w->cursors[i];

        if (c->at < c->end && (!first || !is_inner(&c->head, &first->head)))
            first = c;
    }
    if (!first)
        return false;
    *out = first->head;
    if (++first->at < first->end)
        first->head = slice_of(w->t, &sources[first->source], *first->at);
    return true;
}
