"""IDLs of programs: the uploaded ones, and uploading one."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, JsonResponse
from django.urls import reverse
from django.utils import timezone
from solders.pubkey import Pubkey

from chain.idl.reading import MOST_BYTES
from chain.idl.types import BadIdl
from rewind.explained.services.idls import upload_idl
from rewind.models import ProgramIdl
from rewind.replay.admin.replays.uploading import uploaded_file
from staff import audit
from staff.columns import column
from staff.errors import ActionRefused
from staff.formatting import ago, in_full, size_of
from staff.own_pages import OwnPage, PagesAdmin
from staff.parsing import pubkey_in, slot_in
from staff.read_only import ReadOnlyAdmin

_CHANGE = "rewind.change_programidl"


def _upload(_idls: "ProgramIdlAdmin", request: HttpRequest) -> HttpResponse:
    """Takes a JSON file; `program` and `from_slot` are in the address, and may be empty."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    try:
        row = upload_idl(
            uploaded_file(request, most_bytes=MOST_BYTES)[1],
            program=_program(request.GET.get("program", "")),
            from_slot=_slot(request.GET.get("from_slot", "")),
            by=request.user.get_username(),
            now=timezone.now(),
        )
    except (BadIdl, ActionRefused) as refusal:
        text = str(refusal)
        return JsonResponse({"error": text[:1].upper() + text[1:]}, status=400)
    audit.record(request, "uploaded", row, text=f"{row.name} {row.version}".strip())
    return JsonResponse({"value": str(row.pk), "label": str(row)})


def _program(text: str) -> Pubkey | None:
    found = pubkey_in(text.strip())
    if found is None and text.strip():
        raise ActionRefused("the program is not a pubkey")
    return found


def _slot(text: str) -> int:
    found = slot_in(text.strip() or "0")
    if found is None:
        raise ActionRefused("the first slot is not a number")
    return found


@admin.register(ProgramIdl)
class ProgramIdlAdmin(PagesAdmin, ReadOnlyAdmin):
    """Who may change IDLs may upload and delete them."""

    list_display = ("shown", "name", "version", "from_slot", "uploaded")
    fields = ("shown", "name", "version", "from_slot", "size", "uploaded_by", "uploaded")
    list_before_template = "admin/rewind/programidl/upload.html"
    why_nothing = (
        "IDLs name the instructions, accounts and errors of programs in explained transactions."
        " One that a program keeps on chain is read from the archive without this."
    )
    own_pages = (OwnPage("upload/", "rewind_programidl_upload", _upload, _CHANGE),)

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        return {
            "uploads": reverse("admin:rewind_programidl_upload")
            if request.user.has_perm(_CHANGE)
            else "",
            "most_upload": size_of(MOST_BYTES),
        }

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm(_CHANGE))

    shown = column("program", lambda row: in_full(row.program), "program")
    size = column("size", lambda row: size_of(len(bytes(row.text))))
    uploaded = column("uploaded", lambda row: ago(row.uploaded_at), "uploaded_at")
