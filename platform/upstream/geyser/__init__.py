"""The account, transaction, block and slot stream of a validator."""

SERVICE = "geyser.Geyser"
