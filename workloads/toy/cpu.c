/* SPDX-License-Identifier: Apache-2.0 */
/* toy_llm - the built-in workload: the toy model on the CPU. */
#include <stdlib.h>

#include "toy/main.h"
#include "toy/model.h"
#include "toy/pool.h"
#include "util/arena.h"

struct cpu {
    struct toy_pool *pool;
    struct toy_session *session;
};

static void cpu_reset(void *self)
{
    toy_session_reset(((struct cpu *)self)->session);
}

static int cpu_forward(void *self, const int *tokens, int count, float *logits, struct lpo_err *err)
{
    return toy_forward(((struct cpu *)self)->session, tokens, count, logits, err);
}

static int cpu_open(const struct toy_options *o, const struct toy_weights *w,
                    const struct toy_ranges *ranges, struct toy_engine *out, struct lpo_err *err)
{
    struct toy_pool *pool = NULL;
    struct cpu *cpu;
    int rc = toy_pool_create(o->threads, &pool, err);

    if (rc < 0)
        return rc;
    cpu = lpo_xcalloc(1, sizeof *cpu);
    cpu->pool = pool;
    cpu->session = toy_session_create(w, o->batch, pool, ranges);
    *out = (struct toy_engine){ "cpu", cpu, cpu_reset, cpu_forward, NULL };
    return 0;
}

static void cpu_close(struct toy_engine *e)
{
    struct cpu *cpu = e->self;

    toy_session_destroy(cpu->session);
    toy_pool_destroy(cpu->pool);
    free(cpu);
}

int main(int argc, char **argv)
{
    static const struct toy_backend backend = { "toy_llm", cpu_open, cpu_close };

    return toy_main(&backend, argc, argv);
}
