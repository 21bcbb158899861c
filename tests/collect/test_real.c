/* SPDX-License-Identifier: Apache-2.0 */
/* The real NVTX headers, where they were found at build time. */
#include <unistd.h>

#include "../unit.h"
#include "traced.h"

static void check_real_nvtx(void **state)
{
    const char *argv[] = { "nvtx_real", NULL };
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    traced_run(argv, NULL, &t);
    assert_string_equal(t.output, "");
    assert_int_equal(t.status, 0);
    traced_text(t.trace, &text);
    assert_string_equal(text.at, "thread nvtx_real\n"
                                 "  outer x1\n"
                                 "  real@registered x1\n"
                                 "    real@with payload x1\n"
                                 "start/end range x1\n");
    traced_free(&t);
}

int main(void)
{
    char path[4096];
    struct unit u = { 0 };

    snprintf(path, sizeof path, "%s/tests/collect/nvtx_real", unit_env("LPO_BUILD_ROOT", "."));
    if (access(path, X_OK) != 0)
        UNIT_SKIP("no CUDA headers here (nvtx3/nvToolsExt.h, cupti.h)");
    UNIT_TEST(&u, check_real_nvtx);
    return unit_run(&u);
}
