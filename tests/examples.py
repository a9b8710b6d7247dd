"""How many examples a property looks at."""

from hypothesis import settings


def examples(most: int) -> int:
    """All of them in `make soak`, whose examples are random; a fifth in `make test`."""
    return most if settings.get_current_profile_name() == "random" else (most + 4) // 5
