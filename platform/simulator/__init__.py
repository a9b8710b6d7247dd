"""Running transactions in process, as the chain would have run them."""
