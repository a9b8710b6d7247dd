"""The HTTP client: `response` moves no bytes; `client` (threads) and `poster` (a loop) drive it."""
