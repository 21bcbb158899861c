/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/known_regions.h - the regions that an earlier stage of the same run recorded.
 *
 * A stage that is limited to regions checks their names here before it starts its tool: a name that
 * does not exist would cost a whole run of the program and leave nothing. Such a limit is dropped
 * with one line: lpo_pipeline_stage_drop_gate(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_arena;

/* One region; docs/run.md describes the file, native/regions.json. */
struct lpo_known_region {
    const char *path; /* "decode/LLM@step": '/' inside a name as "\/", other domains "domain@" */
    bool start_end, prepares; /* `prepares`: loading, warming up (conf/rules/steps.yaml) */
    uint64_t visits;
};

struct lpo_known_regions {
    struct lpo_known_region *at; /* NULL: nothing is known */
    size_t len;
    const char **domains; /* those besides the default one; NULL: every '@' ends a domain */
    size_t ndomains;
    bool complete; /* the program was recorded to its end: a region that is not here does not exist,
                    * and with `len` 0 there is none at all */
};

/* From the file of that kind at `path`; leaves `out` empty where there is none. */
void lpo_pipeline_known_regions_read(struct lpo_arena *a, const char *path,
                                     struct lpo_known_regions *out);
