/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern for one instance of a template: it fits what other demanglers print of that instance,
 * and no other instance. */
#include "report/top_yaml.h"
#include "unit.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"

#define GEMV(bools, n)                                                                             \
    "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, float, "     \
    "(bool)0, (bool)1, " bools ", (int)" n                                                         \
    ", (bool)0, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<const __nv_bfloat16>, "     \
    "float>>(T13)"
#define GEMV_PLAIN(n)                                                                              \
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, "       \
    "float, "                                                                                      \
    "false, true, true, " n                                                                        \
    ", false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<const __nv_bfloat16>, "       \
    "float> >(cublasGemvParamsEx<int, float>)"
#define COPY(l, t)                                                                                 \
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::" t                        \
    "_kernel_cuda(at::TensorIteratorBase &)::[lambda(float) (instance " l                          \
    ")], std::array<char *, (unsigned long)2>>(int, T2, T3)"
#define COPY_PLAIN(l, t)                                                                           \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" t                             \
    "_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#" l                                     \
    "}, std::array<char*, 2ul> >(int, F, std::array<char*, 2ul>)"

static const struct fit_case {
    const char *name, *kernel, *linker, *subject, *base;
    bool fits;
} cases[] = {
    { "itself", GEMV("(bool)1", "7"), NULL, GEMV("(bool)1", "7"), "demangled", true },
    { "as another demangler has it", GEMV("(bool)1", "7"), NULL, GEMV_PLAIN("7"), "demangled",
      true },
    { "and the other way round", GEMV_PLAIN("7"), NULL, GEMV("(bool)1", "7"), "demangled", true },
    { "another number", GEMV("(bool)1", "7"), NULL, GEMV("(bool)1", "6"), "demangled", false },
    { "a longer number", GEMV_PLAIN("7"), NULL, GEMV_PLAIN("70"), "demangled", false },
    { "another truth", GEMV("(bool)1", "7"), NULL, GEMV("(bool)0", "7"), "demangled", false },
    { "a lambda", COPY("1", "copy"), NULL, COPY_PLAIN("1", "copy"), "demangled", true },
    { "and the other way", COPY_PLAIN("12", "copy"), NULL, COPY("12", "copy"), "demangled", true },
    { "another lambda", COPY_PLAIN("1", "copy"), NULL, COPY("2", "copy"), "demangled", false },
    { "another functor", COPY_PLAIN("1", "copy"), NULL, COPY("1", "mul"), "demangled", false },
    { "an unnamed namespace", "void at::(anonymous namespace)::cat<2u, -1>(int)", NULL,
      "void at::<unnamed>::cat<(unsigned int)2, (int)-1>(T1)", "demangled", true },
    { "another namespace", "void one::cat<2>(int)", NULL, "void two::cat<2>(int)", "demangled",
      false },
    { "operators", "void run<f(int)::{lambda()#3}::operator()() const::{lambda(x)#1}>(int)", NULL,
      "void run<f(int)::[lambda() (instance 3)]::operator ()() const::[lambda(x) (instance 1)]>(T)",
      "demangled", true },
    { "no template", "void ns::axpy(float*, int)", NULL, "axpy", "function", true },
    { "no template, another", "axpy(float*)", NULL, "saxpy", "function", false },
    { "the linker's name", "axpy(float*, int)", "_Z4axpyPfi", "_Z4axpyPfi", "mangled", true },
    { "another linker's name", "axpy(float*, int)", "_Z4axpyPfi", "_Z4axpyPfil", "mangled", false },
};

static void check_fit(void **state)
{
    const struct fit_case *c = *state;
    LPO_AUTO(lpo_pattern) pattern = NULL;
    struct lpo_err err = { 0 };
    LPO_STR regex = { 0 };

    lpo_str_add(&regex, "regex:");
    assert_string_equal(lpo_report_kernel_pattern(&regex, c->kernel, c->linker), c->base);
    if (lpo_pattern_create(lpo_str_text(&regex), &pattern, &err) < 0)
        fail_msg("%s: %s", lpo_str_text(&regex), lpo_err_cause(&err));
    if (lpo_pattern_matches(pattern, c->subject, strlen(c->subject)) != c->fits)
        fail_msg("%s", lpo_str_text(&regex));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_fit);
    return unit_run(&u);
}
