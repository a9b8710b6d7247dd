"""System checks, and the catalogue of refusals."""

from ipaddress import ip_network

import pytest

from access.errors import KeyRefused
from gateway import refusals
from gateway.checks import check_gateway
from jsonrpc.errors import RpcError


def found() -> list[str | None]:
    return [message.id for message in check_gateway()]


def test_the_projects_own_settings_pass() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("name", "value", "identity"),
    [
        ("DOMAIN", "Example.com", "gateway.E001"),
        ("DOMAIN", "", "gateway.E001"),
        ("TRUSTED_PROXIES", [ip_network("0.0.0.0/0")], "gateway.W001"),
        ("MIDDLEWARE", ["x.Y", "gateway.middleware.HostMiddleware"], "gateway.E003"),
        ("CACHES", {}, "gateway.E004"),
    ],
)
def test_settings_that_cannot_work_are_named(
    settings, name: str, value: object, identity: str
) -> None:
    setattr(settings, name, value)
    assert identity in found()


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
