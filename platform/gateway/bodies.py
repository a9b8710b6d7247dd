"""A request's body: of the right type, of the right size, read once."""

from django.conf import settings
from django.http import HttpRequest

from gateway.refusals import BodyTooLarge, BodyUnreadable, ContentTypeUnsupported


def read_body(request: HttpRequest) -> bytes:
    """The bytes. Raises ContentTypeUnsupported, BodyTooLarge (before reading, where the length is
    announced) and BodyUnreadable.
    """
    meta = request.META
    content_type: str = meta.get("CONTENT_TYPE", "")
    if content_type != "application/json" and not _is_json(content_type):
        raise ContentTypeUnsupported(content_type)
    coding: str = meta.get("HTTP_CONTENT_ENCODING", "")
    if coding and coding.lower() != "identity":
        raise ContentTypeUnsupported(f"{content_type}, encoded as {coding}")
    length: str = meta.get("CONTENT_LENGTH") or ""
    maximum: int = settings.MAX_BODY
    try:
        if length:
            if not length.isdecimal():
                raise BodyUnreadable
            announced = int(length[:20])
            if announced > maximum:
                raise BodyTooLarge(maximum, announced)
            body: bytes = meta["wsgi.input"].read(announced)
            if len(body) < announced:
                raise BodyUnreadable
            return body
        if not meta.get("HTTP_TRANSFER_ENCODING"):
            return b""
        # Django reads nothing without a Content-Length; a chunked body must be asked for.
        body = meta["wsgi.input"].read(maximum + 1)
    except OSError:
        raise BodyUnreadable from None
    if len(body) > maximum:
        raise BodyTooLarge(maximum, None)
    return body


def _is_json(content_type: str) -> bool:
    name = content_type.partition(";")[0].strip().lower()
    return name == "application/json" or (
        name.startswith("application/") and name.endswith("+json")
    )
