#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of the examples, on small examples of its own. Prints TAP."""
import os
import stat
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

FAKE = """#!/bin/sh
case "$1" in
echo) shift; printf '%s\\n' "$@" ;;
fail) echo oops >&2; exit 2 ;;
esac
"""
# name, block, is it fine?
ROWS = [
    ("output is compared", "$ lpo echo a b\na\nb", True),
    ("other output is found", "$ lpo echo a b\na\nc", False),
    ("less output is found", "$ lpo echo a\na\nb", False),
    ("more output is found", "$ lpo echo a b\na", False),
    ("no output shown means only success", "$ lpo echo a", True),
    ("a wild line takes any lines", "$ lpo echo a b c d\na\n…\nd", True),
    ("a wild line takes none", "$ lpo echo a d\na\n…\nd", True),
    ("a wild word", "$ lpo echo 'took 12.3 ms'\ntook … ms", True),
    ("a wild word stays on its line", "$ lpo echo 'took 1' 'ms'\ntook … ms", False),
    ("dots are dots", "$ lpo echo axb\na.b", False),
    ("a failure is found", "$ lpo fail", False),
    ("a failure that is announced", "$ lpo fail  # exits 2\noops", True),
    ("another status than announced", "$ lpo fail  # exits 3", False),
    ("commands of others are not run", "$ false\nnothing\n$ build/lpo echo a\na", True),
    ("continued lines", "$ lpo echo \\\n>   a\na", True),
]


def main():
    with tempfile.TemporaryDirectory(prefix="lpo-docs-") as folder:
        fake = os.path.join(folder, "lpo")
        with open(fake, "w") as f:
            f.write(FAKE)
        os.chmod(fake, stat.S_IRWXU)
        os.environ["LPO_BIN"] = fake
        import test_examples
        failed = 0
        for i, (name, block, fine) in enumerate(ROWS, 1):
            problem = test_examples.run_block(block.split("\n"), dict(os.environ))
            good = (problem is None) == fine
            failed += not good
            print(f"{'ok' if good else 'not ok'} {i} - {name}")
            if not good:
                print("# " + str(problem).replace("\n", "\n# "))
        print(f"1..{len(ROWS)}")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
