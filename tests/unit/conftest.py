"""How property tests choose their examples."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Neither luck nor the load of the machine decides: each run tries the same examples, without a limit of time.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")
