"""How much disk, memory and how many machines a load takes, from this installation's own ratios."""
