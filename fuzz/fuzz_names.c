/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels made of any bytes: demangled, classified, shown, made short, and made a regular
 * expression that must fit the name's own function. */
#include "scratch.h"

#include "region/cells.h"
#include "region/classes.h"
#include "region/kernel_name/short.h"
#include "report/top_yaml.h"
#include "trace/demangle.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"
#include "util/visible.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_visible(const char *text, size_t len)
{
    LPO_STR all = { 0 }, cut = { 0 };

    lpo_visible_add(&all, text, len, 0);
    lpo_visible_add(&cut, text, len, 20);
    insist(lpo_str_utf8_valid(lpo_str_text(&all), all.len, NULL));
    insist(lpo_str_utf8_valid(lpo_str_text(&cut), cut.len, NULL));
    for (size_t i = 0; i < all.len;) {
        size_t n = lpo_str_utf8_len(all.at + i, all.len - i);

        insist(!lpo_visible_hidden(lpo_str_code_point(all.at + i, n)));
        i += n;
    }
}

static void check_regex(const char *name)
{
    LPO_STR regex = { 0 }, text = { 0 };
    LPO_AUTO(lpo_pattern) pattern = NULL;
    struct lpo_err err = { 0 };
    size_t len;
    const char *function = lpo_region_kernel_function(name, &len);

    insist(function >= name && function + len <= name + strlen(name));
    if (!lpo_str_utf8_valid(name, strlen(name), NULL) || memchr(function, '\n', len))
        return;
    lpo_report_kernel_regex(&regex, name);
    lpo_str_addf(&text, "regex:%s", lpo_str_text(&regex));
    insist(lpo_pattern_create(text.at, &pattern, &err) == 0);
    insist(lpo_pattern_matches(pattern, function, len));
}

/* Three kernels of a report whose names are parts of each other. */
static void check_short(struct lpo_arena *a, const char *name)
{
    size_t len = strlen(name);
    const char *half = lpo_arena_strndup(a, name, len / 2);
    const struct lpo_kernel_span names[] = { { name, len }, { half, len / 2 }, { name, len } };
    const char *out[3];

    lpo_region_short_names(a, names, 3, out);
    for (int i = 0; i < 3; i++) {
        size_t columns = 0;

        for (size_t k = 0, n; out[i][k]; k += n, columns++) {
            n = lpo_str_utf8_len(out[i] + k, strlen(out[i] + k));
            n = n ? n : 1;
        }
        insist(columns <= LPO_SHORT_NAME);
        insist(strcmp(out[i], out[(i + 1) % 3]) != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *name;
    LPO_STR plain = { 0 };

    if (size > 4096)
        return 0;
    name = lpo_arena_name(a, (const char *)data, size);
    check_visible((const char *)data, size);
    insist(lpo_region_kernel_class(name) < LPO_CLASSES);
    check_regex(name);
    check_short(a, name);
    if (lpo_trace_demangle(name, &plain)) {
        insist(lpo_region_kernel_class(lpo_str_text(&plain)) < LPO_CLASSES);
        check_regex(lpo_str_text(&plain));
    }
    return 0;
}
