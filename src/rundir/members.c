/* SPDX-License-Identifier: Apache-2.0 */
#include "rundir/belonging.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "util/path.h"

#define FOLDER "ranks"

enum { MOST_MEMBERS = 1 << 16, MOST_DIGITS = 7 };

/* The number of "rank3" up to `end`; -1: it is not such a name. */
static int32_t number_of(const char *name, size_t len)
{
    static const char word[] = "rank";
    size_t digits = len - (sizeof word - 1);
    int32_t n = 0;

    if (len <= sizeof word - 1 || digits > MOST_DIGITS || strncmp(name, word, sizeof word - 1) != 0)
        return -1;
    for (size_t i = sizeof word - 1; i < len; i++) {
        if (!isdigit((unsigned char)name[i]))
            return -1;
        n = n * 10 + (name[i] - '0');
    }
    return n;
}

int32_t lpo_rundir_member_rank(const char *file)
{
    if (!lpo_str_starts(file, FOLDER "/"))
        return -1;
    file += sizeof FOLDER;
    return number_of(file, strcspn(file, "/"));
}

LPO_COMPARE(by_number, int32_t, LPO_UP_OF(*a, *b));

static bool is_folder(DIR *d, const char *name)
{
    struct stat st;

    return lpo_path_stat_at(dirfd(d), name, AT_SYMLINK_NOFOLLOW, &st) && S_ISDIR(st.st_mode);
}

size_t lpo_rundir_members(struct lpo_arena *a, const char *dir, const char ***out)
{
    DIR *d = lpo_path_open_dir(lpo_path_join(a, dir, FOLDER));
    LPO_FREED LPO_VEC(int32_t) numbers = { 0 };
    size_t count;

    for (struct dirent *e; d && numbers.len < MOST_MEMBERS && (e = readdir(d));) {
        int32_t n = number_of(e->d_name, strlen(e->d_name));

        if (n >= 0 && is_folder(d, e->d_name))
            lpo_vec_push(&numbers, n);
    }
    if (d)
        closedir(d);
    count = numbers.len;
    if (count)
        qsort(numbers.at, count, sizeof *numbers.at, by_number);
    *out = lpo_arena_array(a, count + 1, sizeof **out);
    for (size_t i = 0; i < count; i++)
        (*out)[i] = lpo_arena_printf(a, FOLDER "/rank%d", (int)numbers.at[i]);
    return count;
}
