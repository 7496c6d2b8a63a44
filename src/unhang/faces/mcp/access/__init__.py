"""Allow and deny lists for commands and directories."""
