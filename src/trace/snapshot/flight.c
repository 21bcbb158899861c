/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's flight recorder of one rank wrote out: a pickle, or JSON of the same. */
#include <ctype.h>

#include "trace/reader.h"
#include "trace/snapshot/private.h"
#include "trace/trace.h"
#include "util/path.h"

enum { MOST_GROUPS = 65536, MOST_RANK = 1 << 24, MOST_SIZES = 256 /* characters */, DIGITS = 9 };

struct flight {
    struct snapshot s;
    uint32_t first_group; /* of this file */
    int32_t rank;
    uint16_t process;
    struct lpo_map_u64 *handles; /* pg_id to row of flight_groups */
};

/* In JSON every number may be a text. */
static int64_t number_at(const struct lpo_pickle_value *dict, const char *key, int64_t otherwise)
{
    const struct lpo_pickle_value *text = lpo_snapshot_pickle_text(dict, key);
    char *end;
    long long n;

    if (!text || !text->len || text->len > 20)
        return lpo_snapshot_pickle_int(dict, key, otherwise);
    n = strtoll(text->text, &end, 10);
    return *end ? otherwise : n;
}

/* Such as PyTorch writes: a moment since 1970. */
static int64_t moment_at(const struct lpo_pickle_value *dict, const char *key)
{
    int64_t ns = number_at(dict, key, 0);

    return ns > 0 && ns < INT64_MAX / 4 ? ns : LPO_NO_TIME;
}

static uint32_t name_at(const struct flight *f, const struct lpo_pickle_value *dict,
                        const char *key)
{
    const struct lpo_pickle_value *v = lpo_snapshot_pickle_text(dict, key);

    return v && v->len ? lpo_trace_namen(f->s.t, v->text, v->len) : LPO_NONE;
}

/* --- groups of ranks ------------------------------------------------------------------------- */

static uint32_t group_of(struct flight *f, uint32_t name)
{
    struct lpo_trace *t = f->s.t;

    for (uint32_t i = f->first_group; i < t->flight_groups.len; i++)
        if (t->flight_groups.at[i].name == name)
            return i;
    if (t->flight_groups.len - f->first_group == MOST_GROUPS) {
        f->s.damaged++;
        return (uint32_t)t->flight_groups.len - 1;
    }
    lpo_vec_push(&t->flight_groups, (struct lpo_flight_group){ .name = name,
                                                               .desc = LPO_NONE,
                                                               .members = LPO_NONE,
                                                               .rank = f->rank,
                                                               .process = f->process,
                                                               .enqueued = -1,
                                                               .started = -1,
                                                               .completed = -1 });
    return (uint32_t)t->flight_groups.len - 1;
}

/* The size of "[0, 1, 2]". */
static uint32_t count_members(const struct lpo_pickle_value *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->len; i++)
        n += isdigit((unsigned char)list->text[i]) &&
             (i + 1 == list->len || !isdigit((unsigned char)list->text[i + 1]));
    return n;
}

/* Members of a dict, a pair at a time. */
#define EACH_MEMBER(key, value, dict)                                                              \
    for (const struct lpo_pickle_part *part =                                                      \
             (dict) && (dict)->kind == LPO_PICKLE_DICT ? (dict)->box->first : NULL;                \
         part; part = part->next)                                                                  \
        for (const struct lpo_pickle_value *key = part->at, *value = part->at + 1;                 \
             key + 1 < part->at + part->count && lpo_snapshot_step(&f->s); key += 2, value += 2)

/* Every rank is in the largest of its groups; the others are parts of the job. */
static void read_groups(struct flight *f, const struct lpo_pickle_value *config)
{
    struct lpo_trace *t = f->s.t;
    uint32_t most = 0, members;

    EACH_MEMBER(key, group, config)
    {
        const struct lpo_pickle_value *ranks = lpo_snapshot_pickle_text(group, "ranks");
        uint32_t row;

        if (key->kind != LPO_PICKLE_TEXT)
            continue;
        row = group_of(f, lpo_trace_namen(t, key->text, key->len));
        t->flight_groups.at[row].desc = name_at(f, group, "desc");
        t->flight_groups.at[row].members = name_at(f, group, "ranks");
        members = ranks ? count_members(ranks) : 0;
        most = members > most ? members : most;
    }
    if (most)
        lpo_trace_say_ranks(t, most);
}

