/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/app.h"
#include "report/doc/doc.h"
#include "util/path.h"
#include "util/visible.h"
#include "writer/layout.h"
#include "writer/writer.h"

enum { USUAL = 100, NARROW = 40, WIDE = 500 };

static size_t screen_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = { 0 };
    size_t width = USUAL;

    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    else if (columns && strtoul(columns, NULL, 10))
        width = strtoul(columns, NULL, 10);
    return width < NARROW ? NARROW : width > WIDE ? WIDE : width;
}

void lpo_cli_print_wrapped(const struct lpo_app *app, const char *text, size_t column)
{
    LPO_STR out = { 0 };

    lpo_writer_add_wrapped(&out, text, column, column, screen_width());
    fprintf(app->out, "%s\n", lpo_str_text(&out));
}

static bool has_width(void)
{
    return isatty(STDOUT_FILENO) || getenv("COLUMNS");
}

static bool has_colour(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

/* The writer marks what is bright or dim; everything else is made safe here once more. */
static void print_marked(const struct lpo_str *text, FILE *to)
{
    static const char *const codes[] = { [LPO_MARK_BOLD] = "\033[1m",
                                         [LPO_MARK_DIM] = "\033[2m",
                                         [LPO_MARK_WARN] = "\033[33m",
                                         [LPO_MARK_BAR] = "\033[36m",
                                         [LPO_MARK_END] = "\033[0m" };
    LPO_STR out = { 0 };

    for (size_t i = 0, next; i < text->len; i = next) {
        unsigned char c = (unsigned char)text->at[i];

        next = i + 1;
        if (c && c <= LPO_MARK_END) {
            lpo_str_add(&out, codes[c]);
            continue;
        }
        while (next < text->len &&
               (!text->at[next] || (unsigned char)text->at[next] > LPO_MARK_END))
            next++;
        lpo_visible_add_lines(&out, text->at + i, next - i);
    }
    fwrite(lpo_str_text(&out), 1, out.len, to);
    fflush(to);
}

void lpo_cli_print_doc(struct lpo_app *app, const struct lpo_doc *doc,
                       const struct lpo_writer *writer)
{
    bool text = writer == &lpo_writer_text, terminal = text && isatty(STDOUT_FILENO);
    struct lpo_doc shown = *doc; /* the same sections, another width */
    LPO_STR out = { .spill = writer->streams ? app->out : NULL };

    shown.width = text && (!doc->whole || has_width()) ? screen_width() : 0;
    shown.bars = terminal;
    shown.colour = terminal && has_colour();
    writer->write(&shown, &out);
    if (shown.colour) {
        fflush(app->out);
        print_marked(&out, stdout);
    } else {
        fwrite(lpo_str_text(&out), 1, out.len, app->out);
    }
}

extern char **environ;

static bool has_screen(void)
{
    const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

    return (x && *x) || (wayland && *wayland);
}

/* In a session of its own, silent: a browser outlives lpo and talks on its terminal. */
static int start(const char *page)
{
    char *argv[] = { "xdg-open", (char *)page, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    int rc;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    rc = posix_spawnp(&pid, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static void show(struct lpo_app *app, const char *what, const char *said)
{
    int rc = 0;

    if (!has_screen())
        fprintf(app->log, "--open: this machine has no screen; the page is %s\n", said);
    else if ((rc = start(what)) != 0)
        fprintf(app->log, "--open: xdg-open cannot be started (%s); the page is %s\n", strerror(rc),
                said);
}

void lpo_cli_open_address(struct lpo_app *app, const char *url)
{
    show(app, url, url);
}

void lpo_cli_open_page(struct lpo_app *app, const char *dir)
{
    const char *page = lpo_path_join(app->arena, dir, "report.html");
    LPO_FREED char *whole = realpath(page, NULL);

    if (whole)
        show(app, whole, page);
    else
        fprintf(app->log, "--open: there is no %s (report.formats leaves html out?)\n", page);
}
