/* SPDX-License-Identifier: Apache-2.0 */
/* A library with an NVTX instance of its own, as every library that uses NVTX has. */
#include "../../workloads/nvtx_lite.h"

void second_copy(void);

__attribute__((visibility("default"))) void second_copy(void)
{
    nvtx_lite_dom d = nvtx_lite_domain_create("lib");
    struct nvtx_lite_attributes a = nvtx_lite_text("inner");

    nvtx_lite_push("library");
    nvtx_lite_domain_push_ex(d, &a);
    nvtx_lite_domain_pop(d);
    nvtx_lite_pop();
}
