"""Does the trace of scripts/gpu/graphs.py have the first four launches of each graph in detail, and the others whole?"""
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "collect"))
from lpot import Trace  # noqa: E402

KERNEL, WHOLE = 3, 7
WANT = {("A", KERNEL): 20, ("A", WHOLE): 8, ("B", KERNEL): 20, ("B", WHOLE): 8, ("A2", WHOLE): 3,
        ("C", KERNEL): 20, ("C", WHOLE): 8}

works = Trace(sys.argv[1]).works
got = Counter((w["path"][0], w["kind"]) for w in works if w["path"])
for key in sorted(set(WANT) | set(got)):
    print(f"{key[0]:3} {'kernels' if key[1] == KERNEL else 'whole graphs'}: {got[key]} (wanted {WANT.get(key, 0)})")
sys.exit(dict(got) != WANT)
