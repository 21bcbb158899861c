/* SPDX-License-Identifier: Apache-2.0 */
/* trace/fields.h - JSON objects into structs, by a table of their members.
 *
 *     static const struct lpo_member fields[] = {
 *         { "", "ts", offsetof(struct event, start_ns), LPO_MEMBER_MICROSECONDS },
 *         { "args", "hlo_op", offsetof(struct event, op), LPO_MEMBER_TEXT },
 *     };
 *     lpo_trace_fields_read(q, fields, 2, &event);
 *
 * For formats whose events are few or whose members vary; Kineto's have a reader of their own. */
#pragma once

#include "util/base.h"

struct lpo_pull;

enum lpo_member_kind {
    LPO_MEMBER_NUMBER,       /* int64_t, bare or in quotes; LPO_NO_TIME where it is not given */
    LPO_MEMBER_MICROSECONDS, /* the same, in nanoseconds */
    LPO_MEMBER_TEXT,         /* struct lpo_json_pull_text: good until more is read */
};

struct lpo_member {
    const char *inside, *key; /* the member that it is in, "" for the object itself; its own name */
    size_t at;                /* of the struct */
    enum lpo_member_kind kind;
};

/* The object that comes next; any other value is passed over, and so are other members. What is not
 * given is LPO_NO_TIME or an empty text. Returns as lpo_json_pull_skip() does. */
int lpo_trace_fields_read(struct lpo_pull *q, const struct lpo_member *fields, size_t count,
                          void *to);
