# SPDX-License-Identifier: Apache-2.0
"""python -m llm_perf_opt.runners.deep_profile_runner OVERRIDE…"""
from llm_perf_opt.runners._today import main

if __name__ == "__main__":
    main("deep_profile_runner")
