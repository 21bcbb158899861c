#include "model/modules.h"

#include "model/count.h"
#include "util/arena.h"

static bool same_place(const struct lpo_model_place *x, const struct lpo_model_place *y)
{
    return x->part == y->part && x->layer == y->layer && x->block == y->block;
}

/* Places come in runs, so the row sought is nearly always the last one seen. */
static struct lpo_module *row_of(struct lpo_arena *a, const struct lpo_model_needs *n,
                                 lpo_module_vec *out, const struct lpo_model_place *at)
{
    const char *part = n->model->parts[at->part], *block = lpo_model_block_name(at->block);
    struct lpo_module m = { .at = *at };

    for (size_t i = out->len; i-- > 0;)
        if (same_place(&out->at[i].at, at))
            return &out->at[i];
    m.name = at->layer < 0 ? lpo_arena_printf(a, "%s/%s", part, block)
                           : lpo_arena_printf(a, "%s/layer%d/%s", part, at->layer, block);
    lpo_vec_push(out, m);
    return &out->at[out->len - 1];
}

static void add_tensors(struct lpo_arena *a, const struct lpo_model_needs *n, lpo_module_vec *out)
{
    for (size_t i = 0; i < n->tensors.len; i++) {
        const struct lpo_tensor *t = &n->tensors.at[i];
        struct lpo_module *m = row_of(a, n, out, &t->at);
        uint64_t active = t->experts ? lpo_model_mul(t->count / t->experts, t->active) : t->count;

        m->params = lpo_model_add(m->params, t->tied ? 0 : t->count);
        m->active_params = lpo_model_add(m->active_params, t->tied ? 0 : active);
    }
}

void lpo_model_modules_list(struct lpo_arena *a, const struct lpo_model_needs *needs,
                            lpo_module_vec *out)
{
    add_tensors(a, needs, out);
    for (int k = 0; k < LPO_PHASES; k++) {
        const struct lpo_phase_result *p = &needs->phase[k];
        size_t first = 0;

        /* every run of operations at one place is summed once */
        for (size_t i = 0; i < p->ops.len; i = first) {
            struct lpo_module *m = row_of(a, needs, out, &p->ops.at[i].at);

            for (first = i; first < p->ops.len; first++)
                if (!same_place(&p->ops.at[first].at, &p->ops.at[i].at))
                    break;
            lpo_model_needs_add(needs, &p->ops.at[i], first - i, 1, &m->sums[k]);
            lpo_model_needs_add(needs, &p->ops.at[i], first - i, needs->options.tp, &m->rank[k]);
        }
    }
}
