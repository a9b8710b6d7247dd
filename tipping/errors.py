"""What tipping refuses of an administrator's orders."""


class DefaultClassStays(Exception):
    """The default TTL class cannot go, nor stop being the default, before another one is it."""

    def __init__(self) -> None:
        super().__init__("one class is the default: make another one the default first")
