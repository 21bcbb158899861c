/* analysis/limits/hardware.h - the ceilings of a run, from its folder.
 *
 * hardware.json, which every run writes when it starts. A folder without one (made by an older lpo,
 * or put together from traces) still says on what it ran: the entry its config names, else the
 * device of its trace, looked up by name or computed from its attributes. Only sheets are used
 * then: what was measured on the machine that makes the report says nothing of that device. */
#pragma once

struct lpo_err;
struct lpo_hardware;
struct lpo_rundir;
struct lpo_source;

/* *out is NULL when nothing tells. Lives as long as `d`. */
int lpo_limits_hardware(const struct lpo_rundir *d, const struct lpo_source *s,
                        const struct lpo_hardware **out, struct lpo_err *err);
