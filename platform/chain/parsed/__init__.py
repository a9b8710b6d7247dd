"""What the standard node's jsonParsed encoding makes of instructions."""
