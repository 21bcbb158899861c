/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sanitizer is compiled in: gcc has names for it, clang a question. */
#pragma once

#ifdef __has_feature
#define SANITIZED_CLANG (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SANITIZED_CLANG 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SANITIZED_CLANG
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
