"""Makes the client's types, methods and errors from `clients/documents`."""
