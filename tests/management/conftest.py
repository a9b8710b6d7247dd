"""Root keys, tokens of customers, and what they ask of the management API."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone


@pytest.fixture(autouse=True)
def forgetful(nothing_remembered: None) -> None:
    """Limits of other tests do not count here."""


class Api:
    """Calls with one key. `call` returns the response, with its JSON as `data`."""

    def __init__(self, secret: str) -> None:
        self.secret = secret
        self._client = Client(raise_request_exception=False)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = b"" if body is None else json.dumps(body).encode()
        kind = "application/json" if body is not None else "application/octet-stream"
        response: Any = self._client.generic(
            method,
            f"/manage/v1/{path}",
            sent,
            kind,
            headers={"Authorization": f"Bearer {self.secret}", **named},
        )
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        response.data = json.loads(response.content) if is_json and response.content else None
        return response

    def get(self, path: str, **headers: str) -> Any:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.call("POST", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.call("DELETE", path, **headers)

    def change(self, path: str, body: Any, **headers: str) -> Any:
        """PATCH with the version that a GET finds."""
        version = headers.pop("If_Match", "") or self.get(path).headers.get("ETag", "*")
        return self.call("PATCH", path, body, If_Match=version, **headers)


@pytest.fixture
def root(db: None) -> Callable[..., Api]:
    """`root("keys:write")`: a root key with these scopes; without any: with all."""
    from management.scopes import SCOPES
    from management.services import management_keys

    def make(*scopes: str, **options: Any) -> Api:
        issued = management_keys.issue(
            name="robot",
            scopes=scopes or SCOPES,
            created_by="grace",
            now=timezone.now(),
            **options,
        )
        return Api(issued.secret)

    return make


@pytest.fixture
def member(db: None) -> Callable[..., Any]:
    """`member(customer)`: an owner of the customer."""
    from portal.services import members

    def make(customer: Any, role: str = "owner", email: str = "") -> Any:
        address = email or f"{role}-{customer.pk}@example.org"
        return members.invite(customer, email=address, role=role)

    return make


@pytest.fixture
def token(root: Callable[..., Api], member: Callable[..., Any]) -> Callable[..., Api]:
    """`token(customer)`: the token of an owner of the customer; without scopes: with all."""
    from management.scopes import CUSTOMER_SCOPES

    def make(customer: Any, *scopes: str, **options: Any) -> Api:
        from portal.models import Member

        found = Member.objects.filter(customer=customer, role="owner").first()
        who = options.pop("member", None) or found or member(customer)
        return root(*(scopes or CUSTOMER_SCOPES), member=who, **options)

    return make


@pytest.fixture
def ada(db: None) -> Any:
    from access.models import Customer

    return Customer.objects.create(name="Ada & Sons", email="alerts@ada.example")


@pytest.fixture
def eve(db: None) -> Any:
    from access.models import Customer

    return Customer.objects.create(name="Eve")
