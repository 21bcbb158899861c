/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/least_squares.h"

/* Of the diagonal: keeps two unknowns that always come together solvable. */
static const double ridge = 1e-10;

/* Row `i` of a lower triangle that is stored row after row. */
static size_t triangle(size_t i)
{
    return i * (i + 1) / 2;
}

struct lpo_counters_normal *lpo_counters_normal_create(size_t unknowns, size_t columns)
{
    struct lpo_counters_normal *n = lpo_xcalloc(1, sizeof *n);

    n->unknowns = unknowns;
    n->columns = columns;
    n->gram = lpo_xcalloc(triangle(unknowns) + 1, sizeof *n->gram);
    n->right = lpo_xcalloc(unknowns * columns + 1, sizeof *n->right);
    n->factors = lpo_xcalloc(unknowns + 1, sizeof *n->factors);
    n->values = lpo_xcalloc(columns + 1, sizeof *n->values);
    n->squares = lpo_xcalloc(columns + 1, sizeof *n->squares);
    return n;
}

void lpo_counters_normal_destroy(struct lpo_counters_normal *n)
{
    if (!n)
        return;
    free(n->gram);
    free(n->right);
    free(n->factors);
    free(n->values);
    free(n->squares);
    free(n);
}

void lpo_counters_normal_add(struct lpo_counters_normal *n, const struct lpo_term *terms,
                             size_t count, const double *values)
{
    n->equations++;
    for (size_t c = 0; c < n->columns; c++) {
        n->values[c] += values[c];
        n->squares[c] += values[c] * values[c];
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t a = terms[i].unknown;
        double factor = terms[i].factor;

        n->factors[a] += factor;
        n->gram[triangle(a) + a] += factor * factor;
        for (size_t c = 0; c < n->columns; c++)
            n->right[c * n->unknowns + a] += factor * values[c];
        for (size_t k = 0; k < i; k++) {
            uint32_t b = terms[k].unknown;

            n->gram[a > b ? triangle(a) + b : triangle(b) + a] += factor * terms[k].factor;
        }
    }
}

/* The equations of one column, scaled so that the diagonal is 1. */
struct system {
    size_t count;
    double *matrix; /* lower triangle */
    double *right, *scale;
    double *work;      /* lower triangle of the unknowns that are free */
    double *x, *slope; /* of the answer; slope: of the squares, where an unknown is held at 0 */
    uint32_t *rows;    /* of the free ones */
    bool *held;        /* at 0 */
};

/* Four sums at once: one alone waits for each addition before it begins the next. */
static double dot(const double *a, const double *b, size_t count)
{
    double sum[4] = { 0 };
    size_t i = 0;

    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += a[i + k] * b[i + k];
    for (; i < count; i++)
        sum[0] += a[i] * b[i];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* The lower triangle `a` becomes its Cholesky factor. */
static void factorise(double *a, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double *row = a + triangle(i);

        for (size_t k = 0; k <= i; k++) {
            const double *other = a + triangle(k);
            double sum = row[k] - dot(row, other, k);

            if (k < i)
                row[k] = sum / other[k];
            else
                row[i] = sqrt(fmax(sum, ridge));
        }
    }
}

static void solve_factorised(const double *a, size_t count, double *x)
{
    for (size_t i = 0; i < count; i++) {
        const double *row = a + triangle(i);

        for (size_t k = 0; k < i; k++)
            x[i] -= row[k] * x[k];
        x[i] /= row[i];
    }
    for (size_t i = count; i-- > 0;) {
        const double *row = a + triangle(i);

        x[i] /= row[i];
        for (size_t k = 0; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}

static double at(const struct system *s, size_t i, size_t k)
{
    return s->matrix[i > k ? triangle(i) + k : triangle(k) + i];
}

/* The answer with the held unknowns at 0, and the slopes of those. */
static void solve_free(struct system *s)
{
    double *y = lpo_xcalloc(s->count + 1, sizeof *y);
    size_t free_count = 0;

    for (size_t i = 0; i < s->count; i++)
        if (!s->held[i])
            s->rows[free_count++] = (uint32_t)i;
    for (size_t i = 0; i < free_count; i++) {
        for (size_t k = 0; k <= i; k++)
            s->work[triangle(i) + k] = at(s, s->rows[i], s->rows[k]);
        y[i] = s->right[s->rows[i]];
    }
    factorise(s->work, free_count);
    solve_factorised(s->work, free_count, y);
    memset(s->x, 0, s->count * sizeof *s->x);
    for (size_t i = 0; i < free_count; i++)
        s->x[s->rows[i]] = y[i];
    for (size_t i = 0; i < s->count; i++) {
        s->slope[i] = 0;
        if (!s->held[i])
            continue;
        s->slope[i] = -s->right[i];
        for (size_t k = 0; k < free_count; k++)
            s->slope[i] += at(s, i, s->rows[k]) * s->x[s->rows[k]];
    }
    free(y);
}

/* Unknowns on the wrong side: below 0, or held where letting go would fit better. */
static size_t wrong_ones(const struct system *s, double tolerance, uint32_t *out)
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++)
        if ((s->held[i] ? s->slope[i] : s->x[i]) < -tolerance)
            out[count++] = (uint32_t)i;
    return count;
}

