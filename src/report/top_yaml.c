#include "report/top_yaml.h"

#include <string.h>

#include "region/top.h"
#include "util/json_write.h"
#include "util/str.h"

static void add_regex(struct lpo_str *out, const char *text, size_t len)
{
    LPO_STR re = { 0 };

    lpo_str_addc(&re, '^');
    for (size_t i = 0; i < len; i++) {
        if (text[i] && strchr("\\^$.[]|()?*+{}", text[i]))
            lpo_str_addc(&re, '\\');
        lpo_str_addc(&re, text[i]);
    }
    lpo_str_addc(&re, '$');
    lpo_str_add_json(out, re.at, re.len, false); /* a JSON string is a YAML one */
}

void lpo_top_yaml(struct lpo_str *out, const struct lpo_trace *t, const struct lpo_top_row *rows,
                  size_t count)
{
    lpo_str_add(out, "# Kernels by GPU time, written by lpo top.\n"
                     "# lpo kernels --kernel-config THIS --topk N -- program…\n");
    lpo_str_add(out, count ? "kernels:\n" : "kernels: []\n");
    for (size_t i = 0; i < count; i++) {
        const char *name = lpo_trace_text(t, rows[i].name), *function;
        size_t len;

        function = lpo_kernel_function(name, &len);
        lpo_str_add(out, "  - name: ");
        lpo_str_add_json(out, name, lpo_trace_text_len(t, rows[i].name), false);
        lpo_str_add(out, "\n    regex: ");
        add_regex(out, function, len);
        lpo_str_addf(out, "\n    launches: %llu\n", (unsigned long long)rows[i].sum.launches);
        if (lpo_sum_known(&rows[i].sum)) {
            lpo_str_addf(out, "    gpu_ns: %lld\n    share: ", (long long)rows[i].sum.ns);
            lpo_str_add_real(out, rows[i].share);
            lpo_str_addc(out, '\n');
        }
    }
}
