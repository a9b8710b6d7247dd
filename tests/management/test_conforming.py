"""Requests made by schemathesis from `/openapi.json`: every call of the management API responds as
it is described.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.web_server import service_worker
from tests.webserver.serving import serving

pytestmark = pytest.mark.django_db(transaction=True)

TIMEOUT = 120
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def service() -> Iterator[str]:
    with serving(service_worker()) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def root_key(transactional_db: None, tier: Any) -> str:
    """A root key, and a row or two to find."""
    from access.models import Customer
    from access.services import keys
    from alerts.services import webhooks
    from management.scopes import SCOPES
    from management.services import management_keys
    from portal.services import members

    customer = Customer.objects.create(name="Ada")
    keys.issue_key(customer, tier=tier("basic", 10), name="x")
    members.invite(customer, email="a@ada.example", role="owner")
    webhooks.create(customer.pk, name="hook", url="http://127.0.0.1:9/")
    now = timezone.now()
    issued = management_keys.issue(name="robot", scopes=SCOPES, created_by="grace", now=now)
    return issued.secret


def ask(service: str, key: str, examples: int, *, anew: bool = False) -> dict[str, set[int]]:
    """The statuses of each call, asked for so many valid and as many invalid things."""
    document = requests.get(f"{service}/openapi.json", timeout=TIMEOUT).json()
    schema = schemathesis.openapi.from_dict(document).include(path_regex="^/manage/")
    found: dict[str, set[int]] = {}
    wrong: list[str] = []
    example = settings(
        max_examples=examples,
        database=None,
        derandomize=not anew,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {key}"
        for each in schema.get_all_operations():
            operation = each.ok()
            seen = found.setdefault(operation.label, set())
            takes = operation.definition.raw.get("parameters") or operation.body
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)[: 2 if takes else 1]:
                try:
                    _each(service, session, operation, mode, example, seen)
                except BaseExceptionGroup as problem:
                    wrong.append(f"{operation.label}: {problem.exceptions[0]}")
    assert not wrong, "\n".join(wrong)
    return found


def _each(
    service: str, session: requests.Session, operation: Any, mode: Any, example: Any, seen: set[int]
) -> None:
    @example
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case: Any) -> None:
        answer = case.call(service, session=session, timeout=TIMEOUT)
        case.validate_response(answer, checks=CHECKS)
        seen.add(answer.status_code)

    call()


def test_every_call_responds_as_it_is_described(service: str, root_key: str) -> None:
    statuses = ask(service, root_key, 2)
    assert len(statuses) > 78
    for label, seen in statuses.items():
        assert 403 not in seen and seen != {401}, label
    lists = [
        seen for label, seen in statuses.items() if label.startswith("GET") and "{" not in label
    ]
    assert all(200 in seen for seen in lists)


@pytest.mark.soak
def test_thirty_of_each(service: str, root_key: str) -> None:
    ask(service, root_key, 30, anew=True)
