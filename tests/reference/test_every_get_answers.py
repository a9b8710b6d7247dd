"""Requests made by schemathesis from `/openapi.json` get documented responses."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from django.conf import settings as service_settings
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from access.callers import ANONYMOUS
from columns.kept import forget_all
from priority.fates.streams import PATH as STREAM
from tests.web_server import service_worker
from tests.webserver.serving import serving

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nothing_remembered"),
]

# Of one answer, on whatever machine.
TIMEOUT = 120
# Whether invalid parameters are refused is not among these: unknown ones are ignored.
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture
def service() -> Iterator[str]:
    """The service's address; callers without a key have no limits, or they would get nothing."""
    from access.models import Tier
    from tipping.models import TtlClass
    from tipping.services import batches

    forget_all()
    TtlClass.objects.all().delete()
    TtlClass.objects.create(ttl_seconds=600, window_seconds=600, batch_size=512, is_default=True)
    batches.prepare_batches(seed=service_settings.TIP_SECRET_SEED, now=timezone.now())
    Tier.objects.update_or_create(name=ANONYMOUS, defaults={"rank": 0, "requests_per_second": None})
    with serving(service_worker()) as port:
        yield f"http://127.0.0.1:{port}"
    forget_all()


def get(url: str, key: str = "") -> requests.Response:
    return requests.get(url, headers={"Authorization": key} if key else {}, timeout=TIMEOUT)


def can_be_invalid(parameters: list[dict[str, Any]]) -> bool:
    """A string of no particular form cannot."""
    return any(each["schema"] != {"type": "string"} for each in parameters)


class Asking:
    """Asks every GET for so many valid and as many invalid things."""

    def __init__(self, service: str, key: str, examples: int, *, anew: bool = False) -> None:
        self.statuses: dict[str, set[int]] = {}
        self._settings = settings(
            max_examples=examples,
            database=None,
            derandomize=not anew,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        schema = schemathesis.openapi.from_dict(get(f"{service}/openapi.json").json())
        with requests.Session() as session:
            for found in (
                schema.exclude(path=STREAM).exclude(path_regex="^/manage/").get_all_operations()
            ):
                operation = found.ok()
                secret = key
                if key and operation.path == "/metrics":
                    secret = f"Bearer {service_settings.METRICS_TOKEN}"
                session.headers["Authorization"] = secret
                if not secret:
                    del session.headers["Authorization"]
                self.statuses[operation.path] = set()
                self._ask(service, operation, GenerationMode.POSITIVE, session)
                if can_be_invalid(operation.definition.raw.get("parameters", [])):
                    self._ask(service, operation, GenerationMode.NEGATIVE, session)

    def _ask(
        self, service: str, operation: Any, mode: GenerationMode, session: requests.Session
    ) -> None:
        seen = self.statuses[operation.path]

        @self._settings
        @given(case=operation.as_strategy(generation_mode=mode))
        def each(case: Any) -> None:
            answer = case.call(service, session=session, timeout=TIMEOUT)
            case.validate_response(answer, checks=CHECKS)
            seen.add(answer.status_code)

        each()


def test_with_a_key_everything_is_answered_as_it_says(service: str, api_key: str) -> None:
    statuses = Asking(service, api_key, 8).statuses
    assert len(statuses) > 10
    for path, seen in statuses.items():
        assert 401 not in seen, path
        assert 200 in seen or "{" in path, path


def test_without_a_key_too(service: str) -> None:
    statuses = Asking(service, "", 8).statuses
    assert 200 in statuses["/priority/tipfloor"] and 200 in statuses["/whoami"]
    assert statuses["/priority/fates"] == {401} == statuses["/metrics"]


@pytest.mark.soak
@pytest.mark.parametrize("with_key", [True, False])
def test_a_thousand_questions_each(service: str, api_key: str, with_key: bool) -> None:
    Asking(service, api_key if with_key else "", 500, anew=True)


def test_the_stream_is_described_and_refuses_as_it_says(service: str, api_key: str) -> None:
    """An endless answer is nothing for schemathesis; its refusals are."""
    document = get(f"{service}/openapi.json").json()
    responses = document["paths"][STREAM]["get"]["responses"]
    assert responses["200"]["content"].keys() == {"text/event-stream"}
    for query, key in (("signature=x", api_key), ("last_event_id=x", api_key), ("", "")):
        answer = get(f"{service}{STREAM}?{query}", key)
        documented = responses[str(answer.status_code)]
        assert answer.status_code in (400, 401)
        assert answer.headers["Content-Type"] in documented["content"]
