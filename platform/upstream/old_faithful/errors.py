"""Why something cannot be read from an Old Faithful archive."""


class RemoteFault(Exception):
    """A read that failed; `path` is the file below the archive's URL."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Unreachable(RemoteFault):
    """The archive did not deliver the bytes: refused, timed out, broken off, a file that is not
    there. Another try may succeed.
    """


class Damaged(RemoteFault):
    """The bytes are not what the archive's own hashes and indexes say."""
