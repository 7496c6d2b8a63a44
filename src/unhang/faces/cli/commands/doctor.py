"""`unhang doctor`: checks what works on this machine, and repairs the records of jobs."""

from __future__ import annotations

import argparse
import os
import sys

from unhang import __version__
from unhang.core.plural import several
from unhang.errors import UnhangError
from unhang.faces.cli import output
from unhang.jobs import health
from unhang.jobs.disk_use import disk_use
from unhang.jobs.home import ensure_state_home, state_home

_MOST_NAMED = 5

SUMMARY = "check this machine and repair the records of jobs whose keeper was killed"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from unhang.agents.base.program import AgentProgram


class Hung(UnhangError):
    """Raised if the disk under the state directory does not answer: any further check would wait for it."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `unhang doctor`."""
    output.add_json(parser)


def main(args: argparse.Namespace) -> int:
    """Print one line a check; return 125 if any of them fails."""
    checks: list[dict[str, object]] = []
    for name, check in _checks():
        try:
            ok, text = check()
        except (OSError, UnhangError) as error:
            ok, text = False, str(error)
            if isinstance(error, Hung):  # the checks that follow would wait, too
                checks.append({"check": name, "ok": ok, "message": text})
                break
        checks.append({"check": name, "ok": ok, "message": text})
    healthy = all(check["ok"] for check in checks)
    if args.json:
        output.print_json({"version": __version__, "ok": healthy, "checks": checks})
    else:
        for entry in checks:
            output.print_wrapped(str(entry["message"]), f"{'ok ' if entry['ok'] else 'BAD'}  {entry['check']:<12} ")
    return 0 if healthy else 125


def _system() -> tuple[bool, str]:
    return True, f"unhang {__version__}, Python {sys.version.split()[0]}, {sys.platform} {os.uname().release}"


def _state() -> tuple[bool, str]:
    home = ensure_state_home()
    try:
        answers = health.disk_answers(home)
    except OSError as error:
        return False, f"cannot write to {home}: {error.strerror}; nothing new is recorded"
    if not answers:
        raise Hung(f"the disk under {home} does not answer: jobs are ended at their limits, but nothing is recorded")
    return True, home


def _tree() -> tuple[bool, str]:
    if health.ends_whole_trees():
        return True, "trees are ended whole, proved by the kernel (subreaper, pidfd)"
    return False, "trees are ended by process group and a walk only: a daemon may escape"


def _follow() -> tuple[bool, str]:
    if health.wakes_followers():
        return True, "followers are woken by inotify"
    return False, "no inotify: followers look 20 times a second"


def _proc() -> tuple[bool, str]:
    if not health.sees_processes():
        return False, "/proc cannot be read: no diagnosis, no recovery"
    return True, "/proc can be read: hangs can be explained"


def _program(program: AgentProgram) -> tuple[bool, str]:
    """Check the program of an agent; a machine without it is healthy, too."""
    try:
        path = program.find()
    except UnhangError:
        return True, f"not found: needed for {program.needed_for} ({program.install})"
    version, abilities = program.version_of(path)
    if version is None:
        return False, f"{path} does not say its version"
    return True, f"{version} ({path}): {abilities}"


def _records() -> tuple[bool, str]:
    known, running, lost = health.count_jobs(state_home())
    return True, f"{several(known, 'job')}: {running} running, {lost} lost; every record is true"


def _disk() -> tuple[bool, str]:
    return True, disk_use(state_home()).text + "; unhang gc removes old ones"


def _keepers() -> tuple[bool, str]:
    answers, silent = health.check_keepers(state_home())
    if changed := health.changed_records(state_home()):
        named = " ".join(changed[:_MOST_NAMED]) + (" …" if len(changed) > _MOST_NAMED else "")
        return False, (
            "another process than the keeper has changed the record: it says that the job has ended, and it runs: "
            f"{named}; end such a job with: unhang cancel JOB"
        )
    if not silent:
        return True, f"{several(answers, 'keeper')} {'answers' if answers == 1 else 'answer'}"
    named = ", ".join(f"{job} ({why})" for job, why in silent[:_MOST_NAMED]) + (
        " …" if len(silent) > _MOST_NAMED else ""
    )
    without = f"{several(len(silent), 'keeper')} without an answer: {named}"
    return False, f"{without}; end such a job with: unhang cancel --force JOB"


