"""The running proof as plain values: banks that follow from each other, and the votes for them."""
