"""Golden packs and replies: written here by Python, read by ``js/tests/golden.test.ts`` too."""
