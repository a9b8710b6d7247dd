"""Pages of lists: newest first, by cursor."""

from typing import Any

from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.pagination import Cursor, CursorPagination

from chain.units import I64_MAX


class Pages(CursorPagination):
    """`limit` entries, and the addresses of the pages beside it."""

    ordering = "-id"
    page_size = 50
    page_size_query_param = "limit"
    page_size_query_description = "entries of a page: 50 by default, at most 500"
    max_page_size = 500
    cursor_query_description = "where the page begins: that of `next` or `previous`"

    def get_page_size(self, request: Any) -> int:
        """Raises ValidationError: a list that is cut would look like a whole one."""
        text = request.query_params.get(self.page_size_query_param)
        if text is None:
            return self.page_size
        is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(I64_MAX))
        if not is_number or not 1 <= int(text) <= self.max_page_size:
            raise ValidationError({"limit": [f"A number from 1 to {self.max_page_size}."]})
        return int(text)

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        for each in found:
            if each["name"] == self.page_size_query_param:
                each["schema"] |= {"minimum": 1, "maximum": self.max_page_size}
        return found

    def decode_cursor(self, request: Any) -> Cursor | None:
        """Raises ValidationError for a cursor that this service did not give out."""
        try:
            cursor: Cursor | None = super().decode_cursor(request)
        except NotFound:
            raise ValidationError({"cursor": ["Not a cursor of this list."]}) from None
        position = None if cursor is None else cursor.position
        if position is not None and not (str(position).isdecimal() and int(position) <= I64_MAX):
            raise ValidationError({"cursor": ["Not a cursor of this list."]})
        return cursor
