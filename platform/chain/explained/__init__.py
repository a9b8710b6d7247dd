"""What a transaction did, and why it failed, in words."""
