"""The admin's pages on the archive."""

# Each registers its own.
import rewind.coverage.admin.coverage
import rewind.coverage.admin.slots
import rewind.explained.admin.idls
import rewind.find
import rewind.jobs.admin
import rewind.proof.admin.proofs
import rewind.recording.admin
import rewind.replay.admin.audit
import rewind.replay.admin.builds
import rewind.replay.admin.replay_pages
import rewind.sealed.admin.damage
import rewind.sealed.admin.sealed  # noqa: F401
