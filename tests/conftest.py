"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# The same examples on every run and machine: a failure can be reproduced by running the test again.
settings.register_profile(
    "suite", derandomize=True, deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")
