"""The admin's pages on the ledger."""

# Each registers its own.
import historical.blocks.admin
import historical.coverage.admin
import historical.find
import historical.recording.admin
import historical.sealed.admin.damage
import historical.sealed.admin.sealed  # noqa: F401
