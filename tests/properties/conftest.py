"""How many examples: a few by default, or as many as the environment says.

    WIGWAG_EXAMPLES=20000 pytest tests/properties

The few are the same every time, so that a run of all tests is never red by chance; the many are
others each time.
"""

import os

from hypothesis import HealthCheck, settings

_EXAMPLES = int(os.environ.get("WIGWAG_EXAMPLES", "0"))
_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "few",
    max_examples=60,
    stateful_step_count=50,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile(
    "many",
    max_examples=_EXAMPLES or 20_000,
    stateful_step_count=60,
    deadline=None,
    print_blob=True,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.load_profile("many" if _EXAMPLES else "few")
