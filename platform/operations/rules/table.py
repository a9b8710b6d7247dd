"""All rules, in the order in which pages list them."""

from operations.rules import chain, landing, processes, proof, sealing, servers

RULES = (
    *chain.RULES,
    *landing.RULES,
    *processes.RULES,
    *proof.RULES,
    *sealing.RULES,
    *servers.RULES,
)
BY_NAME = {rule.name: rule for rule in RULES}
