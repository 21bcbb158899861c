/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/device.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/find_cupti.h"
#include "collect/mem.h"

enum { DEVICES_MAX = 64, KEY = 48, VALUE = 256, PAIRS = 16 };

struct driver {
    int (*version)(int *version);
    int (*count)(int *count);
    int (*get)(int *device, int ordinal);
    int (*name)(char *name, int len, int device);
    int (*attribute)(int *value, int attribute, int device);
    int (*memory)(size_t *bytes, int device);
    int (*uuid)(unsigned char *uuid, int device);
};

static const struct lpoc_entry entries[] = {
    { "cuDriverGetVersion", offsetof(struct driver, version), false },
    { "cuDeviceGetCount", offsetof(struct driver, count), false },
    { "cuDeviceGet", offsetof(struct driver, get), false },
    { "cuDeviceGetName", offsetof(struct driver, name), false },
    { "cuDeviceGetAttribute", offsetof(struct driver, attribute), false },
    { "cuDeviceTotalMem_v2", offsetof(struct driver, memory), false },
    { "cuDeviceGetUuid", offsetof(struct driver, uuid), false },
};

/* CUdevice_attribute numbers. */
static const struct {
    const char *key;
    int attribute;
} numbers[] = {
    { "sms", 16 },          { "cc_major", 75 },      { "cc_minor", 76 },
    { "sm_clock_khz", 13 }, { "mem_clock_khz", 36 }, { "bus_bits", 37 },
    { "l2_bytes", 38 },     { "pci_bus", 33 },       { "pci_device", 34 },
};

struct pairs {
    char keys[PAIRS][KEY], values[PAIRS][VALUE];
    const char *at[PAIRS][2];
    unsigned count;
};

static void add(struct pairs *p, int device, const char *key, const char *value)
{
    if (p->count == PAIRS)
        return;
    snprintf(p->keys[p->count], KEY, "device.%d.%s", device, key);
    snprintf(p->values[p->count], VALUE, "%s", value);
    p->at[p->count][0] = p->keys[p->count];
    p->at[p->count][1] = p->values[p->count];
    p->count++;
}

static void add_number(struct pairs *p, int device, const char *key, long long value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", value);
    add(p, device, key, text);
}

static void write_device(struct lpoc *c, const struct driver *d, int ordinal)
{
    struct pairs *p = lpoc_map(sizeof *p); /* too large for the program's stack */
    char text[VALUE] = "";
    unsigned char id[16];
    size_t bytes = 0;
    int device, value;

    if (!p)
        return;
    if (d->get(&device, ordinal) != 0) {
        lpoc_unmap(p, sizeof *p);
        return;
    }
    if (d->name && d->name(text, sizeof text, device) == 0)
        add(p, ordinal, "name", text);
    if (d->memory && d->memory(&bytes, device) == 0)
        add_number(p, ordinal, "memory_bytes", (long long)bytes);
    for (size_t i = 0; d->attribute && i < sizeof numbers / sizeof *numbers; i++)
        if (d->attribute(&value, numbers[i].attribute, device) == 0)
            add_number(p, ordinal, numbers[i].key, value);
    if (d->uuid && d->uuid(id, device) == 0) {
        for (int i = 0; i < 16; i++)
            snprintf(text + 2 * i, 3, "%02x", id[i]);
        add(p, ordinal, "uuid", text);
    }
    lpoc_write_facts(c, p->at, p->count);
    lpoc_unmap(p, sizeof *p);
}

static void write_version(struct lpoc *c, const struct driver *d)
{
    char text[32];
    int version = 0;
    const char *const pair[1][2] = { { "cuda.driver", text } };

    if (!d->version || d->version(&version) != 0)
        return;
    snprintf(text, sizeof text, "%d", version);
    lpoc_write_facts(c, pair, 1);
}

/* The driver is asked, not NVML: its numbers are those by which the records name devices, after
 * CUDA_VISIBLE_DEVICES. */
void lpoc_devices_write(struct lpoc *c)
{
    struct driver d = { 0 };
    int count = 0;

    lpoc_entries_find(lpoc_driver(), LPOC_ENTRIES(entries), &d);
    write_version(c, &d);
    if (!d.count || !d.get || d.count(&count) != 0)
        return;
    for (int i = 0; i < count && i < DEVICES_MAX; i++)
        write_device(c, &d, i);
}
