# SPDX-License-Identifier: Apache-2.0
"""For launches.py: a kernel of Triton, whose source Triton reads from this file."""
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def add_kernel(a, b, out, n, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out + at, tl.load(a + at, mask=at < n) + tl.load(b + at, mask=at < n), mask=at < n)


def add(a, b, out):
    add_kernel[(triton.cdiv(out.numel(), BLOCK),)](a, b, out, out.numel(), BLOCK_SIZE=BLOCK)