/* By the handle of the group, which its calls name. */
static void read_status(struct flight *f, const struct lpo_pickle_value *status)
{
    struct lpo_trace *t = f->s.t;

    EACH_MEMBER(key, of, status)
    {
        const uint32_t *row = NULL;
        struct lpo_flight_group *g;

        if (key->kind == LPO_PICKLE_TEXT && key->len <= DIGITS)
            row = lpo_map_u64_find(f->handles, (uint64_t)strtoll(key->text, NULL, 10));
        else if (key->kind == LPO_PICKLE_INT)
            row = lpo_map_u64_find(f->handles, (uint64_t)key->integer);
        if (!row && t->flight_groups.len - f->first_group != 1)
            continue; /* nothing says which group that is */
        g = &t->flight_groups.at[row ? *row : f->first_group];
        g->enqueued = number_at(of, "last_enqueued_collective", -1);
        g->started = number_at(of, "last_started_collective", -1);
        g->completed = number_at(of, "last_completed_collective", -1);
    }
}

/* --- calls ----------------------------------------------------------------------------------- */

static void add_list(struct flight *f, const struct lpo_pickle_value *v, unsigned depth,
                     struct lpo_str *out)
{
    const struct lpo_pickle_value *item;
    struct lpo_pickle_walk w = { 0 };
    bool first = true;

    if (v->kind == LPO_PICKLE_INT) {
        lpo_str_add_int(out, v->integer);
    } else if (v->kind == LPO_PICKLE_TEXT) {
        lpo_str_addn(out, v->text, v->len);
    } else if ((v->kind == LPO_PICKLE_LIST || v->kind == LPO_PICKLE_TUPLE) && depth < 3) {
        lpo_str_addc(out, '[');
        while (out->len < MOST_SIZES && lpo_snapshot_step(&f->s) &&
               (item = lpo_snapshot_pickle_next(v, &w))) {
            lpo_str_add(out, first ? "" : ",");
            first = false;
            add_list(f, item, depth + 1, out);
        }
        lpo_str_add(out, out->len < MOST_SIZES ? "]" : "…");
    }
}

static uint32_t list_at(struct flight *f, const struct lpo_pickle_value *entry, const char *key)
{
    const struct lpo_pickle_value *list = lpo_snapshot_pickle_get(entry, key);
    LPO_STR text = { 0 };

    if (list)
        add_list(f, list, 0, &text);
    return text.len ? lpo_trace_namen(f->s.t, lpo_str_text(&text), text.len) : LPO_NONE;
}

/* "nccl:all_reduce" is an all_reduce. */
static uint32_t call_name(const struct flight *f, const struct lpo_pickle_value *entry)
{
    const struct lpo_pickle_value *v = lpo_snapshot_pickle_text(entry, "profiling_name");
    const char *colon = v ? memchr(v->text, ':', v->len) : NULL;

    if (!v)
        return lpo_trace_name(f->s.t, "collective");
    return colon ? lpo_trace_namen(f->s.t, colon + 1, v->len - (size_t)(colon + 1 - v->text))
                 : lpo_trace_namen(f->s.t, v->text, v->len);
}

/* "process_group" is its name and what it is for; before that, "pg_id" alone. */
static uint32_t call_group(struct flight *f, const struct lpo_pickle_value *entry)
{
    const struct lpo_pickle_value *pair = lpo_snapshot_pickle_get(entry, "process_group"), *name;
    struct lpo_pickle_walk w = { 0 };
    int64_t handle = number_at(entry, "pg_id", -1);
    char digits[24];
    uint32_t row, *kept;
    bool fresh;

    name = lpo_snapshot_pickle_next(pair, &w);
    snprintf(digits, sizeof digits, "%lld", (long long)handle);
    row = group_of(f, name && name->kind == LPO_PICKLE_TEXT
                          ? lpo_trace_namen(f->s.t, name->text, name->len)
                          : lpo_trace_name(f->s.t, digits));
    name = lpo_snapshot_pickle_next(pair, &w);
    if (name && name->kind == LPO_PICKLE_TEXT && name->len)
        f->s.t->flight_groups.at[row].desc = lpo_trace_namen(f->s.t, name->text, name->len);
    kept = lpo_map_u64_put(f->handles, (uint64_t)handle, &fresh);
    *kept = row;
    return row;
}

static enum lpo_flight_state call_state(const struct lpo_pickle_value *entry)
{
    const struct lpo_pickle_value *state = lpo_snapshot_pickle_text(entry, "state");

    return lpo_snapshot_pickle_is(state, "completed") ? LPO_FLIGHT_COMPLETED
           : lpo_snapshot_pickle_is(state, "started") ? LPO_FLIGHT_STARTED
                                                      : LPO_FLIGHT_SCHEDULED;
}

