/* SPDX-License-Identifier: Apache-2.0 */
#include "run/ranks.h"

#include <stdlib.h>

#include "lpo/launchers.h"
#include "settings/settings.h"
#include "util/json_write.h"
#include "util/str.h"

const char *lpo_run_ranks_word(struct lpo_arena *a, const struct lpo_node *config)
{
    const char *ranks = lpo_settings_joined(a, config, "run.ranks");

    if (!ranks)
        return "all";
    return lpo_streq(ranks, "one per node") ? "node" : ranks;
}

int32_t lpo_run_ranks_first(struct lpo_arena *a, const struct lpo_node *config)
{
    const char *word = lpo_run_ranks_word(a, config);

    return *word >= '0' && *word <= '9' ? (int32_t)strtol(word, NULL, 10) : 0;
}

void lpo_run_ranks_json(struct lpo_arena *a, const struct lpo_node *config,
                        struct lpo_json_writer *w)
{
    lpo_jw_text(w, "ranks", lpo_run_ranks_word(a, config));
    lpo_run_ranks_launchers_json(w);
}

void lpo_run_ranks_launchers_json(struct lpo_json_writer *w)
{
    lpo_jw_array(w, "launchers");
    for (int i = 0; i < LPO_LAUNCHERS; i++) {
        lpo_jw_array(w, NULL);
        lpo_jw_text(w, NULL, lpo_launchers[i].rank);
        lpo_jw_text(w, NULL, lpo_launchers[i].local_rank);
        lpo_jw_text(w, NULL, lpo_launchers[i].world_size);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}
