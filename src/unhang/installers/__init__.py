"""Adding unhang to the settings of other programs, and removing it again.

    flow.py             what every installer does: show the change, ask, back up, write; uninstall the same way
    settings_edit.py    what every edit of a JSON text needs: read it as an object, and prove the result
    claude_code.py      the hooks in Claude Code's settings
    known_mcp_clients.py  the MCP clients: where each has its configuration, and how an entry looks
    mcp_clients.py      the MCP server in the configuration of each client
    zed.py              an agent behind the ACP proxy, in Zed's settings
    watch_service.py    `unhang watch` as a systemd user unit, or as a background job

A new client is one file that says where its settings are, adds unhang's entry to a text and takes it out again.
"""
