"""How drf-spectacular describes the management API, in the same OpenAPI as the plain GETs."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from access.errors import KeyExpired, KeyMalformed, KeyRevoked, KeyUnknown
from gateway.outages import DatabaseBusy, DatabaseUnavailable
from gateway.refusals import (
    AddressNotAllowed,
    BodyTooLarge,
    BodyUnreadable,
    ContentTypeUnsupported,
    KeyRequired,
    ScopeMissing,
    TooManyRequests,
)
from jsonrpc.errors import RpcError
from jsonrpc.openrpc import meaning_of
from jsonrpc.wire import to_camel
from management import errors
from management.shapes import Shape, shape_of
from reference.get_errors import OF_ANY, status_of_get

_STR = {"type": "string"}
_ERROR = {"$ref": "#/components/schemas/Error"}
_OF_ANY: tuple[type[RpcError], ...] = (
    KeyRequired,
    KeyMalformed,
    KeyUnknown,
    KeyRevoked,
    KeyExpired,
    ScopeMissing,
    AddressNotAllowed,
    TooManyRequests,
    errors.FieldsInvalid,
    *OF_ANY,
    DatabaseUnavailable,
)
_OF_WRITES = (
    DatabaseBusy,
    errors.BodyMalformed,
    errors.ActionImpossible,
    errors.IdempotencyKeyReused,
    ContentTypeUnsupported,
    BodyTooLarge,
    BodyUnreadable,
)


class ManagementSchema(AutoSchema):
    """Describes a handler by its docstring and its Shape."""

    view: Any

    @property
    def _shape(self) -> Shape:
        return shape_of(self.view)

    def get_operation_id(self) -> str:
        return to_camel(f"{self.view.basename}_{self.view.action}".replace("-", "_"))

    def get_tags(self) -> list[str]:
        return ["management"]

    def get_summary(self) -> str:
        return self.get_description().partition(". ")[0].partition(": ")[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]  # as the parent does
        text = getattr(self.view, self.view.action).__doc__
        if text is None:
            text = (
                f"Lists {self.view.plural}, newest first."
                if self.view.action == "list"
                else f"Reads {self.view.singular}."
            )
        return " ".join(text.split())

    def get_extensions(self) -> dict[str, Any]:
        verb = "read" if self.method in ("GET", "HEAD") else "write"
        return {"x-scope": f"{self.view.resource}:{verb}", "x-customers": bool(self.view.owner)}

    def get_override_parameters(self) -> list[Any]:
        found: list[Any] = [self._shape.query] if self._shape.query is not None else []
        if self.method == "POST":
            meaning = "makes the request take effect once: a repeated one gets the same response"
            found.append(_header("Idempotency-Key", meaning))
        if self.method == "PATCH":
            found.append(_header("If-Match", "the ETag of what is changed, or `*`", required=True))
        elif self.method in ("POST", "DELETE") and "{" in self.path:
            found.append(_header("If-Match", "the ETag that it must still have"))
        return found

    def get_request_serializer(self) -> Any:
        return self._shape.body

    def get_serializer_name(self, serializer: Any, direction: Any) -> str:
        # Types of the plain GETs have some of the same names.
        return f"Managed{type(serializer).__name__}"

    def _is_list_view(self, serializer: Any = None) -> bool:
        many = self._shape.many
        return self.view.action == "list" if many is None else many

    def get_response_serializers(self) -> Any:
        shape = self._shape
        kind = shape.answer or self.view.get_serializer_class()
        found: dict[Any, Any]
        if shape.status == 204:
            found = {204: OpenApiResponse(None, "done")}
        elif shape.content_type:
            key = (str(shape.status), shape.content_type)
            found = {key: OpenApiResponse(_STR, self.get_summary())}
        else:
            found = {shape.status: OpenApiResponse(kind(many=self._is_list_view()), "the resource")}
        by_status: dict[int, list[type[RpcError]]] = {}
        for error in self._errors():
            by_status.setdefault(status_of_get(error), []).append(error)
        for status, kinds in sorted(by_status.items()):
            meaning = "; ".join(f"`{each.reason}`: {meaning_of(each)}" for each in kinds)
            found[str(status), "application/json"] = OpenApiResponse(_ERROR, meaning)
        return found

    def _errors(self) -> list[type[RpcError]]:
        found: list[type[RpcError]] = [*_OF_ANY]
        if "{" in self.path:
            found.append(errors.NotFound)
        if self.method not in ("GET", "HEAD"):
            found += _OF_WRITES
        if self.method == "PATCH":
            found.append(errors.VersionRequired)
        if self.method != "GET" and "{" in self.path:
            found.append(errors.VersionChanged)
        return found


class ManagementKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """A root key, or the token of a customer."""

    target_class = "management.authentication.ManagementKeyAuthentication"
    name = "management"

    def get_security_definition(self, auto_schema: Any) -> Any:
        text = "a root key (`tmr_…`), or the token of a customer (`tmt_…`)"
        return {"type": "http", "scheme": "bearer", "description": text}


def _header(name: str, meaning: str, *, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, required=required, description=meaning
    )
