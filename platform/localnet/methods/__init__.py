"""The methods of localnet's JSON-RPC: the standard node's, and two of its own."""
