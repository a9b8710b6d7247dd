"""The form of a replay and its result, for the portal and the admin."""
