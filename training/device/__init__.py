"""One run of the embedded model on one GPU, by a clock: see README.md."""

import time

BEGUN = time.monotonic()  # before `run` imports torch, which takes seconds
