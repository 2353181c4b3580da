"""Many hostile calls, messages, files and command lines; see `tests.fuzz`."""

from __future__ import annotations

import argparse
import sys
import time

from tests import fuzz
from tests.fuzz import outside


def main() -> None:
    parser = argparse.ArgumentParser(description=fuzz.__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="no browser, no training, no pip")
    options = parser.parse_args()

    def report(text: str) -> None:
        print(text, flush=True)

    seed, faults = options.seed, 0
    for what, run in (
        ("calls", lambda: fuzz.run(options.calls, seed, slow=not options.fast, report=report)),
        ("messages", lambda: outside.messages(options.messages, seed, report)),
        ("files", lambda: outside.files(options.files, seed, report)),
        ("lines", lambda: outside.lines(options.lines, seed, report)),
    ):
        if not getattr(options, what):
            continue
        begun = time.monotonic()
        result = run()
        faults += len(result.faults)
        print(
            f"{result.calls:,} {what} in {time.monotonic() - begun:.0f} s: {len(result.faults)} faults"
        )
        if result.by_target:
            print(f"of {len(result.by_target)} public names")
        print(f"{result.returned:,} returned; refused: {dict(result.refused.most_common())}")
        print(
            "slowest:", *(f"\n  {took:.2f} s {said}" for took, said in result.slowest), flush=True
        )
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
