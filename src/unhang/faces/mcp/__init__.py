"""The MCP face: shell and jobs for any agent, on the official SDK (extra `mcp`, imported nowhere else).

server.py     builds the server: tools, resources, logging level, the tasks extension
tools_*.py    the tools themselves: arguments in, results out
service.py    what all calls share: settings, caps, the lease on foreground jobs
attending.py  one call that waits for one job: listening, progress, warnings, hand-over
watching.py   waiting for jobs that others started
shape.py      a job → what a program reads; texts.py → what a model reads
stdio.py, http.py   the two ways in;  clients.py, install.py   the clients' own configuration files
"""
