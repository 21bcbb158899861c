/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/open_page.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/app.h"
#include "util/path.h"

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
    char *whole = realpath(page, NULL);

    if (whole)
        show(app, whole, page);
    else
        fprintf(app->log, "--open: there is no %s (report.formats leaves html out?)\n", page);
    free(whole);
}
