/* SPDX-License-Identifier: Apache-2.0 */
/* tests/region/source_cases.h - rows of a trace as text and what regions hold of it, run over every
 * source that can say such a thing. */
#pragma once

#include "../unit.h"
#include "build.h"
#include "build_files.h"

#include "region/cells.h"
#include "region/scope.h"
#include "util/str.h"

struct source_case {
    const char *name, *trace, *want;
};

/* A row, read from a file of one source. */
struct file_case {
    const struct source_case *row;
    const struct build_source *source;
    char name[120];
};

/* Every row from every source that can have it, as a test of `check`; `files` has room for all. */
static inline void add_files(struct unit *u, const struct source_case *cases, size_t count,
                             void (*check)(void **state), struct file_case *files)
{
    size_t n = 0;

    for (size_t k = 0; k < BUILD_SOURCES; k++) {
        for (size_t i = 0; i < count; i++) {
            struct build_list list = build_parse(cases[i].trace);

            if (build_sources[k].can(&list)) {
                files[n].row = &cases[i];
                files[n].source = &build_sources[k];
                snprintf(files[n].name, sizeof files[n].name, "%s: %s", build_sources[k].name,
                         cases[i].name);
                unit_add(u, files[n].name, check, &files[n]);
                n++;
            }
            build_free(&list);
        }
    }
}

static inline struct lpo_trace *read_row(const struct file_case *c)
{
    struct lpo_trace *t = lpo_trace_create();
    struct build_list list = build_parse(c->row->trace);

    c->source->read(&list, t);
    build_free(&list);
    return t;
}

/* The aggregate of the whole trace, as `describe` writes it. */
typedef void describe_fn(const struct lpo_region_scope *s, struct lpo_str *out);

static inline void check_scope(const struct lpo_trace *t, describe_fn *describe,
                               void (*check)(const struct lpo_region_scope *s), const char *want)
{
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
    LPO_AUTO(lpo_region_scope)
    s = lpo_region_scope_create(cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, NULL);
    LPO_STR got = { 0 };

    describe(s, &got);
    assert_string_equal(lpo_str_text(&got), want);
    if (check)
        check(s);
}
