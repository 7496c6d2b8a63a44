"""The messages of an ACP session and what they mean. Pure: lines in, updates out."""
