"""How property tests choose their examples: as those of the core do."""

from __future__ import annotations

import tests.unit.conftest  # noqa: F401
