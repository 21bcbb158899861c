/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/power/power.h"

enum { MOST_COLUMNS = 64, MOST_GPUS = 256 };

static const int64_t last_ns = INT64_MAX / 4; /* so that differences and sums fit */

/* Places in a line beyond those of a sample. */
enum { AT_TIME = LPO_POWER_COLUMNS, AT_GPU, AT_NOTHING };

static const char *const names[] = {
    [LPO_POWER_MW] = "power_mw",
    [LPO_POWER_SM_MHZ] = "sm_mhz",
    [LPO_POWER_MEMORY_MHZ] = "memory_mhz",
    [LPO_POWER_CELSIUS] = "temperature_c",
    [LPO_POWER_MEMORY_BYTES] = "memory_used_bytes",
    [LPO_POWER_GPU_PERCENT] = "gpu_percent",
    [LPO_POWER_MEMORY_PERCENT] = "memory_percent",
    [LPO_POWER_THROTTLE] = "throttle_reasons",
    [LPO_POWER_ENERGY_MJ] = "energy_mj",
    [AT_TIME] = "unix_ns",
    [AT_GPU] = "gpu",
};

struct layout {
    unsigned at[MOST_COLUMNS]; /* what each column of the file holds */
    size_t count;
};

/* The cell at *p, which then points behind its comma; NULL after the last one. */
static const char *next_cell(const char **p, const char *end, size_t *len)
{
    const char *cell = *p, *comma;

    if (!cell)
        return NULL;
    comma = memchr(cell, ',', (size_t)(end - cell));
    *len = (size_t)((comma ? comma : end) - cell);
    *p = comma ? comma + 1 : NULL;
    return cell;
}

static int read_layout(const char *line, const char *end, struct layout *l, struct lpo_err *err)
{
    unsigned seen = 0;
    const char *cell;
    size_t len;

    while ((cell = next_cell(&line, end, &len))) {
        unsigned what = 0;

        if (l->count == MOST_COLUMNS)
            return lpo_fail(err, LPO_E_LIMIT, "more than %d columns", MOST_COLUMNS);
        while (what < AT_NOTHING &&
               (strlen(names[what]) != len || memcmp(names[what], cell, len) != 0))
            what++;
        if (what < AT_NOTHING && (seen & (1u << what)))
            what = AT_NOTHING; /* the first of two counts */
        l->at[l->count++] = what;
        seen |= 1u << what;
    }
    if (!(seen & (1u << AT_TIME)) || !(seen & (1u << AT_GPU)))
        return lpo_fail(
            err, LPO_E_FORMAT,
            "the first line names no columns 'unix_ns' and 'gpu'; these are not samples "
            "of lpo's nvml stage");
    return 0;
}

static bool number(const char *cell, size_t len, uint64_t *out)
{
    uint64_t v = 0;

    for (size_t i = 0; i < len; i++)
        if (cell[i] < '0' || cell[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(cell[i] - '0'), &v))
            return false;
    *out = v;
    return len > 0;
}

static bool read_line(const char *line, const char *end, const struct layout *l, uint64_t *gpu,
                      struct lpo_power_sample *s)
{
    unsigned known = 0;
    uint64_t value[AT_NOTHING + 1] = { 0 };
    const char *cell;
    size_t len, column = 0;

    for (; (cell = next_cell(&line, end, &len)); column++) {
        unsigned what = column < l->count ? l->at[column] : AT_NOTHING;

        if (what == AT_NOTHING || len == 0)
            continue;
        if (!number(cell, len, &value[what]))
            return false;
        known |= 1u << what;
    }
    if (column < l->count || !(known & (1u << AT_TIME)) || !(known & (1u << AT_GPU)) ||
        value[AT_TIME] > (uint64_t)last_ns)
        return false;
    *gpu = value[AT_GPU];
    s->unix_ns = (int64_t)value[AT_TIME];
    s->known = known & ((1u << LPO_POWER_COLUMNS) - 1);
    memcpy(s->value, value, sizeof s->value);
    return true;
}

static struct lpo_power_gpu *gpu_of(struct lpo_power *p, uint64_t gpu)
{
    size_t at = 0;

    while (at < p->gpus.len && p->gpus.at[at].gpu < gpu)
        at++;
    if (at < p->gpus.len && p->gpus.at[at].gpu == gpu)
        return &p->gpus.at[at];
    if (p->gpus.len == MOST_GPUS)
        return NULL;
    lpo_vec_push(&p->gpus, (struct lpo_power_gpu){ 0 });
    memmove(&p->gpus.at[at + 1], &p->gpus.at[at], (p->gpus.len - 1 - at) * sizeof *p->gpus.at);
    p->gpus.at[at] = (struct lpo_power_gpu){ .gpu = gpu };
    return &p->gpus.at[at];
}

static bool has(const struct lpo_power_sample *s, enum lpo_power_column c)
{
    return s->known & (1u << c);
}

static bool add_sample(struct lpo_power *p, uint64_t gpu, struct lpo_power_sample *s)
{
    struct lpo_power_gpu *g = gpu_of(p, gpu);

    if (!g)
        return false;
    if (g->samples.len) {
        const struct lpo_power_sample *before = &g->samples.at[g->samples.len - 1];
        int64_t dt = s->unix_ns - before->unix_ns;

        if (dt <= 0)
            return false;
        s->joules = before->joules;
        s->unknown_ns = before->unknown_ns;
        if (dt > LPO_POWER_HOLE_NS || !has(s, LPO_POWER_MW) || !has(before, LPO_POWER_MW))
            s->unknown_ns += dt;
        else
            s->joules += ((double)s->value[LPO_POWER_MW] + (double)before->value[LPO_POWER_MW]) /
                         2 * 1e-12 * (double)dt;
    }
    lpo_vec_push(&g->samples, *s);
    return true;
}

int lpo_power_parse(const char *text, size_t len, struct lpo_power **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_power) p = lpo_xcalloc(1, sizeof *p);
    struct layout layout = { .count = 0 };
    const char *end = text + len, *line_end = len ? memchr(text, '\n', len) : NULL;

    if (!line_end)
        return lpo_fail(err, LPO_E_FORMAT, "no line of column names");
    if (read_layout(text, line_end, &layout, err) < 0)
        return err ? err->code : LPO_E_FORMAT;
    for (const char *line = line_end + 1; line < end; line = line_end + 1) {
        struct lpo_power_sample s = { 0 };
        uint64_t gpu;

        line_end = memchr(line, '\n', (size_t)(end - line));
        /* a last line without its end was cut: its last number may be half of one */
        if (!line_end) {
            p->skipped++;
            break;
        }
        if (!read_line(line, line_end, &layout, &gpu, &s) || !add_sample(p, gpu, &s))
            p->skipped++;
    }
    *out = p;
    p = NULL;
    return 0;
}

void lpo_power_destroy(struct lpo_power *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->gpus.len; i++)
        lpo_vec_free(&p->gpus.at[i].samples);
    lpo_vec_free(&p->gpus);
    free(p);
}
