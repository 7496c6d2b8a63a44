"""The MCP face: shell and jobs for any agent, on the official SDK (extra `mcp`, imported nowhere else).

server.py          builds the server: tools, resources, logging level, the tasks extension
tools/             the tools themselves: arguments in, results out
backend.py         what all calls share: settings, caps, starting a job
arguments.py       how the arguments of a call become limits and waiting times
attend.py, wait.py   waiting for the job of this call, and for jobs that are there already
result.py, text.py   a job → what a program reads, and what a model reads
tool_results.py, output_schemas.py, notifications.py   the same in the SDK's types
access/            allow and deny lists of commands and directories
stdio.py, http.py  the two ways in (stdio_streams.py: the messages on stdin and stdout)
"""
