"""Settings of all tests."""

from hypothesis import settings

# A time limit per example says something about the machine, not about the code.
settings.register_profile("postil", deadline=None)
settings.load_profile("postil")
