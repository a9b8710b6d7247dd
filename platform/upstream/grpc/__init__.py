"""gRPC as a client, over HTTP/2 by h2: one call on a thread, or many on an event loop."""
