"""What tipping refuses of an administrator's orders."""


class DefaultClassStays(Exception):
    """The default TTL class cannot go, nor stop being the default, before another one is it."""

    def __init__(self) -> None:
        super().__init__("one class is the default: make another one the default first")


class ClassHasBatches(Exception):
    """A TTL class whose addresses were issued stays, so that what they receive is still swept."""

    def __init__(self, ttl_seconds: int) -> None:
        super().__init__(f"addresses of the class of {ttl_seconds} s were issued: it cannot go")
        self.ttl_seconds = ttl_seconds
