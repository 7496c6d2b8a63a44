"""The proxy between an editor and its agent."""
