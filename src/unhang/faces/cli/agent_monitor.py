"""`--wait`: an agent's job in the foreground. What the agent does is told on stderr, its reply is on stdout."""

from __future__ import annotations

from unhang.core import outcome
from unhang.errors import EXIT_FAILED
from unhang.faces.cli.job_monitor import Signals, Watching
from unhang.faces.cli.output import print_json
from unhang.faces.cli.stderr import Talk
from unhang.jobs import cleanup
from unhang.jobs.handle import Job

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from unhang.jobs.connection import Connection

    Shown = Callable[[Job, dict[str, Any]], dict[str, Any]]  # a result with what is known of the agent beside it


class AgentTalk(Talk):
    """What the agent does: its commands, edits and troubles, each said once."""

    def event(self, event: dict[str, Any]) -> None:
        if event.get("method") != "thread/status/changed":  # repeats what another event has said
            super().event(event)


class Foreground:
    """Made before the job is started, so that no signal is lost in between."""

    def __init__(self, *, quiet: bool, shown: Shown) -> None:
        self._shown = shown
        self._talk = AgentTalk(quiet=quiet)
        self._signals = Signals(resizes=False)

    def finish(self, connection: Connection, *, as_json: bool) -> int:
        """To its end; its exit code, with JSON as without."""
        last = Watching(connection, self._talk, self._signals, None).until_the_end()
        cleanup.in_a_child(connection.place.home)
        connection.wait_for_guard()
        if last is None:
            last = connection.outcome()
        job = Job(connection.place)
        if as_json:
            print_json(self._shown(job, job.result().to_json()))
        if last is None:
            return EXIT_FAILED
        self._talk.ending(job.id, last | {"suggestions": job.result().suggestions})
        return outcome.exit_code(last)
