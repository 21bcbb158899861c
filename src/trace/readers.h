/* SPDX-License-Identifier: Apache-2.0 */
/* trace/readers.h - the rows of the table in reader.c. */
#pragma once

#include "trace/reader.h"

extern const struct lpo_reader lpo_digest_reader;
extern const struct lpo_reader lpo_flight_reader;
extern const struct lpo_reader lpo_graph_nodes_reader;
extern const struct lpo_reader lpo_kineto_reader;
extern const struct lpo_reader lpo_ncu_csv_reader;
extern const struct lpo_reader lpo_ncu_rep_reader;
extern const struct lpo_reader lpo_nsys_reader;
extern const struct lpo_reader lpo_nsys_stats_reader;
extern const struct lpo_reader lpo_nsysrep_reader;
extern const struct lpo_reader lpo_native_reader;
extern const struct lpo_reader lpo_rocpd_reader;
extern const struct lpo_reader lpo_rocprof_reader;
extern const struct lpo_reader lpo_snapshot_reader;
extern const struct lpo_reader lpo_xplane_reader;
extern const struct lpo_reader lpo_xprof_reader;
