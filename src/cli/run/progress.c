/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/job.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "pipeline/pipeline.h"
#include "pipeline/stage.h"
#include "run/clock.h"
#include "run/manifest.h"
#include "util/path.h"
#include "util/units.h"
#include "util/visible.h"

static const int64_t redraw_ns = 200000000;

void lpo_cli_progress_init(struct lpo_progress *p, FILE *to, bool quiet)
{
    const char *term = getenv("TERM");

    *p = (struct lpo_progress){ .to = to, .quiet = quiet };
    p->moving = isatty(fileno(to)) && term && strcmp(term, "dumb") != 0;
}

static void wipe(struct lpo_progress *p)
{
    if (p->drawn)
        fprintf(p->to, "\r\033[K");
    p->drawn = 0;
}

static int columns(const struct lpo_progress *p)
{
    struct winsize size;

    return ioctl(fileno(p->to), TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

static void on_begin(void *ctx, const struct lpo_stage *stage)
{
    struct lpo_progress *p = ctx;

    if (p->quiet)
        return;
    wipe(p);
    p->unnamed = p->moving ? stage->name : NULL;
    if (!p->moving)
        fprintf(p->to, "%s: %s\n", stage->name, stage->summary);
    fflush(p->to);
}

/* What the program printed last; what is waited for, while it prints nothing. */
static void add_news(struct lpo_str *out, const struct lpo_step *step, const char *line,
                     size_t room)
{
    LPO_STR news = { 0 };

    if (*line)
        lpo_str_add(&news, line);
    else
        lpo_str_addf(&news, "waiting for %s", lpo_path_base(step->argv[step->program]));
    lpo_visible_add(out, lpo_str_text(&news), news.len, room);
}

static void on_tick(void *ctx, const struct lpo_step *step, int64_t elapsed_ns, const char *line)
{
    struct lpo_progress *p = ctx;
    int64_t now = lpo_run_clock_ns();
    LPO_STR shown = { 0 };
    int room;

    if (p->quiet || !p->moving || p->mid_line || now - p->last_drawn_ns < redraw_ns)
        return;
    p->last_drawn_ns = now;
    room = columns(p) - 1;
    wipe(p);
    p->drawn = 1;
    lpo_visible_add(&shown, step->label, strlen(step->label), 18);
    for (size_t wide = lpo_visible_width(shown.at, shown.len); wide < 18; wide++)
        lpo_str_addc(&shown, ' ');
    lpo_str_addf(&shown, " %6.1f s  ", (double)elapsed_ns / 1e9);
    if (room > 30)
        add_news(&shown, step, line, (size_t)room - 30);
    fputs(lpo_str_text(&shown), p->to);
    fflush(p->to);
}

void lpo_cli_progress_show(struct lpo_progress *p, const char *line)
{
    LPO_STR shown = { 0 };

    if (p->quiet || !p->moving)
        return;
    wipe(p);
    p->drawn = 1;
    lpo_visible_add(&shown, line, strlen(line), (size_t)columns(p) - 1);
    fputs(lpo_str_text(&shown), p->to);
    fflush(p->to);
}

/* A terminal would obey the control bytes of a program: it gets text, tabs and line ends. Files and
 * pipes get the bytes. */
static void show_bytes(FILE *to, const char *bytes, size_t len)
{
    if (!isatty(fileno(to))) {
        fwrite(bytes, 1, len, to);
        return;
    }
    for (size_t i = 0; i < len;) {
        LPO_STR shown = { 0 };
        size_t n = i;

        while (n < len && !strchr("\n\r\t", bytes[n] ? bytes[n] : 1))
            n++;
        if (n > i)
            lpo_visible_add(&shown, bytes + i, n - i, 0);
        fwrite(lpo_str_text(&shown), 1, shown.len, to);
        if (n < len)
            fputc(bytes[n++], to);
        i = n;
    }
}

static void on_output(void *ctx, bool is_stderr, const char *bytes, size_t len)
{
    struct lpo_progress *p = ctx;
    FILE *to = is_stderr ? stderr : stdout;

    if (p->quiet)
        return;
    wipe(p);
    if (p->unnamed) /* a program prints the same under every stage */
        fprintf(p->to, "%s:\n", p->unnamed);
    p->unnamed = NULL;
    fflush(p->to);
    show_bytes(to, bytes, len);
    fflush(to);
    p->mid_line = bytes[len - 1] != '\n';
}

static void end_line(struct lpo_progress *p)
{
    if (p->mid_line)
        fputc('\n', p->to);
    p->mid_line = false;
}

static void print_line(struct lpo_progress *p, const struct lpo_str *text)
{
    LPO_STR shown = { 0 };

    lpo_visible_add(&shown, lpo_str_text(text), text->len, 0);
    fprintf(p->to, "%s\n", lpo_str_text(&shown));
}

static void on_end(void *ctx, const struct lpo_stage_record *r)
{
    struct lpo_progress *p = ctx;
    LPO_STR took = { 0 }, text = { 0 };

    if (p->quiet && (r->state == LPO_DONE || r->state == LPO_SKIPPED))
        return; /* failures are always printed */
    wipe(p);
    end_line(p);
    lpo_units_add_duration(&took, r->wall_ns);
    lpo_str_addf(&text, "%s: %s", r->name, lpo_run_state_name(r->state));
    if (r->state != LPO_SKIPPED)
        lpo_str_addf(&text, " in %s", lpo_str_text(&took));
    if (r->message)
        lpo_str_addf(&text, ": %s", r->message);
    print_line(p, &text);
    for (size_t i = 0; i < r->nnotes; i++) {
        lpo_str_clear(&text);
        lpo_str_addf(&text, "  note: %s", r->notes[i]);
        print_line(p, &text);
    }
    fflush(p->to);
}

void lpo_cli_progress_say(struct lpo_progress *p, const char *fmt, ...)
{
    LPO_STR text = { 0 };
    va_list ap;

    if (p->quiet)
        return;
    wipe(p);
    va_start(ap, fmt);
    lpo_str_addv(&text, fmt, ap);
    va_end(ap);
    print_line(p, &text);
    fflush(p->to);
}

struct lpo_pipeline_events lpo_cli_progress_events(struct lpo_progress *p)
{
    return (struct lpo_pipeline_events){ p, on_begin, on_tick, on_end, on_output };
}
