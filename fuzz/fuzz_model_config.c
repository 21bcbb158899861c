/* SPDX-License-Identifier: Apache-2.0 */
/* A config.json of any model: parsed, accepted or refused, counted, written as a report. */
#include <stdint.h>
#include <stdlib.h>

#include "model/needs.h"
#include "report/doc/doc.h"
#include "report/static/static.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"
#include "writer/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_hardware hw = { .name = "x", .label = "x", .source = "sheet", .bandwidth = 1e12 };
    struct lpo_needs_options o = { .seq = 64, .tp = 2, .hardware = &hw };
    const struct lpo_json *config = NULL;
    LPO_AUTO(lpo_model_needs) needs = NULL;
    struct lpo_err err = { 0 };
    LPO_STR json = { 0 };

    hw.flops[LPO_BF16] = 1e14;
    hw.memory = 1e11;
    if (lpo_json_parse(arena, (const char *)data, size, &config, &err) < 0)
        return 0;
    if (lpo_model_needs_create(config, &o, &needs, &err) < 0) {
        if (!*lpo_err_cause(&err))
            abort();
        return 0;
    }
    if (needs->tensors.len < 2000) { /* writing is slow and says nothing new about large ones */
        struct lpo_static_report r = { .path = "x", .needs = needs };
        LPO_AUTO(lpo_doc) doc = lpo_static_doc(&r);

        if (!doc->sections.len)
            abort();
        lpo_writer_json.write(doc, &json);
        err = (struct lpo_err){ 0 };
        if (lpo_json_parse(arena, lpo_str_text(&json), json.len, &config, &err) < 0)
            abort();
    }
    return 0;
}
