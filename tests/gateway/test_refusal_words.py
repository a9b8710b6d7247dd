"""The catalogue of refusals."""

from access.errors import KeyRefused
from gateway import refusals
from jsonrpc.errors import RpcError


def test_every_refusal_has_a_word_of_its_own_a_status_and_a_sentence() -> None:
    def below(kind: type[RpcError]) -> list[type[RpcError]]:
        return [kind, *(one for child in kind.__subclasses__() for one in below(child))]

    kinds = below(KeyRefused)[1:] + [
        kind
        for kind in below(refusals.Refusal)[1:]
        if kind.__module__.startswith("gateway.") and kind is not refusals.Forbidden
    ]
    words = [kind.reason for kind in kinds]
    assert len(set(words)) == len(words)
    assert all(word == word.lower() and " " not in word for word in words)
    assert all(400 <= kind.status < 500 or kind.status in (500, 503) for kind in kinds)
    assert all(kind.__doc__ for kind in kinds)
