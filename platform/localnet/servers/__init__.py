"""The protocols that localnet speaks: JSON-RPC, its WebSocket, Geyser, TPU, a block engine."""
