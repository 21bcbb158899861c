# SPDX-License-Identifier: Apache-2.0
"""Old entry points call today's program and say how it is called."""
import sys

from lpo._program import LpoError, replace_process


def main(config_name: str) -> None:
    words = ["run", "--config-name", config_name, *sys.argv[1:]]
    module = f"llm_perf_opt.runners.{config_name}"
    print(f"{module}: deprecated; today: lpo {' '.join(words)}", file=sys.stderr)
    try:
        replace_process(words)
    except (LpoError, OSError) as why:
        print(f"{module}: {why}", file=sys.stderr)
        sys.exit(3)
