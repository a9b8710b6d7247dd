"""Webhooks cannot reach internal addresses in any notation, nor addresses that were not checked."""

import socket
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from alerts import addresses
from alerts.errors import BadAddress
from alerts.posting import post
from tests.patience import PATIENCE_SECONDS

INSIDE = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://0177.0.0.1/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://api.localhost:8000/",
    "http://0.0.0.0/",
    "http://0/",
    "http://10.0.0.8/",
    "http://172.16.5.5/",
    "http://192.168.1.1:8080/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://192.0.2.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a00:8]/",
    "http://[::7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:8::1]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://[2001:db8::1]/",
    "http://[100::1]/",
    "http://[100:0:0:1::1]/",
    "http://[5f00::1]/",
    "http://[3fff::1]/",
    "http://[3fff:fff:ffff::1]/",
    "http://[4000::1]/",
    "http://[2001:1::1]/",
    "http://[2001:20::1]/",
    "http://[2620:4f:8000::1]/",
    "http://[64:ff9b:1::808:808]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[::ffff:0:7f00:1]/",
    "http://[2002:c058:6301::]/",
    "http://0.1.2.3/",
    "http://192.0.0.8/",
    "http://192.88.99.1/",
    "http://192.88.99.2/",
    "http://192.175.48.1/",
    "http://192.31.196.1/",
    "http://192.52.193.1/",
    "http://198.19.255.254/",
    "http://198.51.100.7/",
    "http://203.0.113.9/",
    "http://168.63.129.16/",
]


@pytest.mark.parametrize("url", INSIDE)
def test_an_address_inside_is_refused_when_it_is_written_and_when_it_is_posted_to(url: str) -> None:
    with pytest.raises(BadAddress):
        addresses.check_url(url, private_allowed=False)
    answer = post(url, b"{}", {}, private_allowed=False, timeout=PATIENCE_SECONDS)
    assert answer.status is None
    # Not every machine's resolver knows each spelling of its own name.
    assert "may not reach" in answer.problem or answer.problem.endswith("was not found")


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a?b=c",
        "http://203.0.114.9:8080/",
        "https://[2606:4700::1111]/",
        "https://[2002:808:808::1]/",
        "https://[64:ff9b::808:808]/",
        "https://[3ffe::1]/",
        "https://[2a00::1]/",
        "https://192.88.98.1/",
        "https://198.17.0.1/",
        "https://198.20.0.1/",
        "https://168.63.129.17/",
        "https://bücher.example/",
    ],
)
def test_an_address_outside_is_taken(url: str) -> None:
    addresses.check_url(url, private_allowed=False)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "empty"),
        ("hooks.example.com", "begin with https"),
        ("ftp://hooks.example.com/", "begin with https"),
        ("file:///etc/passwd", "begin with https"),
        ("gopher://127.0.0.1:70/", "begin with https"),
        ("https:///path", "no host"),
        ("https://ada:hush@hooks.example.com/", "leave it out"),
        ("https://hooks.example.com:0/", "cannot be read"),
        ("https://hooks.example.com:99999/", "cannot be read"),
        ("https://hooks.example.com\\@127.0.0.1/", "leave it out"),
        ("https://hooks.example.com\\.127.0.0.1/", "cannot be read"),
        ("https://[::1/", "cannot be read"),
        ("https://hooks.example.com/a b", "blank"),
        ("https://hooks.example.com/\r\nX: y", "blank"),
        (f"https://{'a' * 64}.example.com/", "not a valid host name"),
        (f"https://hooks.example.com/{'a' * 500}", "longer than 500"),
    ],
)
def test_a_bad_url_is_refused_with_a_message(url: str, said: str) -> None:
    with pytest.raises(BadAddress, match=said) as refusal:
        addresses.check_url(url, private_allowed=True)
    assert "hush" not in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://0xa9fea9fe/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[fd00:ec2::23]/",
        "http://[fd20:ce::254]/",
        "http://[fd00:c1::a9fe:a9fe]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://192.0.0.192/",
        "http://192.88.99.1/",
        "http://[3fff::1]/",
        "http://0.0.0.0/",
        "http://[::]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::169.254.169.254]/",
        "http://[::ffff:0:a9fe:a9fe]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[64:ff9b:1:a9fe:a9:fe00::]/",
        "http://[64:ff9b:1:7:a9:fea9:fe00:0]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://[2001:0:808:808:0:0:5601:5601]/",
    ],
)
def test_not_even_a_private_installation_reaches_where_clouds_keep_credentials(url: str) -> None:
    with pytest.raises(BadAddress):
        addresses.check_url(url, private_allowed=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://10.0.0.8/",
        "http://[fd12:3456::1]/",
        "http://[64:ff9b:1::a00:8]/",
        "http://100.64.0.1/",
    ],
)
def test_a_private_installation_reaches_its_own_network(url: str) -> None:
    addresses.check_url(url, private_allowed=True)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_translated_address_is_checked_as_the_ipv4_address_behind_it(
    number: int, private_allowed: bool
) -> None:
    plain = addresses.why_refused(IPv4Address(number), private_allowed=private_allowed)
    for written in (
        number | 0xFFFF << 32,
        number | 0xFFFF << 48,
        number | 0x64FF9B << 96,
        number << 80 | 0x2002 << 112 | 7,
    ):
        found = addresses.why_refused(IPv6Address(written), private_allowed=private_allowed)
        assert found == plain, IPv6Address(written)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """Name → the addresses of each further look-up: what a name server answers."""
    answers: dict[str, list[list[str]]] = {}
    ask = socket.getaddrinfo

    def answer(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host not in answers or kwargs.get("flags", 0) & socket.AI_NUMERICHOST:
            return ask(host, port, *args, **kwargs)
        found = answers[host].pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, port)) for each in found]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return answers


