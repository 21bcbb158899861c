/* trace/readers.h - the rows of the table in reader.c. */
#pragma once

#include "trace/reader.h"

extern const struct lpo_reader lpo_reader_kineto;
extern const struct lpo_reader lpo_reader_ncu_csv;
extern const struct lpo_reader lpo_reader_ncu_rep;
extern const struct lpo_reader lpo_reader_nsys;
extern const struct lpo_reader lpo_reader_nsys_stats;
extern const struct lpo_reader lpo_reader_native;
