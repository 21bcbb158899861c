#include "writer/top_yaml.h"

#include <string.h>

#include "region/top_kernels.h"
#include "util/json_write.h"
#include "util/str.h"

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
        lpo_json_add_json(out, name, lpo_trace_text_len(t, rows[i].name), false);
        lpo_str_add(out, "\n    regex: ");
        lpo_json_add_json(out, regex.at, regex.len, false); /* a JSON string is a YAML one */
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
