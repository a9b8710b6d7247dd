"""PostgreSQL and Valkey of the project's own: where they listen, how they start and stop."""
