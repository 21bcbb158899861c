/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/glob.h - shell patterns on names, as Python's fnmatch reads them: * ? [a-z]
 * [!a-z]. */
#pragma once

#include <stdbool.h>

/* Characters are code points. A '[' without its ']' matches itself. */
bool lpo_override_glob_match(const char *pattern, const char *name);
