/* SPDX-License-Identifier: Apache-2.0 */
#include "nvtx_client.h"

#include <string.h>
#include <time.h>

static const struct scenario *const groups[] = {
    range_scenarios, thread_scenarios, process_scenarios,
    guest_scenarios, victim_scenarios, sandbox_scenarios,
};

void nap_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof groups / sizeof *groups; i++)
        for (const struct scenario *s = groups[i]; s->name; s++)
            if (strcmp(argv[1], s->name) == 0)
                return s->run();
    fprintf(stderr, "no scenario '%s'\n", argc > 1 ? argv[1] : "");
    return 2;
}
