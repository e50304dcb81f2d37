"""A bfloat16 product of 8192 on an NVIDIA GPU: through the suite, and by a loop written by hand with CUDA events, in turns on one card.

``python tests/bench/cuda_matmul.py [--tries N]``; prints each rate and the ratio, and ends 1 if the suite reaches less than 97 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

SIZE = 8192
BOUND = 0.97

BY_HAND = f"""
import torch
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
pairs = [[torch.randn({SIZE}, {SIZE}, device="cuda").to(torch.bfloat16) for _ in range(2)] for _ in range(4)]
def products(count):
    for number in range(count):
        a, b = pairs[number % 4]
        a @ b
products(200)
rates = []
for _ in range(10):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    products(100)
    end.record()
    torch.cuda.synchronize()
    rates.append(2 * {SIZE}**3 * 100 / (begin.elapsed_time(end) / 1000))
print(sorted(rates)[5])
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=3)
    tries = parser.parse_args().tries
    ours, theirs = [], []
    for _ in range(tries):
        ours.append(through_the_suite())
        theirs.append(float(subprocess.run([sys.executable, "-c", BY_HAND], check=True, stdout=subprocess.PIPE, text=True).stdout))
        print(f"h2h {ours[-1] / 1e12:.1f} TFLOP/s, by hand {theirs[-1] / 1e12:.1f} TFLOP/s", flush=True)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
    print(f"ratio {ratio:.3f}, at least {BOUND}")
    return 0 if ratio >= BOUND else 1


def through_the_suite() -> float:
    """Operations a second as the JSON report has them."""
    with tempfile.TemporaryDirectory() as folder:
        h2h = [sys.executable, "-m", "runner"]
        options = ("--framework", "pytorch", "--device", "cuda", "--precision", "bfloat16", "--set", f"size={SIZE}", "--rounds", "1")
        subprocess.run([*h2h, "run", "matmul", *options, "--into", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run = next(Path(folder).iterdir())
        report = subprocess.run([*h2h, "report", str(run), "--format", "json"], check=True, stdout=subprocess.PIPE)
        (cell,) = json.loads(report.stdout)["cells"]
        if cell["samples_per_second"] is None:
            raise SystemExit(f"{cell['status']}: {cell['reason']}")
        return float(cell["operations_per_second"])


if __name__ == "__main__":
    sys.exit(main())
