"""The paths of the management API."""

from django.urls import URLPattern, URLResolver
from rest_framework.routers import SimpleRouter

from management.views.customers import Customers
from management.views.keys import Keys
from management.views.members import Members
from management.views.operating import (
    Alarms,
    ArchiveGaps,
    AuditLog,
    Coverage,
    LedgerGaps,
    Submissions,
)
from management.views.rules import Rules
from management.views.tiers import Tiers
from management.views.tips import TipBatches, Tips, TipSweeps, TtlClasses
from management.views.upstreams import Upstreams
from management.views.usage import Usage
from management.views.webhooks import Deliveries, Webhooks

app_name = "management"

_router = SimpleRouter(trailing_slash=False, use_regex_path=False)
for _prefix, _view in (
    ("alarms", Alarms),
    ("audit", AuditLog),
    ("coverage", Coverage),
    ("customers", Customers),
    ("deliveries", Deliveries),
    ("gaps/archive", ArchiveGaps),
    ("gaps/ledger", LedgerGaps),
    ("keys", Keys),
    ("members", Members),
    ("rules", Rules),
    ("submissions", Submissions),
    ("tiers", Tiers),
    ("tip-batches", TipBatches),
    ("tip-sweeps", TipSweeps),
    ("tips", Tips),
    ("ttl-classes", TtlClasses),
    ("upstreams", Upstreams),
    ("usage", Usage),
    ("webhooks", Webhooks),
):
    _router.register(_prefix, _view, basename=_prefix.replace("/", "_"))

urlpatterns: list[URLPattern | URLResolver] = [*_router.urls]