/* Block principal pivoting (Kim and Park, 2011): every wrong unknown changes sides at once; when
 * that does not lead to fewer of them for a while, only the last one does, which cannot go round
 * in circles. A round costs the cube of their number, so large ones have fewer; what is still
 * below 0 then is put at 0. */
static void solve_non_negative(struct system *s)
{
    enum { TRIES = 3, LEAST_ROUNDS = 12, MOST_ROUNDS = 200 };
    double most = 6e9 / pow((double)s->count + 1, 3);
    int rounds = most > MOST_ROUNDS ? MOST_ROUNDS : most < LEAST_ROUNDS ? LEAST_ROUNDS : (int)most;
    LPO_FREED uint32_t *wrong = lpo_xcalloc(s->count + 1, sizeof *wrong);
    size_t best = s->count + 1, tries = TRIES, count;
    double largest = 0;

    for (size_t i = 0; i < s->count; i++)
        largest = fmax(largest, fabs(s->right[i]));
    for (int round = 0; round < rounds; round++) {
        solve_free(s);
        count = wrong_ones(s, 1e-9 * largest, wrong);
        if (!count)
            break;
        if (count < best) {
            best = count;
            tries = TRIES;
        } else if (tries > 0) {
            tries--;
        } else {
            wrong[0] = wrong[count - 1];
            count = 1;
        }
        for (size_t i = 0; i < count; i++)
            s->held[wrong[i]] ^= true;
    }
    for (size_t i = 0; i < s->count; i++)
        s->x[i] = fmax(s->x[i], 0);
}

static void fill_system(struct system *s, const struct lpo_counters_normal *n, size_t column,
                        const double *extra, const struct lpo_prior *priors)
{
    const double *right = n->right + column * n->unknowns;

    for (size_t i = 0; i < n->unknowns; i++) {
        double own = n->gram[triangle(i) + i] + (extra ? extra[i] : 0);

        s->scale[i] = own > 0 ? 1 / sqrt(own) : 0;
        s->right[i] = (right[i] + (extra ? extra[i] * priors[i].mean : 0)) * s->scale[i];
        for (size_t k = 0; k < i; k++)
            s->matrix[triangle(i) + k] = n->gram[triangle(i) + k] * s->scale[i] * s->scale[k];
        s->matrix[triangle(i) + i] = 1 + ridge;
        s->held[i] = false;
    }
}

static struct system create_system(size_t count)
{
    return (struct system){
        .count = count,
        .matrix = lpo_xcalloc(triangle(count) + 1, sizeof(double)),
        .work = lpo_xcalloc(triangle(count) + 1, sizeof(double)),
        .right = lpo_xcalloc(count + 1, sizeof(double)),
        .scale = lpo_xcalloc(count + 1, sizeof(double)),
        .x = lpo_xcalloc(count + 1, sizeof(double)),
        .slope = lpo_xcalloc(count + 1, sizeof(double)),
        .rows = lpo_xcalloc(count + 1, sizeof(uint32_t)),
        .held = lpo_xcalloc(count + 1, sizeof(bool)),
    };
}

static void free_system(struct system *s)
{
    free(s->matrix);
    free(s->work);
    free(s->right);
    free(s->scale);
    free(s->x);
    free(s->slope);
    free(s->rows);
    free(s->held);
}

/* The sum of squares that the answer leaves. */
static double left_over(const struct lpo_counters_normal *n, size_t column, const double *x)
{
    const double *right = n->right + column * n->unknowns;
    double sum = n->squares[column];

    for (size_t i = 0; i < n->unknowns; i++) {
        double row = 0;

        if (x[i] == 0)
            continue;
        for (size_t k = 0; k < i; k++)
            row += n->gram[triangle(i) + k] * x[k];
        sum += x[i] * (2 * row + n->gram[triangle(i) + i] * x[i] - 2 * right[i]);
    }
    return fmax(sum, 0);
}

