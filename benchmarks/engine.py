"""The engine of a page in Node: ms a pass, and its differences from the kernel.

Run: ``npm run build && python -m benchmarks.engine``. A pass gives all weights of all heads; one thread.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from tests.engine_parity import compare, parity_texts, run_engine

LENGTHS = (20, 64, 128, 512)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("tokens  median ms  fastest ms")
        for answer in run_engine(folder, lengths=LENGTHS):
            times = answer["times"]
            print(f"{answer['length']:6}  {statistics.median(times):9.1f}  {times[0]:10.1f}")
        found = compare(parity_texts(), folder)
    print("largest differences from the kernel, 60 texts of 3 to 512 tokens")
    for name, value in found._asdict().items():
        print(f"  {name:14} {value:.2g}")


if __name__ == "__main__":
    main()
