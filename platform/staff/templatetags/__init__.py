"""Template filters and tags of the admin."""
