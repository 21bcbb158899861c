/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/private.h"

#include <glob.h>

#include "trace/reader.h"
#include "util/path.h"

/* A file that ends like this is the second form of one with the same stem and the other ending, of
 * that format. */
static const struct form {
    const char *ending, *first, *format;
    bool any_stem; /* the first form has a name of its own, in the same folder */
} forms[] = {
    { ".sqlite", ".nsys-rep", "nsys-rep", false },
    { ".sqlite.gz", ".nsys-rep", "nsys-rep", false },
    { ".sqlite", ".qdrep", "nsys-rep", false },
    { ".sqlite.gz", ".qdrep", "nsys-rep", false },
    { ".trace.json.gz", ".xplane.pb", "xplane", false },
    { "/perfetto_trace.json.gz", "/*.xplane.pb", "xplane", true },
};

static bool is_of_format(const char *path, const char *format)
{
    const struct lpo_reader *reader;

    return lpo_path_exists(path) && lpo_trace_reader_find(path, &reader, NULL) == 0 &&
           strcmp(reader->name, format) == 0;
}

static bool any_of_format(const char *pattern, const char *format)
{
    glob_t g = { 0 };
    bool found = false;

    if (glob(pattern, 0, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc && !found; i++)
            found = is_of_format(g.gl_pathv[i], format);
    globfree(&g);
    return found;
}

/* What `lpo kernels` and the older ncu-profile-kernels print of a report: ncu.details.csv and
 * ncu.section_NAME.csv beside ncu.ncu-rep. */
static bool is_page_of_ncu(struct lpo_arena *a, const char *path)
{
    const char *base = lpo_path_base(path), *dir = lpo_path_dir(a, path);

    if (!lpo_str_starts(base, "ncu.") || !lpo_str_ends(base, ".csv"))
        return false;
    return is_of_format(lpo_path_join(a, dir, "ncu.ncu-rep"), "ncu-rep");
}

bool lpo_rundir_is_second_form(const char *path)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    if (is_page_of_ncu(a, path))
        return true;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct form *f = &forms[i];
        const char *first;

        if (!lpo_str_ends(path, f->ending))
            continue;
        first =
            lpo_arena_printf(a, "%.*s%s", (int)(strlen(path) - strlen(f->ending)), path, f->first);
        if (f->any_stem ? any_of_format(first, f->format) : is_of_format(first, f->format))
            return true;
    }
    return false;
}
