/* hydra/defaults/header.h - "# @package name" at the top of a config file. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_err;

/* *package NULL: the file has none. Only comment lines at the very top count. */
int lpo_defaults_header_read(struct lpo_arena *a, const char *text, size_t len,
                             const char **package, struct lpo_err *err);
