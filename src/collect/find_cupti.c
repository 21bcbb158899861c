/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/find_cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/mem.h"

static const char *const names[] = { "libcupti.so.13", "libcupti.so.12" };
static const char *const folders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/opt/cuda/extras/CUPTI/lib64",
};

#define ENTRY(field, name, needed)                                                                 \
    {                                                                                              \
        name, offsetof(struct cupti, field), needed                                                \
    }

static const struct lpoc_entry entries[] = {
    ENTRY(get_version, "cuptiGetVersion", true),
    ENTRY(subscribe_v2, "cuptiSubscribe_v2", false),
    ENTRY(subscribe, "cuptiSubscribe", true),
    ENTRY(unsubscribe, "cuptiUnsubscribe", true),
    ENTRY(enable_callback, "cuptiEnableCallback", true),
    ENTRY(register_callbacks, "cuptiActivityRegisterCallbacks", true),
    ENTRY(enable, "cuptiActivityEnable", true),
    ENTRY(disable, "cuptiActivityDisable", true),
    ENTRY(set_attribute, "cuptiActivitySetAttribute", false),
    ENTRY(next_record, "cuptiActivityGetNextRecord", true),
    ENTRY(dropped_records, "cuptiActivityGetNumDroppedRecords", false),
    ENTRY(flush_all, "cuptiActivityFlushAll", true),
    ENTRY(flush_period, "cuptiActivityFlushPeriod", false),
    ENTRY(graph_node_id, "cuptiGetGraphNodeId", false),
    ENTRY(graph_exec_id, "cuptiGetGraphExecId", false),
    ENTRY(finalize, "cuptiFinalize", false),
    ENTRY(result_string, "cuptiGetResultString", false),
};

const char *lpoc_entries_find(void *lib, const struct lpoc_entry *table, size_t count, void *out)
{
    const char *missing = NULL;

    for (size_t i = 0; i < count; i++) {
        void *f = dlsym(lib, table[i].name);
        memcpy((char *)out + table[i].at, &f, sizeof f);
        if (!f && table[i].needed && !missing)
            missing = table[i].name;
    }
    return missing;
}

/* NOLOAD: a program that has not loaded the driver must not get it from its profiler. */
void *lpoc_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    return lib ? lib : RTLD_DEFAULT;
}

/* PyTorch brings a CUPTI of its own under another name. Two of them in one process do not work: the
 * one that is loaded is taken, whatever it is called. */
static int look(struct dl_phdr_info *info, size_t size, void *out)
{
    const char *base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    void **lib = out;

    (void)size;
    base = base ? base + 1 : info->dlpi_name;
    if (base && strncmp(base, "libcupti", 8) == 0 && strstr(base, ".so"))
        *lib = dlopen(info->dlpi_name, RTLD_NOW | RTLD_NOLOAD);
    return *lib != NULL;
}

static void *open_present(void)
{
    void *lib = NULL;

    for (size_t i = 0; !lib && i < sizeof names / sizeof *names; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    if (!lib)
        dl_iterate_phdr(look, &lib);
    return lib;
}

/* FOLDER + UNDER / NAME, in a page of its own: the program's stack may be small. */
static void *open_in(const char *folder, const char *under, const char *name)
{
    enum { ROOM = 4096 };
    char *path = lpoc_map(ROOM);
    void *lib = NULL;
    int len;

    if (!path)
        return NULL;
    len = snprintf(path, ROOM, "%s%s/%s", folder, under, name);
    if (len > 0 && len < ROOM)
        lib = dlopen(path, RTLD_NOW);
    lpoc_unmap(path, ROOM);
    return lib;
}

static void *open_anywhere(void)
{
    static const char *const homes[] = { "CUDA_HOME", "CUDA_PATH" };
    void *lib = NULL;

    for (size_t i = 0; !lib && i < sizeof names / sizeof *names; i++) {
        lib = dlopen(names[i], RTLD_NOW);
        for (size_t h = 0; !lib && h < sizeof homes / sizeof *homes; h++) {
            const char *home = getenv(homes[h]);
            if (home)
                lib = open_in(home, "/extras/CUPTI/lib64", names[i]);
            if (home && !lib)
                lib = open_in(home, "/lib64", names[i]);
        }
        for (size_t f = 0; !lib && f < sizeof folders / sizeof *folders; f++)
            lib = open_in(folders[f], "", names[i]);
    }
    return lib;
}

bool lpoc_cupti_load(struct cupti *api, const char *only, char *why, unsigned long room)
{
    void *lib = only[0] ? dlopen(only, RTLD_NOW) : open_present();
    const char *missing;

    if (!lib && !only[0])
        lib = open_anywhere();
    if (!lib) {
        const char *said = only[0] ? dlerror() : NULL;
        snprintf(why, room, "%s", said ? said : "libcupti.so.13 or .12 is not on this machine");
        return false;
    }
    missing = lpoc_entries_find(lib, LPOC_ENTRIES(entries), api);
    if (missing) {
        snprintf(why, room, "this libcupti has no %s", missing);
        return false;
    }
    return true;
}
