"""placeholder"""

from __future__ import annotations

from mcp.server.extension import Extension

from unhang.faces.mcp.service import Service


class Tasks(Extension):
    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self, service: Service) -> None:
        self._service = service
