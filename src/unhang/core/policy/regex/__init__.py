"""Patterns of a policy file, matched in bounded time."""
