"""Anchor IDLs: what a program's instructions, accounts, events and errors are called."""