static void judge(const struct lpo_counters_normal *n, size_t column, struct lpo_solution *out)
{
    double left = left_over(n, column, out->value), fitted = 0, count = (double)n->equations;
    double spread = n->squares[column] - n->values[column] * n->values[column] / fmax(count, 1);
    size_t used = 0;

    for (size_t i = 0; i < n->unknowns; i++) {
        fitted += out->value[i] * n->factors[i];
        used += out->value[i] > 0;
    }
    out->r2 = spread > 0 ? 1 - left / spread : 0;
    out->fitted = n->values[column] > 0 ? fitted / n->values[column] : 1;
    out->sigma = sqrt(left / fmax(count - (double)used, 1));
}

/* How much the equations leave when no bound holds an unknown: what weighs the priors. */
static double free_sigma(struct system *s, const struct lpo_counters_normal *n, size_t column)
{
    double left;

    fill_system(s, n, column, NULL, NULL);
    solve_free(s);
    for (size_t i = 0; i < n->unknowns; i++)
        s->x[i] *= s->scale[i];
    left = left_over(n, column, s->x);
    return sqrt(left / fmax((double)n->equations - (double)n->unknowns, 1));
}

static void solve_with(struct system *s, const struct lpo_counters_normal *n, size_t column,
                       const double *extra, const struct lpo_prior *priors,
                       struct lpo_solution *out)
{
    fill_system(s, n, column, extra, priors);
    solve_non_negative(s);
    for (size_t i = 0; i < n->unknowns; i++)
        out->value[i] = s->x[i] * s->scale[i];
    judge(n, column, out);
}

/* From the whole matrix, as if no unknown were held at 0: rather too large than too small. */
static void find_errors(struct system *s, const struct lpo_counters_normal *n,
                        struct lpo_solution *out)
{
    LPO_FREED double *column = lpo_xcalloc(s->count + 1, sizeof *column);

    memcpy(s->work, s->matrix, triangle(s->count) * sizeof *s->work);
    factorise(s->work, s->count);
    for (size_t i = 0; i < s->count; i++) { /* column i of the inverse of the factor */
        double sum = 0;

        for (size_t k = i; k < s->count; k++) {
            const double *row = s->work + triangle(k);

            column[k] = ((k == i) - dot(row + i, column + i, k - i)) / row[k];
            sum += column[k] * column[k];
        }
        out->error[i] =
            n->gram[triangle(i) + i] > 0 ? out->sigma * sqrt(sum) * s->scale[i] : INFINITY;
    }
}

struct lpo_solution lpo_counters_normal_solve(const struct lpo_counters_normal *n, size_t column,
                                              const struct lpo_prior *priors)
{
    struct lpo_solution out = { .value = lpo_xcalloc(n->unknowns + 1, sizeof(double)),
                                .error = lpo_xcalloc(n->unknowns + 1, sizeof(double)) };
    struct system s = create_system(n->unknowns);
    LPO_FREED double *extra = NULL;

    if (priors) {
        double sigma = free_sigma(&s, n, column);

        extra = lpo_xcalloc(n->unknowns + 1, sizeof *extra);
        for (size_t i = 0; i < n->unknowns; i++)
            if (priors[i].sd > 0)
                extra[i] = sigma * sigma / (priors[i].sd * priors[i].sd);
    }
    solve_with(&s, n, column, extra, priors, &out);
    find_errors(&s, n, &out);
    for (size_t i = 0; priors && i < n->unknowns; i++)
        if (n->gram[triangle(i) + i] == 0)
            out.value[i] = priors[i].mean;
    free_system(&s);
    return out;
}

void lpo_counters_solution_free(struct lpo_solution *s)
{
    free(s->value);
    free(s->error);
    *s = (struct lpo_solution){ 0 };
}

struct lpo_counters_normal *lpo_counters_normal_merge(const struct lpo_counters_normal *n,
                                                      const uint32_t *group, const double *scale,
                                                      size_t groups)
{
    struct lpo_counters_normal *out = lpo_counters_normal_create(groups, n->columns);

    out->equations = n->equations;
    memcpy(out->values, n->values, n->columns * sizeof *out->values);
    memcpy(out->squares, n->squares, n->columns * sizeof *out->squares);
    for (size_t i = 0; i < n->unknowns; i++) {
        size_t a = group[i];

        out->factors[a] += n->factors[i] * scale[i];
        for (size_t c = 0; c < n->columns; c++)
            out->right[c * groups + a] += n->right[c * n->unknowns + i] * scale[i];
        for (size_t k = 0; k <= i; k++) {
            double v = n->gram[triangle(i) + k] * scale[i] * scale[k];
            size_t b = group[k];

            /* off the diagonal each pair stands once, and two of one group meet on it twice */
            out->gram[a > b ? triangle(a) + b : triangle(b) + a] += a == b && i != k ? 2 * v : v;
        }
    }
    return out;
}
