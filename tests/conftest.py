"""Settings of all tests."""

from hypothesis import HealthCheck, settings

# A time limit per example, or for making examples, says something about the machine, not about the code.
settings.register_profile("postil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("postil")
