/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/waiting.h"

#include <pthread.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "run/clock.h"
#include "util/thread.h"
#include "util/units.h"
#include "util/visible.h"
#include "util/work.h"

static const int64_t patience_ns = 1000000000, redraw_ns = 250000000;

/* The thread that draws while another works; begin and end come in pairs. */
static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool runs, stop, drawn;
    int64_t since_ns;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

void lpo_cli_waiting_line(const struct lpo_work_state *s, int64_t elapsed_ns, struct lpo_str *out)
{
    lpo_str_add(out, s->phase);
    if (s->file[0]) {
        lpo_str_addc(out, ' ');
        lpo_visible_add(out, s->file, strlen(s->file), 40);
    }
    if (s->of_files > 1)
        lpo_str_addf(out, " (%llu of %llu)", (unsigned long long)s->files,
                     (unsigned long long)s->of_files);
    if (s->bytes && s->bytes <= s->of_bytes) { /* else some of it is read twice */
        lpo_str_add(out, ", ");
        lpo_units_add_bytes(out, (double)s->bytes);
        lpo_str_add(out, " of ");
        lpo_units_add_bytes(out, (double)s->of_bytes);
    }
    lpo_str_addf(out, ", %lld s", (long long)(elapsed_ns / 1000000000));
}

static void draw(void)
{
    struct winsize size = { 0 };
    size_t room =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
    struct lpo_work_state state;
    LPO_STR line = { 0 }, shown = { 0 };

    lpo_work_look(&state);
    if (!state.phase)
        return;
    lpo_cli_waiting_line(&state, lpo_run_clock_ns() - waiting.since_ns, &line);
    lpo_visible_add(&shown, line.at, line.len, room - 1);
    fprintf(stderr, "\r\033[K%s", lpo_str_text(&shown));
    fflush(stderr);
    waiting.drawn = true;
}

static struct timespec moment_after(int64_t ns)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    ns += t.tv_nsec;
    t.tv_sec += ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    return t;
}

static void *look_on(void *arg)
{
    int64_t wait_ns = patience_ns;

    (void)arg;
    pthread_mutex_lock(&waiting.lock);
    while (!waiting.stop) {
        struct timespec until = moment_after(wait_ns);

        if (pthread_cond_timedwait(&waiting.moved, &waiting.lock, &until) == 0 || waiting.stop)
            continue;
        draw();
        wait_ns = redraw_ns;
    }
    pthread_mutex_unlock(&waiting.lock);
    return NULL;
}

static void begin(void)
{
    waiting.stop = waiting.drawn = false;
    waiting.since_ns = lpo_run_clock_ns();
    waiting.runs = lpo_thread_start(&waiting.thread, look_on, NULL) == 0;
}

static void end(void)
{
    if (!waiting.runs)
        return;
    pthread_mutex_lock(&waiting.lock);
    waiting.stop = true;
    pthread_cond_signal(&waiting.moved);
    pthread_mutex_unlock(&waiting.lock);
    pthread_join(waiting.thread, NULL);
    waiting.runs = false;
    if (waiting.drawn)
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}

void lpo_cli_waiting_offer(void)
{
    static const struct lpo_work_watch watch = { begin, end };
    const char *term = getenv("TERM");

    if (isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0)
        lpo_work_watch(&watch);
}
