"""The lander, a process of its own: sends what was accepted until its fate is known."""
