/* Columns of `nsys stats` CSVs, by their headers of all versions. */
#include "trace/nsys/stats.h"

#include <string.h>

/* Headers without their unit; older versions write them differently. */
static const struct header_row {
    const char *name;
    enum lpo_nsys_role role;
} headers[] = {
    { "Total Time", LPO_NSYS_TOTAL },
    { "Instances", LPO_NSYS_COUNT },
    { "Count", LPO_NSYS_COUNT },
    { "Operations", LPO_NSYS_COUNT },
    { "Min", LPO_NSYS_MIN },
    { "Minimum", LPO_NSYS_MIN },
    { "Max", LPO_NSYS_MAX },
    { "Maximum", LPO_NSYS_MAX },
    { "Name", LPO_NSYS_NAME },
    { "Operation", LPO_NSYS_NAME },
    { "Kernel Name", LPO_NSYS_NAME },
    { "Category", LPO_NSYS_CATEGORY },
    { "Start", LPO_NSYS_START },
    { "End", LPO_NSYS_END },
    { "Duration", LPO_NSYS_DURATION },
    { "CorrId", LPO_NSYS_CORRELATION },
    { "PID", LPO_NSYS_PID },
    { "TID", LPO_NSYS_TID },
    { "Device", LPO_NSYS_DEVICE },
    { "DevId", LPO_NSYS_DEVICE },
    { "Device ID", LPO_NSYS_DEVICE },
    { "Strm", LPO_NSYS_STREAM },
    { "Bytes", LPO_NSYS_BYTES },
    { "GrdX", LPO_NSYS_GRID_X },
    { "GrdY", LPO_NSYS_GRID_Y },
    { "GrdZ", LPO_NSYS_GRID_Z },
    { "BlkX", LPO_NSYS_BLOCK_X },
    { "BlkY", LPO_NSYS_BLOCK_Y },
    { "BlkZ", LPO_NSYS_BLOCK_Z },
    { "GridXYZ", LPO_NSYS_GRID },
    { "BlockXYZ", LPO_NSYS_BLOCK },
    { "API Start", LPO_NSYS_CALL_START },
    { "API Dur", LPO_NSYS_CALL_DURATION },
    { "Kernel Start", LPO_NSYS_KERNEL_START },
    { "Kernel Dur", LPO_NSYS_KERNEL_DURATION },
    { "Projected Start", LPO_NSYS_PROJECTED },
    { "Orig Start", LPO_NSYS_RANGE_START },
    { "Orig Duration", LPO_NSYS_RANGE_DURATION },
    { "Style", LPO_NSYS_STYLE },
    { "Num Calls", LPO_NSYS_CALLS },
};

/* Powers of ten to ns, or to bytes. */
static const struct unit_row {
    const char *text;
    int power;
} units[] = {
    { "ns", 0 }, { "nsec", 0 }, { "us", 3 }, { "\xce\xbcs", 3 }, { "usec", 3 },
    { "ms", 6 }, { "msec", 6 }, { "s", 9 },  { "sec", 9 },       { "seconds", 9 },
    { "B", 0 },  { "KB", 3 },   { "MB", 6 }, { "GB", 9 },        { "TB", 12 },
};

struct lpo_csv_cell lpo_nsys_cell(const struct lpo_nsys_table *s, enum lpo_nsys_role role)
{
    int at = s->at[role];

    if (at < 0 || (size_t)at >= s->csv->count)
        return (struct lpo_csv_cell){ "", 0, false };
    return s->csv->cells[at];
}

bool lpo_nsys_quantity(const struct lpo_nsys_table *s, enum lpo_nsys_role role, int64_t *out)
{
    return lpo_csv_cell_scaled(lpo_nsys_cell(s, role), s->power[role], out);
}

static int power_of(const char *unit, size_t len)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i].text) == len && memcmp(units[i].text, unit, len) == 0)
            return units[i].power;
    }
    return 0;
}

/* "Total Time (ns)" and "Total Time:ns_num" (an older spelling) to a role and a power. */
static enum lpo_nsys_role header_role(const char *text, int *power)
{
    size_t len = strcspn(text, "(:");
    const char *unit = text + len + (text[len] != '\0');

    *power = power_of(unit, strcspn(unit, ")_"));
    while (len > 0 && text[len - 1] == ' ')
        len--;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        if (strlen(headers[i].name) == len && memcmp(headers[i].name, text, len) == 0)
            return headers[i].role;
    }
    return LPO_NSYS_NOTHING;
}

void lpo_nsys_set_columns(struct lpo_nsys_table *s)
{
    for (int i = 0; i < LPO_NSYS_ROLES; i++)
        s->at[i] = -1;
    for (size_t i = 0; i < s->csv->count; i++) {
        int power;
        enum lpo_nsys_role role =
            header_role(lpo_csv_cell_text(s->csv->cells[i], &s->text), &power);

        if (role == LPO_NSYS_NOTHING || s->at[role] >= 0)
            continue;
        s->at[role] = (int)i;
        s->power[role] = power;
    }
}
