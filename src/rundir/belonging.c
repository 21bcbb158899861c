/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/belonging.h"

#include <ctype.h>
#include <strings.h>

#include "run/folder.h"
#include "rundir/private.h"
#include "trace/reader.h"
#include "util/input.h"
#include "util/path.h"

/* --- the rank that a name says -------------------------------------------------------------------
 */

enum { MOST_RANK = 1000000 };

/* A word before a number. `alone`: nothing but the number may follow, "r3" and not "r3x". The first
 * row that fits a part of the path counts. */
static const struct word {
    const char *text;
    bool alone;
} rank_words[] = {
    { "rank", false },
    { "r", true },
    { "tp", true },
};

static bool is_break(char c)
{
    return !isalnum((unsigned char)c);
}

/* The number after the word that begins at `at`; -1: none. */
static int32_t number_after(const char *at, const struct word *w, const char *end)
{
    const char *p = at + strlen(w->text);
    int32_t n = 0;

    if (p < end && strchr("_-=.", *p))
        p++;
    if (p == end || !isdigit((unsigned char)*p))
        return -1;
    for (; p < end && isdigit((unsigned char)*p) && n <= MOST_RANK; p++)
        n = n * 10 + (*p - '0');
    return n > MOST_RANK || (w->alone && p < end && !is_break(*p)) ? -1 : n;
}

static int32_t rank_in(const char *from, const char *end)
{
    for (size_t i = 0; i < sizeof rank_words / sizeof *rank_words; i++) {
        size_t len = strlen(rank_words[i].text);

        for (const char *p = from; p + len < end; p++) {
            int32_t n;

            if ((p > from && isalpha((unsigned char)p[-1])) ||
                strncasecmp(p, rank_words[i].text, len) != 0)
                continue;
            n = number_after(p, &rank_words[i], end);
            if (n >= 0)
                return n;
        }
    }
    return -1;
}

int32_t lpo_rundir_rank_of_name(const char *path)
{
    const char *base = strrchr(path, '/');
    const char *folder = base;
    int32_t rank = rank_in(base ? base + 1 : path, path + strlen(path));

    while (folder && folder > path && folder[-1] != '/')
        folder--;
    return rank >= 0 || !base ? rank : rank_in(folder, base);
}

/* --- what belongs together -----------------------------------------------------------------------
 */

enum {
    HEAD = 64 * 1024, /* of a file: what stands before the first events */
    NUMBERS = 32,     /* of a name that are looked at */
    MOST_DIGITS = 18,
    SHORT_TIME_S = 3600,
    DAY_S = 86400,
};

enum part { FIXED, RANK, MOMENT }; /* what a number of a name is */

struct name {
    const char *key; /* without its ending, a '#' for each number */
    int64_t numbers[NUMBERS];
    size_t count;
};

struct file {
    const char *path, *relative;
    const struct lpo_reader *reader;
    struct name name;
    enum part parts[NUMBERS];
    int64_t rank, world, time_s; /* that the file itself says; -1: it does not */
    size_t group;
};

struct work {
    struct lpo_arena *a;
    LPO_VEC(struct file) files;
    size_t groups;
};

/* --- what a name says ------------------------------------------------------------------------ */

static const char *const endings[] = {
    ".gz",    ".zst",    ".json",   ".trace", ".pt", ".nsys-rep",
    ".qdrep", ".sqlite", ".pickle", ".pkl",   ".pb", ".xplane",
};

static size_t stem_length(const char *path)
{
    size_t len = strlen(path);
    bool cut = true;

    while (cut) {
        cut = false;
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            size_t n = strlen(endings[i]);

            if (len > n && strncasecmp(path + len - n, endings[i], n) == 0) {
                len -= n;
                cut = true;
            }
        }
    }
    return len;
}

static struct name name_of(struct lpo_arena *a, const char *relative)
{
    const char *at = relative, *end = relative + stem_length(relative);
    struct name n = { .count = 0 };
    LPO_STR key = { 0 };

