"""Many hostile calls; see `tests.fuzz`."""

from __future__ import annotations

import argparse
import sys
import time

from tests import fuzz


def main() -> None:
    parser = argparse.ArgumentParser(description=fuzz.__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="no browser, no training, no pip")
    options = parser.parse_args()
    begun = time.monotonic()
    result = fuzz.run(
        options.calls,
        options.seed,
        slow=not options.fast,
        report=lambda text: print(text, flush=True),
    )
    print(
        f"{result.calls:,} calls of {len(result.by_target)} public names in {time.monotonic() - begun:.0f} s"
    )
    print(f"{result.returned:,} returned; refused: {dict(result.refused.most_common())}")
    print("slowest:", *(f"\n  {took:.2f} s {said}" for took, said in result.slowest))
    print(f"{len(result.faults)} faults")
    sys.exit(1 if result.faults else 0)


if __name__ == "__main__":
    main()
