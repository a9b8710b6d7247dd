"""The ledger's numbers in the memory that processes share: what a process remembers of the ledger
is right while they stay the same (columns.generations).
"""

from columns.generations import Generation

# Moves with every commit that adds or removes blocks.
CHANGES = Generation(0)
# Moves with every commit that removes blocks: what is stored does not change otherwise.
REMOVALS = Generation(1)
# Moves with every commit that changes what is sealed, and where.
SEALING = Generation(2)
