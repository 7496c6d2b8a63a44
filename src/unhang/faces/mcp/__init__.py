"""The MCP face: shell and jobs for any agent, on stdio without a package, over HTTP on the official SDK (extra `mcp`).

server.py          the server, whichever way its clients come in: tools, tasks, resources, what each request does
tools/             the tools themselves: arguments in, results out
toolbox.py, schema.py, argument_check.py   functions as tools: schemas from annotations, arguments checked by them
backend.py, threads.py   what all calls share: settings, caps, starting a job, work in threads
arguments.py       how the arguments of a call become limits and waiting times
job_call.py        a call that starts a job: begin, wait, answer
result.py, text.py   a job → what a program reads, and what a model reads
tool_results.py, output_schemas.py, notifications.py, news.py   the same as the protocol has it
call.py            what a tool knows of its call; two ways make one:
protocol.py, stdio_session.py, stdio_streams.py, stdio_ends.py   our own on stdin and stdout: pure, tasks, lines, bytes
stdio.py, greeter.py, listed_tools.py, stdio_service.py   its process: the first answers, while the rest is loaded
identity.py        what the server says of itself
sdk.py, http.py, disconnect.py   the SDK's over HTTP
access/            allow and deny lists of commands and directories
"""
