"""The processes around a keeper: its guard, spares that are forked ahead, and the server that forks them."""
