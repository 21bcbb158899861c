#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real trace of jax.profiler, for tests/trace/test_xprof.py (tests/data/jax). Needs JAX and a GPU.

    jax_trace.py OUT.json.gz [--ops]     three steps of a small training, traced; names of the host and its folders are taken out
                                         --ops: without command buffers, so that every kernel has its op and scope
"""
import glob
import gzip
import json
import os
import re
import sys
import tempfile

if "--ops" in sys.argv:  # read when JAX is imported
    os.environ["XLA_FLAGS"] = "--xla_gpu_enable_command_buffer="

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


@jax.jit
def step(weights, x):
    def loss(w):
        y = x
        for layer in w:
            with jax.named_scope("layer"):
                y = jax.nn.softmax(jnp.tanh(y @ layer), axis=-1)
        return jnp.mean(y * y)

    value, gradient = jax.value_and_grad(loss)(weights)
    return [w - 0.01 * g for w, g in zip(weights, gradient)], value


def main() -> None:
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = [jax.random.normal(k, (1024, 1024)) for k in keys[:3]]
    x = jax.random.normal(keys[3], (512, 1024))
    weights, value = step(weights, x)
    value.block_until_ready()
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            for i in range(3):
                with jax.profiler.StepTraceAnnotation("train", step_num=i):
                    weights, value = step(weights, x)
                    value.block_until_ready()
        found = glob.glob(os.path.join(folder, "**", "*.trace.json.gz"), recursive=True)
        with gzip.open(found[0], "rt") as f:
            trace = json.load(f)
    text = json.dumps(trace, separators=(",", ":"))
    text = re.sub(r"/(?:[\w.+-]+/)+(?=[\w.-]+\.py)", "", text)
    with open(sys.argv[1], "wb") as f:
        f.write(gzip.compress(text.encode(), 9, mtime=0))
    planes = [e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "process_name"]
    print(jax.__version__, len(trace["traceEvents"]), "events;", planes)


main()
