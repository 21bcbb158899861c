/* report/regions_json.h - the full region tables as JSON, the shape that scripts rely on.
 *
 * The same members stand in `lpo regions --json` and in report.json; docs/report-json.md lists
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_analysis;
struct lpo_json_writer;
struct lpo_region_selection;
struct lpo_top_row;
struct lpo_region_cells;

/* Arrays under `key`, which is NULL where the array is the whole text. */

/* Every scope with its regions. */
void lpo_report_scopes_json(struct lpo_json_writer *w, const char *key,
                            const struct lpo_analysis *a, struct lpo_region_selection *select,
                            bool aggregate);
/* Every GPU: span, busy, idle, communication, streams and their gaps. */
void lpo_report_devices_json(struct lpo_json_writer *w, const char *key,
                             const struct lpo_analysis *a);
/* The first `count` of `rows`. */
void lpo_report_top_json(struct lpo_json_writer *w, const char *key,
                         const struct lpo_region_cells *cells, const struct lpo_top_row *rows,
                         size_t count);
/* See report/notes.h. */
void lpo_report_notes_json(struct lpo_json_writer *w, const char *key, const struct lpo_analysis *a,
                           const struct lpo_region_selection *select);
