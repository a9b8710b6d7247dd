"""Django's PostgreSQL backend, which signals commits to the other processes of this machine."""
