/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled names as c++filt writes them, and what is left as it is. */
#include "../unit.h"
#include "trace/demangle.h"
#include "util/str.h"

static const struct name_case {
    const char *name, *mangled, *want; /* NULL: not demangled */
} cases[] = {
    { "a function", "_Z4axpyPfPKffi", "axpy(float*, float const*, float, int)" },
    { "no parameters", "_Z5emptyv", "empty()" },
    { "a template has a return type", "_Z9my_kernelIfLi4EEvPT_",
      "void my_kernel<float, 4>(float*)" },
    { "literals", "_Z1fILi1ELj2ELl3ELm4ELx5ELy6ELin7ELb1ELc8EEvv",
      "void f<1, 2u, 3l, 4ul, 5ll, 6ull, -7, true, (char)8>()" },
    { "an enumeration", "_ZN1a1fILNS_1eE2EEEvv", "void a::f<(a::e)2>()" },
    { "substitutions", "_ZN5flash6kernelINS_6traitsIfEES2_EEvT_RKT0_",
      "void flash::kernel<flash::traits<float>, flash::traits<float> >(flash::traits<float>, "
      "flash::traits<float> const&)" },
    { "an anonymous namespace", "_ZN12_GLOBAL__N_11fEi", "(anonymous namespace)::f(int)" },
    { "nvcc's anonymous namespace",
      "_ZN2at6native44_GLOBAL__N__50c743a2_11_Indexing_cu_89862edb1fEi",
      "at::native::(anonymous namespace)::f(int)" },
    { "a lambda in a function", "_Z1gIZ1hvEUlifE_EvT_",
      "void g<h()::{lambda(int, float)#1}>(h()::{lambda(int, float)#1})" },
    { "the second lambda", "_Z1gIZ1hvEUlvE0_EvT_", "void g<h()::{lambda()#2}>(h()::{lambda()#2})" },
    { "a function in a template has no return type here", "_Z1gIZ1hIiEvT_EUlvE_EvS1_",
      "void g<h<int>(int)::{lambda()#1}>(h<int>(int)::{lambda()#1})" },
    { "a pointer to a function", "_Z1fPFvifE", "f(void (*)(int, float))" },
    { "a reference to an array", "_Z1fRA3_i", "f(int (&) [3])" },
    { "a member function", "_ZNK1A1fEv", "A::f() const" },
    { "the address of a function",
      "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_"
      "S5_EEEEvPS3_PS4_i",
      "void sgl_hip::activation::act_and_mul_kernel<__hip_bfloat16, &(__hip_bfloat16 "
      "silu<__hip_bfloat16>(__hip_bfloat16 const&))>(__hip_bfloat16*, __hip_bfloat16 const*, "
      "int)" },
    { "a pack", "_Z1fIJifEEvDpRKT_", "void f<int, float>(int const&, float const&)" },
    { "an empty pack", "_Z1fIJEEvDpT_", "void f<>()" },
    { "bf16", "_Z1fIDF16bEvPT_", "void f<std::bfloat16_t>(std::bfloat16_t*)" },
    { "an integer of 8 bits, counted among what is repeated",
      "_ZN5aiter30fused_mx_quant_moe_sort_kernelIDF16bDB8_Li256ELi32EEEvPT0_PhPKT_PKiS9_PKf",
      "void aiter::fused_mx_quant_moe_sort_kernel<std::bfloat16_t, _BitInt(8), 256, 32>"
      "(_BitInt(8)*, unsigned char*, std::bfloat16_t const*, int const*, int const*, float "
      "const*)" },
    { "an unsigned one", "_Z1fIDU4_EvPT_S1_",
      "void f<unsigned _BitInt(4)>(unsigned _BitInt(4)*, unsigned _BitInt(4))" },
    { "an integer without its size", "_Z1fIDB_EvPT_", NULL },
    { "an integer that does not end", "_Z1fIDB8EvPT_", NULL },
    { "an operator", "_ZN1AplERKS_", "A::operator+(A const&)" },
    { "a constructor", "_ZN1AC1Ei", "A::A(int)" },
    { "a condition", "_Z1fILi4EENSt9enable_ifIXntLb0EEvE4typeEv",
      "std::enable_if<!(false), void>::type f<4>()" },
    { "a condition on a variable",
      "_ZN1A6kentryINS_1BELi2EEENSt9enable_ifIXnt26kattr_no_packed_fp32_ops_vIT_EEvE4typeEv",
      "std::enable_if<!(kattr_no_packed_fp32_ops_v<A::B>), void>::type A::kentry<A::B, 2>()" },
    { "a variable that is cut", "_Z1fIiENSt9enable_ifIXnt99foo", NULL },
    { "AMD's descriptor", "_ZN5aiter3fooE.kd", "aiter::foo [clone .kd]" },
    { "a reference to a reference", "_Z1fIRiEvOT_", "void f<int&>(int&)" },
    { "not mangled", "my_kernel", NULL },
    { "cut", "_ZN5flash6kern", NULL },
    { "only the beginning", "_Z", NULL },
    { "a length that is too long", "_Z99f", NULL },
    { "a substitution that is not there", "_Z1fS5_", NULL },
    { "a parameter that is not there", "_Z1fT_", NULL },
    { "something behind", "_Z1fi!", NULL },
};

static void check_name(void **state)
{
    const struct name_case *c = *state;
    LPO_STR out = { 0 };
    bool done = lpo_trace_demangle(c->mangled, &out);

    assert_int_equal(done, c->want != NULL);
    assert_string_equal(lpo_str_text(&out), c->want ? c->want : "");
}

/* Too deep, and so short a name for so long a text: each level doubles it. */
static void hostile_names_end(void **state)
{
    LPO_STR deep = { 0 }, wide = { 0 }, out = { 0 };

    (void)state;
    lpo_str_add(&deep, "_Z1f");
    for (int i = 0; i < 20000; i++)
        lpo_str_addc(&deep, 'P');
    lpo_str_addc(&deep, 'i');
    assert_false(lpo_trace_demangle(deep.at, &out));
    lpo_str_add(&wide, "_Z1fI1aEv");
    for (int i = 0; i < 60; i++)
        lpo_str_addf(&wide, "1tIS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36],
                     "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i % 36]);
    lpo_trace_demangle(wide.at, &out);
    assert_true(out.len < 8 << 20);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_name);
    UNIT_TEST(&u, hostile_names_end);
    return unit_run(&u);
}