    while (at < end) {
        size_t digits = strspn(at, "0123456789");

        digits = digits > (size_t)(end - at) ? (size_t)(end - at) : digits;
        if (!digits || digits > MOST_DIGITS || n.count == NUMBERS) {
            lpo_str_addc(&key, *at++);
            continue;
        }
        n.numbers[n.count++] = strtoll(at, NULL, 10);
        lpo_str_addc(&key, '#');
        at += digits;
    }
    n.key = lpo_arena_strdup(a, lpo_str_text(&key));
    return n;
}

/* Where the `i`th number stands in the key. */
static size_t find_hole(const struct name *n, size_t i)
{
    const char *hole = n->key;

    while (*hole != '#' || i--)
        hole++;
    return (size_t)(hole - n->key);
}

/* Is the word in front of the `i`th number one of these? */
static bool follows(const struct name *n, size_t i, const char *const *words, size_t count)
{
    size_t from, to = find_hole(n, i);

    while (to && strchr("_-=.", n->key[to - 1]))
        to--;
    for (from = to; from && isalpha((unsigned char)n->key[from - 1]);)
        from--;
    return lpo_any(w, count,
                   strlen(words[w]) == to - from &&
                       strncasecmp(n->key + from, words[w], to - from) == 0);
}

/* Moments and ids of processes: large, or the fraction of one that is. */
static bool is_moment(const struct name *n, size_t i)
{
    static const int64_t large = 100000;
    size_t hole = find_hole(n, i);

    return n->numbers[i] >= large || (i > 0 && n->numbers[i - 1] >= large && hole > 1 &&
                                      n->key[hole - 1] == '.' && n->key[hole - 2] == '#');
}

/* Numbers that no two names have in common: ids of processes, too, unless they are small. */
static bool is_id(const struct work *w, const struct file *f, size_t i)
{
    static const int64_t small = 100;
    size_t same = 0;
    bool none_small = true;

    for (size_t k = 0; k < w->files.len; k++) {
        const struct name *n = &w->files.at[k].name;

        if (strcmp(n->key, f->name.key) != 0)
            continue;
        same += n->numbers[i] == f->name.numbers[i];
        none_small &= n->numbers[i] >= small;
    }
    return same == 1 && none_small;
}

/* A word says that a number is a rank; so do the numbers 0 to n - 1, unless a word says that they
 * count something else. */
static enum part part_of(const struct work *w, const struct file *f, size_t i)
{
    static const char *const ranks[] = { "rank", "r",   "tp",   "dp",   "pp",    "ep",  "cp", "sp",
                                         "mp",   "gpu", "node", "host", "local", "dcp", "pcp" };
    static const char *const others[] = { "step",  "iter",    "iteration", "epoch", "run",
                                          "stage", "phase",   "batch",     "bs",    "mbs",
                                          "gbs",   "isl",     "osl",       "ctx",   "tokens",
                                          "layer", "layers",  "size",      "seq",   "version",
                                          "v",     "workers", "job" };
    size_t count = 0, seen = 0;
    bool *is_there, fits;

    if (follows(&f->name, i, ranks, sizeof ranks / sizeof *ranks))
        return RANK;
    if (follows(&f->name, i, others, sizeof others / sizeof *others))
        return FIXED;
    if (is_moment(&f->name, i))
        return MOMENT;
    is_there = lpo_xcalloc(w->files.len + 1, sizeof *is_there);
    for (size_t k = 0; k < w->files.len; k++) {
        const struct name *n = &w->files.at[k].name;

        if (strcmp(n->key, f->name.key) != 0)
            continue;
        count++;
        if (n->numbers[i] < (int64_t)w->files.len && !is_there[n->numbers[i]]) {
            is_there[n->numbers[i]] = true;
            seen++;
        }
    }
    fits = seen > 1;
    for (size_t k = 0; k < seen; k++)
        fits &= is_there[k];
    free(is_there);
    if (fits && count % seen == 0)
        return RANK;
    return is_id(w, f, i) ? MOMENT : FIXED;
}

