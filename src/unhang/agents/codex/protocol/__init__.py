"""Codex's messages and what they mean. Pure: lines in, updates out."""
