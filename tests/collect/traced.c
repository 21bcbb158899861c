/* SPDX-License-Identifier: Apache-2.0 */
#include "traced.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit.h"
#include "region/tree.h"
#include "trace/reader.h"
#include "util/err.h"
#include "util/file.h"

enum { ENV_MAX = 256, PATH_ROOM = 4096 };

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Reads every file in, smallest pid text first, and empties the folder. */
static void take_files(const char *dir, struct traced *out)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    char *names[4096];
    size_t count = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.' && count < 4096)
            names[count++] = strdup(e->d_name);
    closedir(d);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) { /* a trace before its tail, which is read with it */
        char path[PATH_ROOM];
        struct lpo_err err = { 0 };
        struct stat st = { 0 };

        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        if (lpo_str_ends(names[i], ".lpot")) {
            stat(path, &st);
            out->files++;
            out->bytes += (uint64_t)st.st_size;
            if (lpo_trace_read(path, out->trace, &err) < 0)
                fail_msg("%s: %s", names[i], lpo_err_cause(&err));
        }
        unlink(path);
        free(names[i]);
    }
    rmdir(dir);
}

static void set_env(const char **slots, size_t *count, const char *name, const char *value,
                    char *room)
{
    snprintf(room, 2 * PATH_ROOM, "%s=%s", name, value);
    slots[(*count)++] = room;
}

