"""The stream-json messages of Claude Code and what they mean. Pure: lines in, updates out."""
