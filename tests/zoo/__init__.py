"""Real processes that hang, and real processes that only look as if they did."""