/* --- what the file says ---------------------------------------------------------------------- */

/* The number behind "key": in the first bytes; -1: there is none. */
static int64_t number_in(const char *head, const char *key)
{
    const char *at = strstr(head, key);

    at = at ? strchr(at + strlen(key), ':') : NULL;
    at = at ? at + 1 + strspn(at + 1, " \"") : NULL;
    return at && isdigit((unsigned char)*at) ? strtoll(at, NULL, 10) : -1;
}

static void look_inside(struct file *f)
{
    LPO_FREED char *head = lpo_xmalloc(HEAD + 1);
    size_t len = 0;
    int64_t base, us;

    f->rank = f->world = f->time_s = -1;
    if (strcmp(f->reader->name, "kineto") == 0 &&
        lpo_input_head(f->path, (unsigned char *)head, HEAD, &len, NULL) == 0) {
        head[len] = '\0';
        f->rank = number_in(head, "\"rank\"");
        f->world = number_in(head, "\"world_size\"");
        base = number_in(head, "\"baseTimeNanoseconds\"");
        us = number_in(head, "\"ts\"");
        if (us >= 0)
            f->time_s = (base > 0 ? base / 1000000000 : 0) + us / 1000000;
    }
}

/* --- groups ---------------------------------------------------------------------------------- */

/* Forms of one thing have one name here. */
static const char *format_of(const struct file *f)
{
    return f->reader->like ? f->reader->like : f->reader->name;
}

/* One file of it is a whole recording, and a second one is a rank of the same job or another. */
static bool stands_alone(const struct file *f)
{
    static const char *const formats[] = { "kineto", "nsys",     "rocprof",
                                           "xprof",  "snapshot", "ncu-rep" };

    for (size_t i = 0; f->reader && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(format_of(f), formats[i]) == 0)
            return true;
    return false;
}

/* The ranks of both; `same`: there is one in which they do not differ. */
static bool same_but_for_ranks(const struct file *a, const struct file *b, bool *same)
{
    *same = a->rank < 0 || b->rank < 0 || a->rank == b->rank;
    if (strcmp(a->name.key, b->name.key) != 0)
        return false;
    for (size_t i = 0; i < a->name.count; i++) {
        if (a->parts[i] == FIXED && a->name.numbers[i] != b->name.numbers[i])
            return false;
        if (a->parts[i] == RANK && a->name.numbers[i] != b->name.numbers[i])
            *same = false;
    }
    return true;
}

/* One kernel of several that `lpo kernels` or the older ncu-profile-kernels measured, each in a
 * folder kernel_0001_… of one capture. */
static bool is_capture(const struct file *f)
{
    const char *base = lpo_path_base(f->relative), *folder = base - (base > f->relative);

    while (folder > f->relative && folder[-1] != '/')
        folder--;
    return lpo_str_starts(base, "ncu.") && lpo_str_starts(folder, "kernel_") &&
           isdigit((unsigned char)folder[strlen("kernel_")]);
}

static bool belongs(const struct file *a, const struct file *b)
{
    bool known = a->time_s >= 0 && b->time_s >= 0, same;
    int64_t apart = known ? llabs(a->time_s - b->time_s) : 0;
    bool alike = same_but_for_ranks(a, b, &same);

    if (is_capture(a) && is_capture(b))
        return true;
    if (a->world > 0 && b->world > 0 && a->world != b->world)
        return false;
    if (apart > DAY_S || (same && strcmp(a->reader->name, b->reader->name) == 0))
        return false;
    if (alike)
        return true;
    return a->world > 1 && a->world == b->world && a->rank != b->rank && known &&
           apart < SHORT_TIME_S && strcmp(a->reader->name, b->reader->name) == 0;
}

