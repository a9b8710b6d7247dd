"""The page of the ledger's gaps."""

from django.contrib import admin

from gaps.admin import GapAdmin
from historical.models import Gap
from historical.services.gaps import ledger_gaps


@admin.register(Gap)
class LedgerGapAdmin(GapAdmin):
    gaps = ledger_gaps
    area = "ledger"
