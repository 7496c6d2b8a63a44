"""Is this run slower than the same command usually is? Asked once, late, and told once."""

from __future__ import annotations

from unhang.core import events as ev

TYPE_CHECKING = False
if TYPE_CHECKING:
    from unhang.core.events import Event
    from unhang.core.policy.learn import Profile
    from unhang.core.spec import JobSpec

# A shorter run is never news, and most jobs are over by then: they do not pay for the question.
ASK_AFTER = 10.0


class SlowNotice:
    """Compares one run with the history of its command."""

    def __init__(self, home: str, spec: JobSpec, started: float) -> None:
        self._home, self._spec, self._started = home, spec, started
        self._asked = False
        self._profile: Profile | None = None
        self._due: float | None = started + ASK_AFTER

    def due(self) -> float | None:
        """Return when `notice` is to be called next; None: never again."""
        return self._due

    def notice(self, now: float) -> Event | None:
        """Return the event that says so, when it is time for one."""
        if self._due is None or now < self._due:
            return None
        if not self._asked:
            self._ask(now)
            return self.notice(now)
        self._due = None
        if self._profile is None:
            return None
        from unhang.core.policy.learn import slow_text

        text = slow_text(self._profile, now - self._started)
        message = f"{text[0].upper()}{text[1:]}."
        return ev.watchdog("slow", message, runs=self._profile.runs, usualMs=ev.ms(self._profile.duration))

    def _ask(self, now: float) -> None:
        self._asked = True
        self._due = None
        try:
            from unhang.core.policy.command_key import command_key
            from unhang.core.policy.learn import slow_after
            from unhang.core.spec import history_name
            from unhang.store import profiles

            spec = self._spec
            key = command_key(history_name(spec.to_dict()) or spec.argv)
            self._profile = profiles.read(self._home, key, spec.cwd)
            after = None if self._profile is None else slow_after(self._profile)
        except Exception:  # a broken cache must not hurt a job
            return
        if after is not None:
            self._due = max(now, self._started + after)
