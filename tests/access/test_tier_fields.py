"""A limit of a tier reaches the callers, is shown to customers, and is compared when it changes."""

from typing import Any

import pytest
from django.db.models import Field, FloatField, IntegerField
from django.utils import timezone

from access.admin.key_formatting import limit_lines
from access.models import Tier
from access.services import tier_impact
from access.services.keys import caller_of

LIMITS = [
    field.name
    for field in Tier._meta.get_fields()
    if isinstance(field, IntegerField | FloatField) and field.name not in ("id", "rank")
]
# The exceptions, each with its reason.
NOT_OF_CALLERS = {"calls_per_month": "a month's usage is read by itself (access/services)"}
NOT_SHOWN = {"landing_weight": "a share of the landers, not a limit"}

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_is_known_wherever_limits_are(name: str, issue: Any) -> None:
    key = issue().key
    for each in LIMITS:
        setattr(key.tier, each, 90)
    key.tier.save()
    old = Tier.objects.get(pk=key.tier.pk)
    before, lines = caller_of(key), limit_lines(old)
    setattr(key.tier, name, 10)
    key.tier.save()
    new = Tier.objects.get(pk=key.tier.pk)
    if name not in NOT_OF_CALLERS:
        assert caller_of(key) != before, "access/callers.py and caller_of of services/keys.py"
    if name not in NOT_SHOWN:
        assert limit_lines(new) != lines, "access/admin/key_formatting.py: limit_lines"
        found = tier_impact.impact(old, new, now=timezone.now())
        assert found.tightened or found.unseen, "access/services/tier_impact.py: _UNSEEN"


def test_the_limits_are_all_there() -> None:
    assert {"requests_per_second", "calls_per_month", "stream_connections"} <= set(LIMITS)
    fields = {each.name for each in Tier._meta.get_fields() if isinstance(each, Field)}
    assert fields - set(LIMITS) == {"id", "name", "rank"}
