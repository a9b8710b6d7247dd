"""The desk: the ladder of TTL classes, and how each of them stands."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from access.admin import words
from staff.pages import StaffAdmin
from tipping.errors import ClassHasBatches, DefaultClassStays
from tipping.models import TtlClass
from tipping.services import batches, ladder
from tipping.services.batches import ClassState


class TtlClassForm(forms.ModelForm):  # type: ignore[type-arg]
    """Refuses in words what would leave the ladder without a default."""

    def clean_is_default(self) -> bool:
        wanted: bool = self.cleaned_data["is_default"]
        if not wanted and not ladder.has_other_default(self.instance):
            raise forms.ValidationError(
                "One class is the default: make another one the default instead"
            )
        return wanted

    def _get_validation_exclusions(self) -> set[str]:
        # A new default takes the old one's place when it is saved: no conflict to be told here.
        return {*super()._get_validation_exclusions(), "is_default"}  # type: ignore[misc]


@admin.register(TtlClass)
class TtlClassAdmin(StaffAdmin):
    form = TtlClassForm
    list_display = (
        *("name", "window", "batch_size", "by_default"),
        *("standing", "left", "window_ends", "expires", "prepared"),
    )
    list_display_links = ("name",)
    actions = ["rotate_now", "prepare_more"]

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changes = super().get_changelist_instance(request)
        states = {state.ttl_class.pk: state for state in batches.overview()}
        for ttl_class in changes.result_list:
            ttl_class.state = states.get(ttl_class.pk)
        return changes

    def get_actions(self, request: HttpRequest) -> Any:
        # Classes go one by one, each with its own reason to stay.
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    # --- orders ---

    @admin.action(description="Rotate now", permissions=["change"])
    def rotate_now(self, request: HttpRequest, queryset: QuerySet[TtlClass]) -> None:
        """The open batch is closed, and the next prepared one opens."""

        def rotate(ttl_class: TtlClass) -> str:
            opened = batches.rotate(ttl_class.pk, now=timezone.now(), wait=True, force=True)
            return "a new batch is open" if opened else ""

        self._carry_out(request, queryset, rotate, "no batch was prepared that could be opened")

    @admin.action(description="Prepare one more batch", permissions=["change"])
    def prepare_more(self, request: HttpRequest, queryset: QuerySet[TtlClass]) -> None:
        prepared = {state.ttl_class.pk: state.prepared for state in batches.overview()}

        def prepare(ttl_class: TtlClass) -> str:
            made = batches.prepare(
                ttl_class.pk,
                seed=settings.TIP_SECRET_SEED,
                now=timezone.now(),
                keep=prepared.get(ttl_class.pk, 0) + 1,
            )
            return "one more batch is prepared" if made else ""

        self._carry_out(request, queryset, prepare, "somebody else is at it: try again")

    def _carry_out(
        self,
        request: HttpRequest,
        queryset: QuerySet[TtlClass],
        order: Callable[[TtlClass], str],
        why_not: str,
    ) -> None:
        for ttl_class in queryset:
            told = order(ttl_class)
            if told:
                messages.success(request, f"Class of {ttl_class}: {told}.")
            else:
                messages.warning(request, f"Class of {ttl_class}: {why_not}.")

    def save_model(self, request: HttpRequest, obj: TtlClass, form: Any, change: bool) -> None:
        ladder.save_ttl_class(obj)

    # --- deleting: the service knows what may go with a class ---

    def has_delete_permission(self, request: HttpRequest, obj: TtlClass | None = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and not (obj is not None and obj.is_default)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        return [f"TTL class: {each}, with its prepared batches" for each in objs], {}, set(), []

    def delete_model(self, request: HttpRequest, obj: TtlClass) -> None:
        ladder.delete_ttl_class(obj)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            response: HttpResponse = super().delete_view(request, object_id, extra_context)
        except (ClassHasBatches, DefaultClassStays) as refusal:
            text = str(refusal)
            messages.error(request, f"{text[0].upper()}{text[1:]}.")
            link = reverse("admin:tipping_ttlclass_change", args=[unquote(object_id)])
            return HttpResponseRedirect(link)
        return response

    # --- what is shown ---

    @admin.display(description="TTL", ordering="ttl_seconds")
    def name(self, ttl_class: TtlClass) -> str:
        return f"{ttl_class.ttl_seconds:,} s"

    @admin.display(description="window", ordering="window_seconds")
    def window(self, ttl_class: TtlClass) -> str:
        return f"{ttl_class.window_seconds:,} s"

    @admin.display(description="default")
    def by_default(self, ttl_class: TtlClass) -> SafeString | str:
        return words.coloured("default", "good") if ttl_class.is_default else "-"

    @admin.display(description="addresses")
    def standing(self, ttl_class: Any) -> SafeString:
        return class_word(ttl_class.state)

    @admin.display(description="left")
    def left(self, ttl_class: Any) -> SafeString | str:
        state: ClassState | None = ttl_class.state
        if state is None or state.batch is None:
            return "-"
        return format_html(
            '<span class="tm-progress"><progress max="{}" value="{}">{}</progress>'
            ' <span class="tm-nowrap">{} of {}</span></span>',
            state.batch.size,
            state.left,
            state.left,
            words.grouped(state.left),
            words.grouped(state.batch.size),
        )

    @admin.display(description="window ends")
    def window_ends(self, ttl_class: Any) -> SafeString | str:
        batch = None if ttl_class.state is None else ttl_class.state.batch
        return words.moment(None if batch is None else batch.window_ends_at, timezone.now(), "-")

    @admin.display(description="fetched now expires")
    def expires(self, ttl_class: Any) -> SafeString | str:
        batch = None if ttl_class.state is None else ttl_class.state.batch
        return words.moment(None if batch is None else batch.expires_at, timezone.now(), "-")

    @admin.display(description="prepared")
    def prepared(self, ttl_class: Any) -> SafeString | str:
        count = 0 if ttl_class.state is None else ttl_class.state.prepared
        return words.coloured("none", "warning") if not count else words.grouped(count)


def class_word(state: ClassState | None) -> SafeString:
    """Whether addresses of the class can be fetched."""
    if state is None or not state.is_available:
        since = None if state is None else state.unavailable_since
        hint = "no batch was open yet" if since is None else f"since {words.plain(since)}"
        return words.coloured("unavailable", "bad", hint)
    if state.is_nearly_dry:
        hint = "no batch is prepared" if not state.prepared else "few addresses are left"
        return words.coloured("running dry", "warning", hint)
    return words.coloured("available", "good")
