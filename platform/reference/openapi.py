"""OpenAPI 3.1 of the plain GETs: drf-spectacular with support for our typed views."""

import inspect
from collections import defaultdict
from functools import cache, cached_property
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.test import APIRequestFactory
from uritemplate import variables

from gateway.admission import Sender
from gateway.declarations import TypedGet
from gateway.hosts import ALL_IN_ONE
from gateway.views import Endpoint
from jsonrpc.descriptions import Description, described
from jsonrpc.errors import RpcError
from jsonrpc.openrpc import meaning_of
from jsonrpc.schemas import Schema, Schemas
from reference.get_errors import errors_of_get, status_of_get

_ERROR: Schema = {
    "type": "object",
    "title": "Error",
    "description": "Why the request failed. Further members say what was required and found.",
    "properties": {
        "error": {"type": "string", "description": "the reason, a stable identifier"},
        "message": {"type": "string", "description": "the reason as a sentence"},
    },
    "required": ["error"],
}


class TypedComponents(ComponentRegistry):
    """drf-spectacular's components, and the types that results and parameters name."""

    def __init__(self) -> None:
        super().__init__()
        self.types = Schemas()

    def build(self, extra_components: Any) -> Any:
        ours = {"schemas": {**self.types.components, "Error": _ERROR}}
        return super().build({**ours, **extra_components})


class TypedGenerator(SchemaGenerator):
    """drf-spectacular's generator with our components."""

    registry: TypedComponents

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self.registry = TypedComponents()


class TypedSchema(AutoSchema):
    """Describes a TypedGet by its attributes and the docstring and annotations of its `get`. Other
    views are not described: JSON-RPC has `/openrpc.json`.
    """

    registry: TypedComponents
    view: Any

    def is_excluded(self) -> bool:
        return not isinstance(self.view, TypedGet)

    def get_operation_id(self) -> str:
        return str(self.view.name)

    def get_summary(self) -> str:
        return self._described.summary

    def get_description(self) -> str:  # type: ignore[override]  # as the parent does
        return self._described.text

    def get_tags(self) -> list[str]:
        return []

    def get_override_parameters(self) -> list[Any]:
        return [*self._parts(), *self._query()]

    def get_response_serializers(self) -> Any:
        schema = self.registry.types.of(self.view.result)
        text = self.registry.types.resolve(schema).get("description", "the answer")
        found = {
            (str(status), self.view.content_type): OpenApiResponse(schema, meaning)
            for status, meaning in {200: text, **self.view.also}.items()
        }
        by_status: dict[int, list[type[RpcError]]] = defaultdict(list)
        for kind in errors_of_get(self.view):
            by_status[status_of_get(kind)].append(kind)
        for status, kinds in sorted(by_status.items()):
            meaning = "; ".join(f"`{kind.reason}`: {meaning_of(kind)}" for kind in kinds)
            key, error = (str(status), "application/json"), self._error_schema
            if key in found:
                meaning = f"{found[key].description}; {meaning}"
                error = {"anyOf": [found[key].response, error]}
            found[key] = OpenApiResponse(error, meaning)
        return found

    def get_extensions(self) -> dict[str, Any]:
        if not isinstance(self.view, Endpoint):
            return {}
        policy = self.view.policy
        return {"x-scope": policy.scope, "x-hosts": sorted(policy.hosts)}

    _error_schema: Schema = {"$ref": "#/components/schemas/Error"}

    @cached_property
    def _described(self) -> Description:
        return described(self.view.get, variables(self.path))

    def _parts(self) -> list[OpenApiParameter]:
        names = list(variables(self.path))
        hints = inspect.get_annotations(type(self.view).get, eval_str=True) if names else {}
        return [
            OpenApiParameter(
                name,
                self.registry.types.of(hints[name]),
                OpenApiParameter.PATH,
                required=True,
                description=self._described.parts.get(name, ""),
            )
            for name in names
        ]

    def _query(self) -> list[OpenApiParameter]:
        return [
            OpenApiParameter(
                each.name,
                self.registry.types.of(each.kind),
                OpenApiParameter.QUERY,
                description=f"{each.meaning} (default: {each.default})"
                if each.default
                else each.meaning,
            )
            for each in self.view.query
        ]


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The API key, in the header or in the query."""

    target_class = "gateway.authentication.ApiKeyAuthentication"
    name = ["key", "query"]

    def get_security_requirement(self, auto_schema: Any) -> Any:
        either: list[dict[str, list[Any]]] = [{"key": []}, {"query": []}]
        return either if auto_schema.view.policy.key_required else [*either, {}]

    def get_security_definition(self, auto_schema: Any) -> Any:
        return [
            {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": "the API key as it is, or `Bearer` and the key",
            },
            {
                "type": "apiKey",
                "in": "query",
                "name": "api_key",
                "description": "the API key, where a client can send no headers",
            },
        ]


class MetricsTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The token of /metrics."""

    target_class = "operations.authentication.MetricsToken"
    name = "metrics"

    def get_security_definition(self, auto_schema: Any) -> Any:
        return {"type": "http", "scheme": "bearer", "description": "the token of METRICS_TOKEN"}


def described_request(method: str, path: str, view: Any, _original: Any, **_: Any) -> Any:
    """The request by which the generator describes a view: as the middleware passes one on."""
    request: Any = getattr(APIRequestFactory(), method.lower())(path=path)
    request.sender = Sender(ALL_IN_ONE, "", path, None)
    request.host, request.client_address, request.request_id = ALL_IN_ONE, "", ""
    return view.initialize_request(request)


def document(base: str) -> dict[str, Any]:
    """The whole document, with this base URL as its server."""
    servers = [{"url": base, "description": "this service"}]
    return {**described_gets(), "servers": servers}


@cache
def described_gets() -> dict[str, Any]:
    """The document without servers, made once per process."""
    generator = TypedGenerator()
    made: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    return made
