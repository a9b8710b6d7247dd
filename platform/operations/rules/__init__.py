"""Every rule of what counts as wrong: alarms, home, doctor and docs/alarms.md follow from these."""
