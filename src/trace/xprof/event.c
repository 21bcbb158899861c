/* SPDX-License-Identifier: Apache-2.0 */
/* One event of the Chrome trace that XProf writes. Values of args are texts, numbers too. */
#include <string.h>

#include "trace/kineto/private.h"
#include "trace/trace.h"
#include "trace/xprof/private.h"

enum kind { NUMBER, TEXT };

static const struct arg {
    const char *key;
    size_t at;
    enum kind kind;
} args[] = {
    { "name", offsetof(struct xprof_event, label), TEXT },
    { "hlo_module", offsetof(struct xprof_event, module), TEXT },
    { "hlo_op", offsetof(struct xprof_event, op), TEXT },
    { "tf_op", offsetof(struct xprof_event, place), TEXT },
    { "kernel_details", offsetof(struct xprof_event, kernel), TEXT },
    { "memcpy_details", offsetof(struct xprof_event, copy), TEXT },
    { "memset_details", offsetof(struct xprof_event, fill), TEXT },
    { "correlation_id", offsetof(struct xprof_event, correlation), NUMBER },
    { "cuda_graph_id", offsetof(struct xprof_event, graph), NUMBER },
    { "step_num", offsetof(struct xprof_event, step), NUMBER },
};

static int read_text(struct lpo_pull *q, struct lpo_json_pull_text *out)
{
    int c = lpo_json_pull_peek(q);

    return c == '"' ? lpo_json_pull_string(q, out) : c < 0 ? c : lpo_json_pull_skip(q);
}

static int read_arg(struct lpo_pull *q, const struct lpo_json_pull_text *key, struct xprof_event *e)
{
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (key->len == strlen(args[i].key) && memcmp(key->at, args[i].key, key->len) == 0) {
            void *to = (char *)e + args[i].at;

            return args[i].kind == TEXT ? read_text(q, to) : lpo_kineto_number(q, 0, to);
        }
    return lpo_json_pull_skip(q);
}

static int read_args(struct lpo_pull *q, struct xprof_event *e)
{
    struct lpo_json_pull_text key;
    bool first = true;
    int c = lpo_json_pull_peek(q), rc;

    if (c != '{')
        return c < 0 ? c : lpo_json_pull_skip(q);
    q->p++;
    while ((rc = lpo_json_pull_member(q, &first, &key)) > 0)
        if ((rc = read_arg(q, &key, e)) < 0)
            return rc;
    return rc;
}

static int read_member(struct lpo_pull *q, const struct lpo_json_pull_text *key,
                       struct xprof_event *e)
{
    struct lpo_json_pull_text text = { 0 };
    int rc;

    if (lpo_json_pull_is(key, "ph")) {
        rc = read_text(q, &text);
        e->ph = text.len == 1 ? text.at[0] : 0;
        return rc;
    }
    if (lpo_json_pull_is(key, "pid"))
        return lpo_kineto_number(q, 0, &e->pid);
    if (lpo_json_pull_is(key, "tid"))
        return lpo_kineto_number(q, 0, &e->tid);
    if (lpo_json_pull_is(key, "ts"))
        return lpo_kineto_number(q, 3, &e->start_ns);
    if (lpo_json_pull_is(key, "dur"))
        return lpo_kineto_number(q, 3, &e->dur_ns);
    if (lpo_json_pull_is(key, "name"))
        return read_text(q, &e->name);
    return lpo_json_pull_is(key, "args") ? read_args(q, e) : lpo_json_pull_skip(q);
}

int lpo_xprof_event_read(struct lpo_pull *q, struct xprof_event *e)
{
    static const struct lpo_json_pull_text none = { .at = "" };
    struct lpo_json_pull_text key;
    bool first = true;
    int rc = lpo_json_pull_peek(q);

    *e = (struct xprof_event){ .name = none,
                               .label = none,
                               .module = none,
                               .op = none,
                               .place = none,
                               .kernel = none,
                               .copy = none,
                               .fill = none,
                               .pid = LPO_NO_TIME,
                               .tid = LPO_NO_TIME,
                               .start_ns = LPO_NO_TIME,
                               .dur_ns = LPO_NO_TIME,
                               .correlation = LPO_NO_TIME,
                               .step = LPO_NO_TIME,
                               .graph = LPO_NO_TIME };
    if (rc != '{')
        return rc < 0 ? rc : lpo_json_pull_skip(q);
    q->p++;
    while ((rc = lpo_json_pull_member(q, &first, &key)) > 0)
        if ((rc = read_member(q, &key, e)) < 0)
            return rc;
    return rc;
}

/* "key:12" or "key:12,1,1", at the beginning or behind a space. */
bool lpo_xprof_detail(const struct lpo_json_pull_text *text, const char *key, uint64_t out[3])
{
    const char *p = text->at, *end = text->at + text->len;
    size_t len = strlen(key);

    out[0] = out[1] = out[2] = 0;
    while (p < end && !((size_t)(end - p) > len && memcmp(p, key, len) == 0 && p[len] == ':')) {
        p = memchr(p, ' ', (size_t)(end - p));
        p = p ? p + 1 : end;
    }
    if (p >= end)
        return false;
    p += len + 1;
    for (int i = 0; i < 3; i++) {
        const char *from = p;

        for (; p < end && *p >= '0' && *p <= '9' && p - from < 18; p++)
            out[i] = out[i] * 10 + (uint64_t)(*p - '0');
        if (p == from)
            return i > 0;
        if (p >= end || *p != ',')
            return true;
        p++;
    }
    return true;
}