def _watcher() -> tuple[bool, str]:
    from unhang.installers import watch_service
    from unhang.sessions import lock, watcher_record
    from unhang.sessions.settings import load

    home = state_home()
    if complaint := load(os.environ).complaint:  # a mistake in the file is what is said
        return False, complaint
    who = lock.holder(home)
    ping = watcher_record.ping_of(home, who)
    if who is None and watch_service.installed(home) is not None:
        return False, "a watcher is installed, but none runs: the next hook of a session starts one, or: unhang watch"
    if who is None:
        return True, "no watcher runs; the hooks of Claude Code start one, or: unhang watch"
    if who["state"] == lock.WATCHING and ping is not None and ping["trouble"]:
        return False, f"{lock.describe_holder(who)}; {ping['trouble']}"
    return who["state"] == lock.WATCHING, lock.describe_holder(who)


def _alerts() -> tuple[bool, str]:
    from unhang.alerts import deliveries, settings_file
    from unhang.alerts.backlog import backlog_of

    settings, path = settings_file.load(os.environ)  # a mistake in it is what is said
    if path is None:
        return True, "no alerts.toml: no person is told of anything (docs/alerts.md)"
    lines, waits = deliveries.read(state_home()), backlog_of(state_home())
    # a test that failed was told to the person who made it
    failed = [line for line in lines if line.get("state") == "failed" and line.get("kinds") != ["test"]]
    said = f"{len(settings.rules)} rules, {len(settings.targets)} targets; {waits.count} waiting"
    if waits.stopped is not None:
        return False, f"{said}; {waits.who}"
    if failed:
        return False, f"{said}; {len(failed)} could not be delivered, the last one: {failed[-1].get('reason')}"
    return True, said


def _page() -> tuple[bool, str]:
    from unhang.alerts import pages

    stopped = pages.stopped(state_home())
    if stopped:
        named = ", ".join(
            f"{origins[0] if origins else 'a page'} (pid {pid})" for pid, origins in stopped[:_MOST_NAMED]
        )
        pids = " ".join(str(pid) for pid, _ in stopped[:_MOST_NAMED])
        more = " …" if len(stopped) > _MOST_NAMED else ""
        return False, f"stopped, and answers no browser: {named}{more}; continue it with: kill -CONT {pids}"
    served = sorted(pages.page_origins(state_home()))
    if not served:
        return True, "no page runs; unhang web serves one"
    return True, f"served at {', '.join(served[:_MOST_NAMED])}" + (" …" if len(served) > _MOST_NAMED else "")


def _traces() -> tuple[bool, str]:
    from unhang.telemetry import exporter

    why = exporter.why_nothing_is_sent(state_home())
    return not why, why or "no exporter is stopped"


def _fleet() -> tuple[bool, str]:
    from unhang.fleet import note, troubles

    wrong = troubles.troubles_of(state_home())
    if wrong:
        return False, "; ".join(wrong)
    if note.publisher(state_home()) is None:
        return True, "no publisher runs; unhang fleet join shows this machine to others"
    known = note.read(state_home())
    return True, f"published as {known.machine} to {note.without_password(known.server)}"


def _checks() -> list[tuple[str, Callable[[], tuple[bool, str]]]]:
    from functools import partial

    from unhang.agents import registry

    return [
        ("system", _system),
        ("state", _state),
        ("trees", _tree),
        ("following", _follow),
        ("diagnosis", _proc),
        *((program.name, partial(_program, program)) for program in registry.programs()),
        ("records", _records),
        ("disk", _disk),
        ("keepers", _keepers),
        ("watcher", _watcher),
        ("alerts", _alerts),
        ("page", _page),
        ("traces", _traces),
        ("fleet", _fleet),
    ]