/* The first group of which every file goes with this one. */
static size_t choose_group(const struct work *w, size_t file)
{
    for (size_t g = 0; g < w->groups; g++) {
        bool fits = true;

        for (size_t i = 0; i < file && fits; i++)
            fits = w->files.at[i].group != g || belongs(&w->files.at[i], &w->files.at[file]);
        if (fits)
            return g;
    }
    return w->groups;
}

/* Is this number of their names the same in all files of the group? */
static bool is_shared(const struct work *w, const struct file *first, size_t number)
{
    for (size_t i = 0; i < w->files.len; i++) {
        const struct file *f = &w->files.at[i];

        if (f->group == first->group &&
            (number >= f->name.count || f->name.numbers[number] != first->name.numbers[number]))
            return false;
    }
    return true;
}

static const char *group_name(const struct work *w, const struct file *first, size_t files)
{
    struct lpo_arena *a = w->a;
    LPO_STR s = { 0 };
    size_t n = 0;

    if (files == 1)
        return lpo_arena_strndup(a, first->relative, stem_length(first->relative));
    for (const char *at = first->name.key; *at; at++) {
        if (*at != '#')
            lpo_str_addc(&s, *at);
        else if (n++, first->parts[n - 1] == FIXED || is_shared(w, first, n - 1))
            lpo_str_add_int(&s, first->name.numbers[n - 1]);
        else
            lpo_str_addc(&s, '*');
    }
    return lpo_arena_strdup(a, lpo_str_text(&s));
}

LPO_COMPARE(by_name, struct lpo_rundir_group, LPO_TEXT(name));

/* Is there more than one group of files of one tool? Else they are one program under several tools,
 * whatever they are called. Each is compared with the first of its tool. */
static bool is_list(const struct work *w)
{
    for (size_t i = 0; i < w->files.len; i++)
        for (size_t k = 0; k < i && stands_alone(&w->files.at[i]); k++)
            if (stands_alone(&w->files.at[k]) &&
                strcmp(format_of(&w->files.at[i]), format_of(&w->files.at[k])) == 0) {
                if (w->files.at[i].group != w->files.at[k].group)
                    return true;
                break;
            }
    return false;
}

/* Files that say something about all groups go with each; the rest is a group of its own. */
static void make_groups(struct work *w, struct lpo_rundir_groups *out)
{
    struct lpo_rundir_group rest = { .name = "others" };

    for (size_t g = 0; g < w->groups; g++) {
        struct lpo_rundir_group group = { NULL };
        const struct file *first = NULL;

        for (size_t i = 0; i < w->files.len; i++) {
            const struct file *f = &w->files.at[i];

            if (f->group != g && (stands_alone(f) || !f->reader || !f->reader->first))
                continue;
            if (f->group == g)
                first = first ? first : f;
            lpo_vec_push(&group.files, f->path);
        }
        group.name = group_name(w, first, group.files.len);
        lpo_vec_push(&out->all, group);
    }
    for (size_t i = 0; i < w->files.len; i++)
        if (!stands_alone(&w->files.at[i]) &&
            (!w->groups || !w->files.at[i].reader || !w->files.at[i].reader->first))
            lpo_vec_push(&rest.files, w->files.at[i].path);
    if (rest.files.len && w->groups == 1)
        for (size_t i = 0; i < rest.files.len; i++)
            lpo_vec_push(&out->all.at[0].files, rest.files.at[i]);
    if (rest.files.len && w->groups != 1)
        lpo_vec_push(&out->all, rest);
    else
        lpo_vec_free(&rest.files);
    lpo_vec_sort(&out->all, by_name);
}

/* --- ranks by names -------------------------------------------------------------------------- */

/* Which of two numbers of ranks counts more: pipelines are outermost, tensors innermost. */
static size_t weight_of(const struct name *n, size_t i)
{
    static const char *const inner_first[] = { "tp", "cp", "ep", "dp", "pp" };

    for (size_t k = 0; k < sizeof inner_first / sizeof *inner_first; k++)
        if (follows(n, i, &inner_first[k], 1))
            return k;
    return sizeof inner_first / sizeof *inner_first;
}

