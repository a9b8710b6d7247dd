"""A whole small Solana in one process, on the simulator's engine, behind the real protocols."""
