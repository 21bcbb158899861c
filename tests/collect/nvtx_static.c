/* SPDX-License-Identifier: Apache-2.0 */
/* A program without shared libraries: libc of the tool that it loads is another one than its own,
 * and nobody tells that one when the program ends. */
#include "../../workloads/nvtx_lite.h"

int main(int argc, char **argv)
{
    for (long i = 0; argc > 1 && i < atol(argv[1]); i++) {
        nvtx_lite_push("range");
        nvtx_lite_pop();
    }
    return 0;
}
