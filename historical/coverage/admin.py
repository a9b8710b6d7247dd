"""The page of the ledger's gaps."""

from django.contrib import admin

from gaps.admin import GapAdmin
from historical.coverage.services.gaps import ledger_gaps
from historical.models import Gap


@admin.register(Gap)
class LedgerGapAdmin(GapAdmin):
    gaps = ledger_gaps
    area = "ledger"
