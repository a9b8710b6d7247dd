"""The shelf of program builds: to look at, and to take builds off it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from rewind.replay.models import ProgramBuild
from staff.columns import column
from staff.formatting import ago, in_full, size_of
from staff.read_only import ReadOnlyAdmin


@admin.register(ProgramBuild)
class ProgramBuildAdmin(ReadOnlyAdmin):
    """Who may change builds may remove them. They come by manage.py import_program."""

    list_display = ("shown", "slots", "loader", "length", "source", "recorded")
    fields = ("shown", "slots", "loader", "length", "sha256", "source", "recorded")
    why_nothing = (
        "Builds of programs, for slots where the archive has none."
        " On the server: manage.py import_program FILE --program ID --from-slot N"
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProgramBuild]:
        queryset: QuerySet[ProgramBuild] = super().get_queryset(request)
        return queryset.defer("code")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("rewind.change_programbuild")

    shown = column("program", lambda row: in_full(row.program), "program")
    slots = column(
        "slots",
        lambda row: f"{row.from_slot} to {'now' if row.to_slot is None else row.to_slot}",
        "from_slot",
    )
    length = column("size", lambda row: size_of(row.size), "size")
    sha256 = column("SHA-256", lambda row: in_full(bytes(row.digest).hex()))
    recorded = column("recorded", lambda row: ago(row.recorded_at), "recorded_at")