static void add_call(struct flight *f, const struct lpo_pickle_value *entry)
{
    const struct lpo_pickle_value *p2p = lpo_snapshot_pickle_get(entry, "is_p2p");
    uint32_t owner = lpo_snapshot_owner(&f->s, lpo_snapshot_pickle_get(entry, "frames"));
    struct lpo_flight_call c = {
        .created_ns = moment_at(entry, "time_created_ns"),
        .started_ns = moment_at(entry, "time_discovered_started_ns"),
        .ended_ns = moment_at(entry, "time_discovered_completed_ns"),
        .group = call_group(f, entry),
        .name = call_name(f, entry),
        .sizes = list_at(f, entry, "input_sizes"),
        .types = list_at(f, entry, "input_dtypes"),
        .place = owner == LPO_NONE ? LPO_NONE : f->s.t->memory_owners.at[owner].place,
        .state = (uint8_t)call_state(entry),
        .p2p = p2p && p2p->kind == LPO_PICKLE_BOOL && p2p->integer,
    };

    c.number = number_at(entry, c.p2p ? "p2p_seq_id" : "collective_seq_id",
                         number_at(entry, "seq_id", -1));
    lpo_vec_push(&f->s.t->flight_calls, c);
}

/* --- the file -------------------------------------------------------------------------------- */

/* The digits at the end: PyTorch appends the rank to a prefix. */
static int32_t rank_of_path(const char *path)
{
    const char *base = lpo_path_base(path), *dot = strchr(base, '.');
    const char *end = dot ? dot : base + strlen(base), *at = end;
    long n;

    while (at > base && isdigit((unsigned char)at[-1]) && end - at < DIGITS)
        at--;
    n = at < end ? strtol(at, NULL, 10) : -1;
    return n < MOST_RANK ? (int32_t)n : -1;
}

static void fill_flight(struct flight *f, const struct lpo_pickle_value *root, const char *path)
{
    struct lpo_trace *t = f->s.t;
    const struct lpo_pickle_value *entries = lpo_snapshot_pickle_get(root, "entries"), *entry;
    struct lpo_pickle_walk w = { 0 };

    f->rank = t->file_rank ? (int32_t)t->file_rank - 1
                           : (int32_t)number_at(root, "rank", rank_of_path(path));
    f->process = lpo_trace_process(t, -1 - (int64_t)t->sources, f->rank);
    f->first_group = (uint32_t)t->flight_groups.len;
    if (t->epoch_ns == LPO_NO_TIME && t->sources <= 1)
        t->epoch_ns = 0; /* times are those of the day */
    read_groups(f, lpo_snapshot_pickle_get(root, "pg_config"));
    while (lpo_snapshot_step(&f->s) && (entry = lpo_snapshot_pickle_next(entries, &w)))
        add_call(f, entry);
    read_status(f, lpo_snapshot_pickle_get(root, "pg_status"));
    if (f->s.damaged)
        lpo_trace_note(t, f->s.damaged, "groups beyond the first %d were left out", MOST_GROUPS);
}

static int read_flight(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_pickle p = { 0 };
    struct flight f = { .s = { .t = into } };

    if (lpo_snapshot_plain_read(a, path, &p, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    if (!lpo_snapshot_pickle_get(&p.root, "entries") &&
        !lpo_snapshot_pickle_get(&p.root, "pg_status"))
        return lpo_fail(err, LPO_E_FORMAT, "there are neither 'entries' nor 'pg_status' in it");
    f.s.most_steps = lpo_snapshot_most_steps(&p);
    f.s.owners = lpo_map_u64_create(0);
    f.handles = lpo_map_u64_create(0);
    fill_flight(&f, &p.root, path);
    lpo_map_u64_destroy(f.s.owners);
    lpo_map_u64_destroy(f.handles);
    return 0;
}

static bool sniff_flight(const char *path, const unsigned char *head, size_t len)
{
    static const char *const words[] = { "pg_config", "pg_status", "collective_seq_id",
                                         "p2p_seq_id" };
    /* the profiler's traces have pg_config, too, in their distributedInfo */
    static const char *const traces[] = { "\"distributedInfo\"", "\"schemaVersion\"",
                                          "\"traceEvents\"" };

    (void)path;
    if (!lpo_snapshot_is_plain(head, len))
        return false;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++)
        if (memmem(head, len, traces[i], strlen(traces[i])))
            return false;
    return lpo_any(i, sizeof words / sizeof *words, memmem(head, len, words[i], strlen(words[i])));
}

const struct lpo_reader lpo_flight_reader = {
    .name = "flight",
    .summary = "dump of NCCL's flight recorder (PyTorch: a pickle, or JSON)",
    .sniff = sniff_flight,
    .read = read_flight,
};
