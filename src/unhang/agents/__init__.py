"""Coding agents that unhang drives: one package an agent, what they share in `base`, and a registry that lists them."""
