#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench-page.py BUILD: report.html of a trace of a million kernels and as many host slices (their launches) in Chromium.

Makes the trace and the page, opens it three times, and zooms from the whole trace to single kernels and back.
Prints how long the page took to its first paint and to be ready, how long drawing a frame took (the page's own
counter) and how far frames lay apart (the browser's).
"""
import json
import os
import pathlib
import statistics
import random
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests/web"))
import browser  # noqa: E402

KERNELS = 1_000_000
ZOOM = """
window.zoomed = null;
const strip = window.lpo.strip, whole = strip.to - strip.from, at = [], steps = 240;
strip.frames.length = 0;
let step = 0;
const next = (now) => {
  at.push(now);
  if (step++ === steps) { window.zoomed = { drawn: [...strip.frames], between: at.slice(1).map((t, i) => t - at[i]) }; return; }
  const deep = 1 - Math.abs(step - steps / 2) / (steps / 2), width = whole * Math.pow(2e4 / whole, deep), centre = whole * 0.37;
  strip.view(centre - width / 2, centre + width / 2);
  requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""


def make_trace(path):
    """A Kineto trace: steps of 32 layers on two streams, lengths and gaps of no pattern, so that they pack as badly as real ones."""
    chance, now = random.Random(7), 0
    names = [f"kernel_{i}<float, {i}>" for i in range(40)] + ["gemm_bf16", "flash_fwd", "ncclDevKernel_AllReduce", "softmax_warp"]
    free = [0, 0]
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"schemaVersion": 1, "traceEvents": [\n')
        for i in range(KERNELS):
            if i % 320 == 0:
                f.write(f'{{"ph":"X","cat":"user_annotation","name":"step{i // 320}","pid":1,"tid":1,"ts":{now / 1000:.3f},"dur":960}},\n')
            if i % 10 == 0:
                f.write(f'{{"ph":"X","cat":"user_annotation","name":"layer{i // 10 % 32}","pid":1,"tid":1,"ts":{now / 1000 + 0.01:.3f},"dur":29.9}},\n')
            stream = 0 if chance.random() < 0.9 else 1
            start = max(now + 1500, free[stream]) + chance.randrange(300, 900)
            length = int(chance.lognormvariate(7.3, 0.8))
            free[stream] = start + length
            f.write(f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{now / 1000 + 0.02:.3f},"dur":1.5,"args":{{"correlation":{i + 1}}}}},\n'
                    f'{{"ph":"X","cat":"kernel","name":"{chance.choice(names)}","pid":0,"tid":7,"ts":{start / 1000:.3f},"dur":{length / 1000:.3f},'
                    f'"args":{{"device":0,"stream":{7 + stream},"correlation":{i + 1}}}}}{"" if i + 1 == KERNELS else ","}\n')
            now += 3000
        f.write("]}\n")


def worst(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build").resolve()
    if browser.missing():
        print(f"bench-page: skipped: {browser.missing()}")
        return 0
    with tempfile.TemporaryDirectory(prefix="lpo-bench-page-") as folder:
        trace = os.path.join(folder, "million.json")
        make_trace(trace)
        subprocess.run([build / "lpo", "report", trace, "-o", os.path.join(folder, "out")], check=True, stdout=subprocess.DEVNULL)
        page = os.path.join(folder, "out/report.html")
        with open(os.path.join(folder, "out/report.json"), encoding="utf-8") as f:
            kernels = json.load(f)["scopes"][0]["launches"]
        chromium = browser.Browser()
        try:
            chromium.size(1280, 900)
            paints, ready = [], []
            for _ in range(3):
                chromium.open(page)
                paints.append(chromium.run("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"))
                ready.append(chromium.run("return window.lpo.readyAt"))
            chromium.run("location.hash = '#timeline'")
            chromium.wait("document.querySelector('.strip canvas[role]').clientWidth")
            chromium.run(ZOOM)
            chromium.wait("window.zoomed")
            zoomed = chromium.run("return window.zoomed")
        finally:
            chromium.close()
        drawn, between = zoomed["drawn"], zoomed["between"]
        print(f"kernels                {kernels:,}")
        print(f"report.html            {os.path.getsize(page) / 1e6:.2f} MB (at most 6)")
        print(f"first paint            {min(paints):.0f} ms best, {statistics.median(paints):.0f} ms median (under 300)")
        print(f"views ready            {min(ready):.0f} ms best, {statistics.median(ready):.0f} ms median")
        print(f"drawing a frame        {statistics.median(drawn):.2f} ms median, {worst(drawn, 0.95):.2f} ms for 95 %, {max(drawn):.2f} ms most, "
              f"{len(drawn)} frames (under 8)")
        print(f"from frame to frame    {statistics.median(between):.2f} ms median, {worst(between, 0.95):.2f} ms for 95 % (60 frames: 16.7)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
