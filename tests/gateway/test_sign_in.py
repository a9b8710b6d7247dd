"""Sign-in attempts per address."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from gateway.sign_in import limited_sign_in


@limited_sign_in
def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse("form")


def test_ten_attempts_a_minute_and_address_and_then_429(empty_redis: None) -> None:
    ask = RequestFactory()

    def attempt(address: str) -> Any:
        return view(ask.post("/admin/login/", REMOTE_ADDR=address))

    statuses = [attempt("192.0.2.1").status_code for _ in range(12)]
    assert statuses == [200] * 10 + [429] * 2
    assert 1 <= int(attempt("192.0.2.1")["Retry-After"]) <= 60
    assert attempt("192.0.2.2").status_code == 200
    assert view(ask.get("/admin/login/", REMOTE_ADDR="192.0.2.1")).status_code == 200


def test_an_account_is_limited_under_whatever_name_stands_beside_it(empty_redis: None) -> None:
    ask = RequestFactory()

    def attempt(number: int, **posted: str) -> int:
        address = f"192.0.2.{number}"
        return view(ask.post("/portal/sign-in/", posted, REMOTE_ADDR=address)).status_code

    victim = ("bo@x.example", "BO@x.example ", "\uff42o@x.example")  # as Django reads names
    statuses = [
        attempt(number, email=victim[number % 3], username=f"nobody {number}")
        for number in range(61)
    ]
    assert statuses == [200] * 60 + [429]
    assert attempt(100, username="bo@x.example", email="other@x.example") == 429
    assert attempt(101, username="other") == 200
