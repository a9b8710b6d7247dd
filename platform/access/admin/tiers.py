"""Tiers: every limit editable in the list."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse

from access.admin import tier_preview
from access.callers import ANONYMOUS, QUOTAS
from access.models import Tier
from access.services import tier_edits
from access.tier_ranks import rank_problems
from staff.columns import column
from staff.formatting import grouped, link
from staff.pages import StaffAdmin

_MOST = 1_000_000
# A field of the model that is in none of these is shown under "Other".
_SECTIONS: tuple[tuple[str | None, tuple[str, ...]], ...] = (
    (None, ("name", "rank")),
    ("Calls", ("requests_per_second", "requests_burst", "calls_per_month")),
    ("Bundles", ("bundles_per_second", "bundles_burst")),
    (
        "Tip addresses",
        ("tip_fetches_per_second", "tip_fetches_burst", "tip_fetches_daily_cap"),
    ),
    (
        "Subscriptions",
        (
            "stream_connections",
            "stream_subscriptions",
            "stream_notifications_per_second",
            "stream_bytes_per_month",
        ),
    ),
    ("Landing", ("landing_weight",)),
    ("Batch simulations", ("simulation_jobs", "simulations_per_job")),
)


class ListedTierForm(forms.ModelForm):  # type: ignore[type-arg]
    """Validates what the table's constraints would refuse."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A cell of the list has its name at the column's head alone.
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = field.label

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.initial.get("name") == ANONYMOUS != name:
            raise forms.ValidationError(
                f"“{ANONYMOUS}” is the tier of callers without a key: keep its name"
            )
        return name

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for quota in QUOTAS:
            name = f"{quota}_per_second"
            rate = cleaned.get(name)
            if rate is not None and not 0 < rate <= _MOST:
                self.add_error(
                    name, f"Above 0 and up to {_MOST:,} per second; empty means no limit"
                )
        return cleaned


class TierForm(ListedTierForm):
    """One tier beside the stored others."""

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        name, rank = cleaned.get("name"), cleaned.get("rank")
        if name is not None and rank is not None:
            try:
                tier_edits.require_rank(Tier(pk=self.instance.pk, name=name, rank=rank))
            except forms.ValidationError as problem:
                self.add_error(None, problem)
        return cleaned


class TierFormSet(forms.BaseModelFormSet):  # type: ignore[type-arg]
    """The list's tiers, whose ranks are validated together: two may swap."""

    def clean(self) -> None:
        super().clean()
        ranks = dict(Tier.objects.values_list("name", "rank"))
        listed = {form.instance.name: form for form in self.forms if "rank" in form.cleaned_data}
        ranks.update({name: form.cleaned_data["rank"] for name, form in listed.items()})
        problems = rank_problems(ranks)
        for name in problems.keys() & listed.keys():
            listed[name].add_error("rank", problems[name])


@admin.register(Tier)
class TierAdmin(StaffAdmin):
    form = TierForm
    placeholders: ClassVar = {each.name: "∞" for each in Tier._meta.fields if each.null}
    list_display = (
        "name",
        "rank",
        "requests_per_second",
        "requests_burst",
        "bundles_per_second",
        "bundles_burst",
        "tip_fetches_per_second",
        "tip_fetches_burst",
        "tip_fetches_daily_cap",
        "calls_per_month",
        "landing_weight",
        "keys",
    )
    list_editable = list_display[1:-1]
    list_before_template = "admin/access/tier/hints.html"
    list_fullwidth = True
    change_form_outer_after_template = "admin/access/tier/preview.html"
    ordering = ("rank",)  # Meta's does not survive the counting below
    actions = None

    def get_fieldsets(self, request: HttpRequest, obj: Tier | None = None) -> Any:
        named = {name for _, names in _SECTIONS for name in names}
        fields = [each.name for each in Tier._meta.fields if each.editable and not each.primary_key]
        other = tuple(name for name in fields if name not in named)
        sections = (*_SECTIONS, ("Other", other)) if other else _SECTIONS
        return [(title, {"fields": names}) for title, names in sections]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tier]:
        queryset: QuerySet[Tier] = super().get_queryset(request)
        return queryset.annotate(key_count=Count("keys"))

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> type[forms.ModelForm]:  # type: ignore[type-arg]
        return super().get_changelist_form(request, **{"form": ListedTierForm, **kwargs})  # type: ignore[no-any-return]

    def get_changelist_formset(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_formset(request, **{"formset": TierFormSet, **kwargs})

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if isinstance(field, forms.FloatField):
            field.widget.attrs["step"] = "any"
        return field

    keys = column(
        "keys",
        lambda row: link(
            grouped(row.key_count), "access_apikey_changelist", tier__id__exact=row.pk
        ),
        "key_count",
    )

    # --- whom a change hits, before it is saved ---

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if request.method == "POST" and object_id is not None:
            asked = tier_preview.of_form(self, request, object_id)
            if asked is not None:
                return asked
        return super().changeform_view(request, object_id, form_url, extra_context)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> Any:
        if request.method == "POST" and "_save" in request.POST:
            asked = tier_preview.of_list(self, request)
            if asked is not None:
                return asked
        return super().changelist_view(request, extra_context)

    def save_model(self, request: HttpRequest, obj: Tier, form: Any, change: bool) -> None:
        tier_edits.save_tier(obj)

    def delete_model(self, request: HttpRequest, obj: Tier) -> None:
        tier_edits.delete_tier(obj)

    def why_not_delete(self, row: Tier) -> str | None:
        return tier_edits.why_tier_stays(row)
