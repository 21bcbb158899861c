/* SPDX-License-Identifier: Apache-2.0 */
/* One object of rocprofv3's lists, with the objects inside it. */
#include <string.h>

#include "trace/kineto/private.h"
#include "trace/rocprof/private.h"
#include "trace/trace.h"

enum { DEEPEST = 6 };

static const struct number {
    const char *inside, *key; /* inside "": the row itself */
    enum rocprof_number slot;
} numbers[] = {
    { "", "kind", R_KIND },
    { "", "operation", R_OPERATION },
    { "", "thread_id", R_THREAD },
    { "correlation_id", "internal", R_CORRELATION },
    { "", "start_timestamp", R_START },
    { "", "end_timestamp", R_END },
    { "", "bytes", R_BYTES },
    { "agent_id", "handle", R_AGENT },
    { "src_agent_id", "handle", R_SOURCE },
    { "dst_agent_id", "handle", R_TARGET },
    { "queue_id", "handle", R_QUEUE },
    { "stream_id", "handle", R_STREAM },
    { "dispatch_info", "kernel_id", R_KERNEL },
    { "", "kernel_id", R_KERNEL },
    { "dispatch_info", "group_segment_size", R_GROUP_SEGMENT },
    { "workgroup_size", "x", R_GROUP },
    { "workgroup_size", "y", R_GROUP + 1 },
    { "workgroup_size", "z", R_GROUP + 2 },
    { "grid_size", "x", R_GRID },
    { "grid_size", "y", R_GRID + 1 },
    { "grid_size", "z", R_GRID + 2 },
    { "id", "handle", R_ID },
    { "", "type", R_TYPE },
    { "", "cu_count", R_CUS },
    { "", "logical_node_type_id", R_ORDINAL },
    { "", "max_engine_clk_fcompute", R_CLOCK },
    { "", "arch_vgpr_count", R_VGPRS },
    { "", "key", R_KEY },
};

static const struct text {
    const char *key;
    enum rocprof_text slot;
} texts[] = {
    { "formatted_kernel_name", R_NAME },
    { "demangled_kernel_name", R_OTHER_NAME },
    { "kernel_name", R_LINKER },
    { "product_name", R_NAME },
    { "value", R_VALUE },
};

static bool is(const struct lpo_json_pull_text *text, const char *word)
{
    return text->len == strlen(word) && memcmp(text->at, word, text->len) == 0;
}

static int read_object(struct lpo_pull *q, const struct lpo_json_pull_text *inside, int depth,
                       struct rocprof_row *row);

static int read_value(struct lpo_pull *q, const struct lpo_json_pull_text *inside,
                      const struct lpo_json_pull_text *key, int depth, struct rocprof_row *row)
{
    int c = lpo_json_pull_peek(q);

    if (c < 0)
        return c;
    if (c == '{' && depth < DEEPEST)
        return read_object(q, key, depth + 1, row);
    for (size_t i = 0; c == '"' && depth == 0 && i < sizeof texts / sizeof *texts; i++)
        if (is(key, texts[i].key))
            return lpo_json_pull_string(q, &row->text[texts[i].slot]);
    for (size_t i = 0; c != '"' && i < sizeof numbers / sizeof *numbers; i++)
        if (is(key, numbers[i].key) && is(inside, numbers[i].inside))
            return lpo_kineto_number(q, 0, &row->n[numbers[i].slot]);
    return lpo_json_pull_skip(q);
}

static int read_object(struct lpo_pull *q, const struct lpo_json_pull_text *inside, int depth,
                       struct rocprof_row *row)
{
    struct lpo_json_pull_text key;
    bool first = true;
    int rc;

    q->p++;
    while ((rc = lpo_json_pull_member(q, &first, &key)) > 0)
        if ((rc = read_value(q, inside, &key, depth, row)) < 0)
            return rc;
    return rc;
}

int lpo_rocprof_row_read(struct lpo_pull *q, struct rocprof_row *row)
{
    static const struct lpo_json_pull_text none = { .at = "" };
    int c = lpo_json_pull_peek(q);

    for (int i = 0; i < R_NUMBERS; i++)
        row->n[i] = LPO_NO_TIME;
    for (int i = 0; i < R_TEXTS; i++)
        row->text[i] = none;
    if (c != '{')
        return c < 0 ? c : lpo_json_pull_skip(q);
    return read_object(q, &none, 0, row);
}
