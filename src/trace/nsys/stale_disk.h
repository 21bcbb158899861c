/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsys/stale_disk.h - SQLite on a network disk whose handles go stale.
 *
 * SQLite takes a read that fails with ESTALE for a damaged file, and a table or a column would be
 * missing without a word. Files opened through this layer are opened again by their name and read
 * once more (util/stale.h). For reading only: the layer forwards nothing else than a database that
 * nobody writes needs. */
#pragma once

/* The name for sqlite3_open_v2(), or NULL, SQLite's own, where the layer could not be registered.
 */
const char *lpo_nsys_stale_disk(void);
