/* SPDX-License-Identifier: Apache-2.0 */
/* trace/names.h - interned text: each distinct name once, found by a dense id. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/auto.h"

struct lpo_trace_names;

struct lpo_trace_names *lpo_trace_names_create(void);
void lpo_trace_names_destroy(struct lpo_trace_names *n); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_trace_names);

uint32_t lpo_trace_names_put(struct lpo_trace_names *n, const char *text, size_t len);
uint32_t lpo_trace_names_find(const struct lpo_trace_names *n, const char *text,
                              size_t len); /* UINT32_MAX: not there */
const char *lpo_trace_names_text(const struct lpo_trace_names *n, uint32_t id,
                                 size_t *len /* may be NULL */);
size_t lpo_trace_names_count(const struct lpo_trace_names *n);
