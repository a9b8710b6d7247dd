"""Instructions in the standard node's jsonParsed encoding."""
