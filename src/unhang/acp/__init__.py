"""Agent Client Protocol: terminals over jobs, and a proxy between an editor and its agent."""
