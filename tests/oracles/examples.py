"""How many examples Hypothesis tries, as a share of what the profile in use says."""

from hypothesis import settings


def examples(share: float, **others: object) -> settings:
    """A decorator: ``@examples(0.5)`` tries half as many as the profile, so `thorough` stays thorough here too."""
    return settings(max_examples=max(1, round(settings().max_examples * share)), **others)
