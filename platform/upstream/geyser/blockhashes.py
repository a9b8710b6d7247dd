"""Blockhashes: those of the latest blocks, which separate blockhashes from the values of nonces."""

from chain.encodings import b58decode

# A transaction may name one of the last 150; forks make more of them.
_REMEMBERED = 600
_CHARACTERS = 44


class Blockhashes:
    """Bounded, whatever a stream sends."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def __contains__(self, value: bytes) -> bool:
        return value in self._known

    def remember(self, blockhash: str) -> None:
        """Takes a blockhash in base58; what is none is ignored."""
        if len(blockhash) > _CHARACTERS:
            return
        try:
            self._known[b58decode(blockhash)] = None
        except ValueError:
            return
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
