"""gRPC's server side over HTTP/2: what the port for customers and localnet's stream share."""
