/* SPDX-License-Identifier: Apache-2.0 */
/* writer/page_assets.h - style and script of report.html, made from web/ by scripts/embed.py. */
#pragma once

#include "util/base.h"

extern const char lpo_page_style[], lpo_page_script[];
extern const char lpo_page_script_sha256[]; /* "sha256-…" */
extern const size_t lpo_page_style_len, lpo_page_script_len;

/* index.html of `lpo history site`. */
extern const char lpo_page_history[];
extern const size_t lpo_page_history_len;
