"""The shelf of program builds: to look at, and to take builds off it."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin.read_only import ReadOnlyAdmin
from rewind.models import ProgramBuild
from staff.formatting import ago, size_of


@admin.register(ProgramBuild)
class ProgramBuildAdmin(ReadOnlyAdmin):
    """Who may change builds may remove them. They come by manage.py import_program."""

    list_display = ("shown", "slots", "loader", "length", "source", "recorded")
    list_display_links = ("shown",)
    readonly_fields = ("shown", "slots", "loader", "length", "sha256", "source", "recorded")
    fieldsets = ((None, {"fields": readonly_fields}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProgramBuild]:
        queryset: QuerySet[ProgramBuild] = super().get_queryset(request)
        return queryset.defer("code")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("rewind.change_programbuild")

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        changes.why_nothing = (
            "Builds of programs for slots of which the archive has none."
            " On the server: manage.py import_program FILE --program ID --from-slot N"
        )
        return changes

    @admin.display(description="program", ordering="program")
    def shown(self, build: ProgramBuild) -> SafeString:
        return format_html('<code class="tm-break">{}</code>', build.program)

    @admin.display(description="slots", ordering="from_slot")
    def slots(self, build: ProgramBuild) -> str:
        return f"{build.from_slot} to {'now' if build.to_slot is None else build.to_slot}"

    @admin.display(description="size", ordering="size")
    def length(self, build: ProgramBuild) -> str:
        return size_of(build.size)

    @admin.display(description="SHA-256")
    def sha256(self, build: ProgramBuild) -> SafeString:
        return format_html('<code class="tm-break">{}</code>', bytes(build.digest).hex())

    @admin.display(description="recorded", ordering="recorded_at")
    def recorded(self, build: ProgramBuild) -> SafeString | str:
        return ago(build.recorded_at)
