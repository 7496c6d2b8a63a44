"""Codex: its protocol, its driver, its shutdown, its jobs and reports."""
