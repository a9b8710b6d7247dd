"""Template filters of the pages on landing."""
