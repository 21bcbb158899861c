/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/top_yaml.h"

#include <string.h>

#include "region/top_kernels.h"
#include "util/json_write.h"
#include "util/str.h"
#include "util/visible.h"

/* ncu compares the bare function name, without its namespace, template arguments and parameters. */
void lpo_writer_kernel_regex(struct lpo_str *out, const char *name)
{
    size_t len;
    const char *text = lpo_region_kernel_function(name, &len);

    lpo_str_addc(out, '^');
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr("\\^$.[]|()?*+{}", text[i]))
            lpo_str_addc(out, '\\');
        lpo_str_addc(out, text[i]);
    }
    lpo_str_addc(out, '$');
}

/* A double-quoted YAML scalar. Not a JSON string: a surrogate pair is two characters to YAML, and
 * YAML folds U+0085, U+2028 and U+2029 as line ends and refuses controls, U+FFFE and U+FFFF. */
static void add_quoted(struct lpo_str *out, const char *text, size_t len)
{
    lpo_str_addc(out, '"');
    for (size_t i = 0; i < len;) {
        size_t n = lpo_str_utf8_len(text + i, len - i);
        uint32_t cp = n ? lpo_str_code_point(text + i, n) : 0xfffd;

        if (cp == '"' || cp == '\\')
            lpo_str_addf(out, "\\%c", (int)cp);
        else if (cp > 0xffff && lpo_visible_hidden(cp))
            lpo_str_addf(out, "\\U%08x", cp);
        else if (lpo_visible_hidden(cp) || cp == 0xfffe || cp == 0xffff)
            lpo_str_addf(out, "\\u%04x", cp);
        else
            lpo_str_add_utf8(out, cp);
        i += n ? n : 1;
    }
    lpo_str_addc(out, '"');
}

void lpo_writer_top_yaml(struct lpo_str *out, const struct lpo_trace *t,
                         const struct lpo_top_row *rows, size_t count)
{
    lpo_str_add(out, "# Kernels by GPU time, written by lpo top.\n"
                     "# lpo kernels --kernel-config THIS --topk N -- program…\n");
    lpo_str_add(out, count ? "kernels:\n" : "kernels: []\n");
    for (size_t i = 0; i < count; i++) {
        const char *name = lpo_trace_text(t, rows[i].name);
        LPO_STR regex = { 0 };

        lpo_writer_kernel_regex(&regex, name);
        lpo_str_add(out, "  - name: ");
        add_quoted(out, name, lpo_trace_text_len(t, rows[i].name));
        lpo_str_add(out, "\n    regex: ");
        add_quoted(out, regex.at, regex.len);
        lpo_str_addf(out, "\n    launches: %llu\n", (unsigned long long)rows[i].sum.launches);
        if (lpo_region_sum_known(&rows[i].sum)) {
            lpo_str_addf(out, "    gpu_ns: %lld%s\n    share: ", (long long)rows[i].sum.ns,
                         lpo_region_sum_estimated(&rows[i].sum)
                             ? " # of a CUDA graph's time: estimated"
                             : "");
            lpo_json_add_real(out, rows[i].share);
            lpo_str_addc(out, '\n');
        }
    }
}
