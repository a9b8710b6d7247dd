"""The pages of signing in, of the second factor, and of a new password."""
