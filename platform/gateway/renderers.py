"""JSON as DRF's renderer: dataclasses and structs by their own fields, integers exactly."""

from typing import Any

import msgspec
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer

_encode = msgspec.json.Encoder().encode


class JsonRenderer(BaseRenderer):
    """Renders anything that JSON can hold; bytes are JSON already."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Any = None,
    ) -> bytes:
        return data if isinstance(data, bytes) else _encode(data)


class OneForm(BaseContentNegotiation):
    """An endpoint has one response format, whatever the client accepts."""

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return parsers[0] if parsers else None

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type
