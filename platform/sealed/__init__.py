"""The life of what is sealed, for ledger and archive: read through, damaged, repaired, or a gap."""