static int compare_ranks(const struct file *a, const struct file *b)
{
    size_t heaviest = 0;
    int order = 0;

    for (size_t i = 0; i < a->name.count; i++) {
        size_t weight = 1 + weight_of(&a->name, i);

        if (a->parts[i] != RANK || a->name.numbers[i] == b->name.numbers[i] || weight <= heaviest)
            continue;
        heaviest = weight;
        order = a->name.numbers[i] < b->name.numbers[i] ? -1 : 1;
    }
    return order;
}

void lpo_rundir_name_ranks(struct lpo_arena *a, const char *const *names, size_t count,
                           int32_t *ranks)
{
    struct work w = { .a = a };
    bool usable = count > 1 && count < UINT16_MAX, same;

    for (size_t i = 0; i < count; i++) {
        ranks[i] = -1;
        lpo_vec_push(&w.files, (struct file){ .name = name_of(a, names[i]), .rank = -1 });
    }
    for (size_t i = 0; i < count && usable; i++)
        for (size_t k = 0; k < w.files.at[i].name.count; k++)
            w.files.at[i].parts[k] = part_of(&w, &w.files.at[i], k);
    for (size_t i = 1; i < count && usable; i++)
        usable = same_but_for_ranks(&w.files.at[0], &w.files.at[i], &same);
    for (size_t i = 0; i < count && usable; i++) {
        ranks[i] = 0;
        for (size_t k = 0; k < count && usable; k++) {
            int order = k == i ? -1 : compare_ranks(&w.files.at[i], &w.files.at[k]);

            ranks[i] += order > 0;
            usable = order != 0;
        }
    }
    for (size_t i = 0; i < count && !usable; i++)
        ranks[i] = -1;
    lpo_vec_free(&w.files);
}

int lpo_rundir_groups_find(struct lpo_arena *a, const char *dir, struct lpo_rundir_groups *out,
                           struct lpo_err *err)
{
    struct work w = { .a = a };
    struct lpo_paths all = { 0 };

    if (lpo_rundir_folder_files(a, dir, &all, err) < 0)
        return err ? err->code : LPO_E_IO;
    for (size_t i = 0; i < all.len; i++) {
        struct file f = { .path = lpo_path_join(a, dir, all.at[i]), .relative = all.at[i] };

        f.group = SIZE_MAX;
        if (lpo_rundir_is_second_form(f.path) || lpo_rundir_is_own_timeline(f.path))
            continue;
        if (!lpo_rundir_is_counters(f.path) && lpo_trace_reader_find(f.path, &f.reader, NULL) < 0) {
            lpo_vec_push(&out->left, f.relative);
            continue;
        }
        f.name = name_of(a, f.relative);
        if (stands_alone(&f))
            look_inside(&f);
        lpo_vec_push(&w.files, f);
    }
    for (size_t i = 0; i < w.files.len; i++)
        for (size_t k = 0; k < w.files.at[i].name.count; k++)
            w.files.at[i].parts[k] = part_of(&w, &w.files.at[i], k);
    for (size_t i = 0; i < w.files.len; i++)
        if (stands_alone(&w.files.at[i])) {
            w.files.at[i].group = choose_group(&w, i);
            w.groups += w.files.at[i].group == w.groups;
        }
    if (w.groups && !is_list(&w)) {
        for (size_t i = 0; i < w.files.len; i++)
            w.files.at[i].group = stands_alone(&w.files.at[i]) ? 0 : SIZE_MAX;
        w.groups = 1;
    }
    make_groups(&w, out);
    lpo_vec_free(&w.files);
    return 0;
}

void lpo_rundir_groups_free(struct lpo_rundir_groups *g)
{
    for (size_t i = 0; i < g->all.len; i++)
        lpo_vec_free(&g->all.at[i].files);
    lpo_vec_free(&g->all);
    lpo_vec_free(&g->left);
}
