"""Accounts as the standard node's jsonParsed encoding shows them, a program a file."""
