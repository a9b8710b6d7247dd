"""How long a test waits for what must come."""

# Nothing is asserted of the time: it only ends a test that would hang, on the busiest machine.
PATIENCE_SECONDS = 300.0