/* A collector that hangs its program must not hang the tests. */
static void wait_bounded(pid_t pid, int *status)
{
    const struct timespec nap = { 0, 2000000 };

    for (int i = 0; i < 60000; i++) {
        if (waitpid(pid, status, WNOHANG) == pid)
            return;
        nanosleep(&nap, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, status, 0);
    fail_msg("the program did not end within two minutes");
}

void traced_run(const char *const *argv, const char *const *env, struct traced *out)
{
    extern char **environ;
    const char *root = unit_env("LPO_BUILD_ROOT", "."), *slots[ENV_MAX];
    char dir[] = "/tmp/lpo-collect-XXXXXX", file[PATH_ROOM], lib[PATH_ROOM], room[3][2 * PATH_ROOM];
    char log[PATH_ROOM];
    posix_spawn_file_actions_t fa;
    struct lpo_file_text *text = NULL;
    size_t count = 0;
    pid_t pid;

    *out = (struct traced){ .trace = lpo_trace_create() };
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/tests/collect/%s", root, argv[0]);
    snprintf(lib, sizeof lib, "%s/src/collect/liblpo-collect.so", root);
    snprintf(log, sizeof log, "%s/output", dir);
    for (size_t i = 0; env && env[i]; i++) /* the first of a name counts */
        slots[count++] = env[i];
    /* The leak check stops all threads, which a forked child of a busy process cannot. */
    slots[count++] = "ASAN_OPTIONS=detect_leaks=0";
    set_env(slots, &count, "NVTX_INJECTION64_PATH", lib, room[0]);
    set_env(slots, &count, "CUDA_INJECTION64_PATH", lib, room[1]);
    set_env(slots, &count, "LPO_COLLECT_DIR", dir, room[2]);
    for (size_t i = 0; environ[i] && count < ENV_MAX - 1; i++)
        if (!lpo_str_starts(environ[i], "LPO_COLLECT_"))
            slots[count++] = environ[i];
    slots[count] = NULL;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    {
        char *args[16] = { file };
        for (size_t i = 1; argv[i] && i < 15; i++)
            args[i] = (char *)(uintptr_t)argv[i];
        if (posix_spawn(&pid, file, &fa, NULL, args, (char **)(uintptr_t)slots) != 0)
            fail_msg("cannot start %s", file);
    }
    posix_spawn_file_actions_destroy(&fa);
    wait_bounded(pid, &out->status);
    assert_int_equal(lpo_file_text_read(log, &text, NULL), 0);
    out->output = strdup(text->at);
    lpo_file_text_destroy(text);
    take_files(dir, out);
}

void traced_free(struct traced *t)
{
    lpo_trace_destroy(t->trace);
    free(t->output);
}

/* A tree of ranges, by name. */
struct node {
    const char *name, *domain;
    uint64_t visits, open;
    struct node *first, *last, *next;
};

static struct node *child_of(struct node *parent, const char *name, const char *domain)
{
    struct node *n;

    for (n = parent->first; n; n = n->next)
        if (strcmp(n->name, name) == 0 && strcmp(n->domain, domain) == 0)
            return n;
    n = calloc(1, sizeof *n);
    n->name = name;
    n->domain = domain;
    if (parent->last)
        parent->last->next = n;
    else
        parent->first = n;
    parent->last = n;
    return n;
}

static void print_node(struct lpo_str *out, struct node *n, unsigned depth)
{
    while (n) {
        struct node *next = n->next;
        lpo_str_addf(out, "%*s%s%s%s x%llu", (int)(2 * depth), "", n->domain, *n->domain ? "@" : "",
                     n->name, (unsigned long long)n->visits);
        if (n->open)
            lpo_str_addf(out, " (%llu open)", (unsigned long long)n->open);
        lpo_str_addc(out, '\n');
        print_node(out, n->first, depth + 1);
        free(n);
        n = next;
    }
}

/* Ranges of a thread come in the order of their pushes; those of a domain nest. */
static void thread_tree(const struct lpo_trace *t, uint32_t thread, struct lpo_str *out)
{
    struct node root = { 0 };
    struct {
        struct node *node;
        int64_t end_ns;
    } *stack = calloc(t->ranges.len + 1, sizeof *stack);

    for (size_t d = 0; d < t->domains.len; d++) {
        size_t depth = 0;
        for (size_t i = 0; i < t->ranges.len; i++) {
            const struct lpo_range *r = &t->ranges.at[i];
            struct node *n;

            if (r->thread != thread || r->domain != d || r->kind != LPO_PUSH_POP)
                continue;
            while (depth && stack[depth - 1].end_ns <= r->start_ns)
                depth--;
            n = child_of(depth ? stack[depth - 1].node : &root, lpo_trace_text(t, r->name),
                         lpo_trace_text(t, t->domains.at[d]));
            n->visits++;
            n->open += (r->flags & LPO_RANGE_OPEN) != 0;
            stack[depth].node = n;
            stack[depth++].end_ns = r->end_ns;
        }
    }
    free(stack);
    print_node(out, root.first, 1);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, equal ones counted; then all are freed. */
static void print_counted(struct lpo_str *out, char **lines, size_t count, bool insert)
{
    qsort(lines, count, sizeof *lines, by_text);
    for (size_t i = 0; i < count;) {
        size_t same = 1;
        while (i + same < count && strcmp(lines[i], lines[i + same]) == 0)
            same++;
        if (insert) { /* after the first line of a block */
            size_t head = strcspn(lines[i], "\n");
            lpo_str_addn(out, lines[i], head);
            if (same > 1)
                lpo_str_addf(out, " x%zu", same);
            lpo_str_add(out, lines[i] + head);
        } else {
            lpo_str_addf(out, "%s x%zu\n", lines[i], same);
        }
        i += same;
    }
    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    free(lines);
}

static void add_threads(const struct lpo_trace *t, struct lpo_str *out)
{
    char **lines = calloc(t->threads.len + 1, sizeof *lines);
    size_t count = 0;

    for (uint32_t i = 0; i < t->threads.len; i++) {
        struct lpo_str s = { 0 };
        const char *name = lpo_trace_text(t, t->threads.at[i].name);

        lpo_str_addf(&s, "thread %s\n", strcmp(name, "nvtx_client") == 0 ? "main" : name);
        thread_tree(t, i, &s);
        if (s.at[s.len - 2] == '\n' || strchr(s.at, '\n') != s.at + s.len - 1)
            lines[count++] = strdup(s.at);
        lpo_str_free(&s);
    }
    print_counted(out, lines, count, true);
}

static void add_starts(const struct lpo_trace *t, struct lpo_str *out)
{
    char **lines = calloc(t->ranges.len + 1, sizeof *lines);
    size_t count = 0;

    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        struct lpo_str s = { 0 };

        if (r->kind != LPO_START_END)
            continue;
        lpo_str_addf(&s, "start/end %s%s%s%s", lpo_trace_text(t, t->domains.at[r->domain]),
                     r->domain ? "@" : "", lpo_trace_text(t, r->name),
                     r->flags & LPO_RANGE_OPEN ? " (open)" : "");
        lines[count++] = strdup(s.at);
        lpo_str_free(&s);
    }
    print_counted(out, lines, count, false);
}

/* "decode/attn/~request": start/end ranges after the path. */
static void add_place(const struct lpo_region_tree *tree, uint32_t row, struct lpo_str *s)
{
    const struct lpo_place *place = &tree->places.at[row];
    const struct lpo_region_set *set = &tree->sets.at[place->set];

    if (place->leaf == LPO_NONE && !set->count)
        lpo_str_add(s, "(outside)");
    lpo_region_add_path(tree, place->leaf, s);
    for (uint32_t i = 0; i < set->count; i++) {
        lpo_str_add(s, i || place->leaf != LPO_NONE ? "/~" : "~");
        lpo_region_add_name(tree, tree->set_nodes.at[set->first + i], s);
    }
}

static void add_gpu_ops(const struct lpo_trace *t, struct lpo_str *out)
{
    static const char *const kinds[] = { "kernel", "copy", "set" };
    char **lines = calloc(t->gpu_ops.len + 1, sizeof *lines);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        struct lpo_str s = { 0 };

        lpo_str_addf(&s, "%s %s", kinds[w->kind], lpo_trace_text(t, w->name));
        if (w->shape != LPO_NONE) {
            const struct lpo_shape *p = &t->shapes.at[w->shape];
            lpo_str_addf(&s, " <<<%u,%u,%u|%u,%u,%u>>>", p->grid[0], p->grid[1], p->grid[2],
                         p->block[0], p->block[1], p->block[2]);
        }
        if (w->bytes)
            lpo_str_addf(&s, " %llu bytes", (unsigned long long)w->bytes);
        lpo_str_addf(&s, " dev %d stream %u in ", t->devices.at[w->device].id, w->stream);
        if (w->launch == LPO_NONE)
            lpo_str_add(&s, "(no launch)");
        else
            add_place(tree, lpo_region_place(tree, w), &s);
        if (w->flags & LPO_GPU_OP_GRAPH)
            lpo_str_add(&s, w->flags & LPO_GPU_OP_WHOLE ? " (whole graph)" : " (graph)");
        if (w->flags & LPO_GPU_OP_NO_LENGTH)
            lpo_str_add(&s, " (no time)");
        if (w->flags & LPO_GPU_OP_SHARE)
            lpo_str_addf(&s, " (a share of %lld ns)", (long long)lpo_trace_gpu_op_ns(w));
        if (w->capture != LPO_NONE) {
            lpo_str_add(&s, " captured in ");
            add_place(tree, tree->capture_place[w->capture], &s);
        }
        lines[i] = strdup(s.at);
        lpo_str_free(&s);
    }
    print_counted(out, lines, t->gpu_ops.len, false);
}

void traced_text(const struct lpo_trace *t, struct lpo_str *out)
{
    add_threads(t, out);
    add_starts(t, out);
    add_gpu_ops(t, out);
    for (size_t i = 0; i < t->notes.len; i++)
        lpo_str_addf(out, "note %llu %s\n", (unsigned long long)t->notes.at[i].count,
                     lpo_trace_text(t, t->notes.at[i].text));
}
