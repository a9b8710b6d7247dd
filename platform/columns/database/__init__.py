"""Django's PostgreSQL backend, which tells the machine's other processes of commits."""
