"""Takes a program's build that a page's script uploads: the file alone is the body."""

from urllib.parse import unquote

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone

from rewind.errors import BadBuild
from rewind.replay.models import ReplayBuild
from rewind.replay.services.replays import uploads
from staff.errors import ActionRefused
from staff.formatting import size_of

_LONGEST_NAME = 300
TYPE = "application/octet-stream"


def take_upload(
    request: HttpRequest, *, customer_id: int | None, by: str
) -> tuple[HttpResponse, ReplayBuild | None]:
    """The answer, {value, label} for the form's choice or {error}, and the build unless it was
    refused. The file's name is in the header X-File-Name, percent-encoded.
    """
    try:
        build = _build(request, customer_id, by)
    except (BadBuild, ActionRefused) as refusal:
        text = str(refusal)
        return JsonResponse({"error": text[:1].upper() + text[1:]}, status=400), None
    label = f"{build.name}, {size_of(build.size)}, uploaded now"
    return JsonResponse({"value": f"own-{build.pk}", "label": label}), build


def uploaded_file(request: HttpRequest, *, most_bytes: int) -> tuple[str, bytes]:
    """Its name and content. Raises ActionRefused for anything else, and for a longer one."""
    length = int(request.META.get("CONTENT_LENGTH") or 0)
    most = min(most_bytes, settings.MAX_LARGE_BODY)
    if request.content_type != TYPE:
        raise ActionRefused(f"the file alone is expected, as {TYPE}")
    if not 0 < length <= most:
        raise ActionRefused(f"a file of at most {size_of(most)} is expected")
    # Not request.body, which is for forms and has their limit.
    code = request.META["wsgi.input"].read(length)
    if len(code) < length:
        raise ActionRefused("the file was cut off: upload it again")
    return unquote(request.headers.get("X-File-Name", ""))[:_LONGEST_NAME], code


def _build(request: HttpRequest, customer_id: int | None, by: str) -> ReplayBuild:
    name, code = uploaded_file(request, most_bytes=settings.MAX_LARGE_BODY)
    return uploads.upload(
        code,
        name=name,
        customer_id=customer_id,
        by=by,
        most_bytes=settings.REPLAY_BUILD_BYTES,
        now=timezone.now(),
    )
