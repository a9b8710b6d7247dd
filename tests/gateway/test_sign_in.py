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