def test_a_name_that_leads_inside_is_refused_and_nothing_is_sent(
    receiver: Any, names: dict[str, list[list[str]]]
) -> None:
    names["hooks.example"] = [["127.0.0.1"], ["203.0.114.9", "127.0.0.1"]]
    url = f"http://hooks.example:{receiver.port}/"
    for _ in range(2):
        answer = post(url, b"{}", {}, private_allowed=False)
        assert answer.problem.startswith("hooks.example leads to 127.0.0.1, this machine itself")
    assert receiver.got == []


def test_the_address_that_was_checked_is_connected_to_without_a_second_look_up(
    receiver: Any, names: dict[str, list[list[str]]]
) -> None:
    names["hooks.example"] = [["127.0.0.1"]]  # a second look-up finds nothing to pop
    url = f"http://hooks.example:{receiver.port}/a?b=c"
    answer = post(url, b"{}", {}, private_allowed=True)
    assert answer.status == 204
    path, headers, _body = receiver.got[0]
    assert (path, headers["host"]) == ("/a?b=c", f"hooks.example:{receiver.port}")


def test_the_first_address_that_takes_the_connection_is_used(
    receiver: Any, names: dict[str, list[list[str]]]
) -> None:
    names["hooks.example"] = [["127.0.0.2", "127.0.0.1"]]  # no server listens at the first
    url = f"http://hooks.example:{receiver.port}/"
    assert post(url, b"{}", {}, private_allowed=True).status == 204


@pytest.mark.django_db
def test_a_customers_webhook_whose_name_turns_inside_posts_nothing(
    receiver: Any,
    names: dict[str, list[list[str]]],
    ada: Any,
    client: Client,
    work: Any,
    clock: Any,
    settings: Any,
) -> None:
    from alerts.models import Delivery, Webhook
    from portal.services import members

    settings.WEBHOOKS_PRIVATE = False
    client.force_login(members.invite(ada, email="ada@ada.example", role="owner").user)
    form = {"name": "hook", "url": f"http://hooks.example:{receiver.port}/"}
    for inside in INSIDE[::8]:
        page = client.post("/portal/webhooks/add/", {**form, "url": inside}).content.decode()
        assert "may not reach" in page, inside
    names["hooks.example"] = [["127.0.0.1"]]
    assert client.post("/portal/webhooks/add/", form).status_code in (200, 302)
    hook = Webhook.objects.get()
    client.post(f"/portal/webhooks/{hook.pk}/test/")
    clock.move(hours=1)
    work()
    assert receiver.got == [] and Delivery.objects.get(webhook=hook).tries == 1
    page = client.get(f"/portal/webhooks/{hook.pk}/").content.decode()
    assert "hooks.example leads to 127.0.0.1, this machine itself" in page
    # Nor does a change of the address lead there.
    for url in (f"http://127.0.0.1:{receiver.port}/", f"http://a@127.1:{receiver.port}/"):
        client.post(f"/portal/webhooks/{hook.pk}/", {**form, "url": url})
        assert Webhook.objects.get().url == form["url"]
