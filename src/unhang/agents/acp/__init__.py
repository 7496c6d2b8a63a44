"""Agents that speak the Agent Client Protocol: the protocol, the driver, the shutdown, the jobs and reports."""
