/* collect/load.h - finding libcupti. */
#pragma once

#include <stdbool.h>

#include "collect/cupti_abi.h"

/* The copy already in the process first: a second one would not see the first one's contexts.
 * Then, or instead when `only` is not "", by name and in the usual folders. On failure `why` tells
 * what is missing. */
bool lpoc_cupti_load(struct cupti *api, const char *only, char *why, unsigned long room);
