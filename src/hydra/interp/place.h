/* hydra/interp/place.h - which job a composed config belongs to, and the folder it gets.
 *
 * Composing knows the config; only the one who starts the jobs knows their numbers. */
#pragma once

#include <stdbool.h>

struct lpo_composed;
struct lpo_err;

/* Says which job this is (`num` from 0 in a multirun, -1 for a single run) and finds its folder:
 * hydra.run.dir, or hydra.sweep.dir with hydra.sweep.subdir below it. hydra.job.num, hydra.job.id
 * and hydra.runtime.output_dir are known from here on; call it before lpo_compose_resolve(). *dir
 * is absolute. */
int lpo_interp_place(struct lpo_composed *c, int num, const char **dir, struct lpo_err *err);

/* Is it a multirun by its own word, hydra.mode? */
int lpo_interp_is_multirun(struct lpo_composed *c, bool *out, struct lpo_err *err);
