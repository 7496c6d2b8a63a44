"""The screen of `unhang top`: a table of all jobs and sessions, and below it the one under the cursor.

It draws the entries of `core/overview.py`, as every other surface does. What it does to a job it does through the
job's own handle, in a thread, so that a keeper that does not answer stops no key.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import DataTable, Footer, Input, Static, TabbedContent, TabPane

from unhang.core import plain_text, values, wording
from unhang.core.attention import FAILED, LOST, older_bad_ends
from unhang.core.overview_line import MARKS, ends_in, name_of_entry, ran, spark_of, why_of
from unhang.core.timeline_text import timeline_lines
from unhang.errors import UnhangError
from unhang.faces.top.job_actions import HomeJobActions
from unhang.jobs.overview import Overview

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from textual.widgets.data_table import RowKey

    from unhang.core.overview import Entry
    from unhang.faces.top.job_actions import JobActions
    from unhang.fleet.link import FleetLink
    from unhang.fleet.overview import FleetOverview
    from unhang.jobs.overview import Snapshot

_COLUMNS = MARK, JOB, STATE, WHY, ENDS, RAN, OUTPUT = ("", "JOB", "STATE", "WHY", "ENDS IN", "RAN", "OUTPUT")
_FIGURES = (ENDS, RAN)  # stand at the right, and so do their names
# A reason in less room than this says nothing; the whole of it stands below the table.
_LEAST_WHY, _MOST_NAME = 16, 28
# In windows narrower than this there is no room for the picture of the output, and for the time that it ran.
_FOR_OUTPUT, _FOR_RAN = 100, 60
# A column has a blank on both sides; behind the last one may be a scroll bar.
_PADDING, _SCROLL_BAR = 2, 2
_COLOURS = {"attention": "yellow", "failed": "red", "done": "dim"}
_EVENTS = 200
SORTS = ("needs", "age", "name")
# What ends a job is asked first.
_SURE = {"cancel": "end {} and all it started? y or n", "restart": "end {} and start it again? y or n"}


class TopApp(App[None]):
    """All jobs and sessions of one home, or of a fleet."""

    TITLE = "unhang"
    CSS = """
    #counts { height: 1; padding: 0 1; }
    #jobs { height: 1fr; min-height: 5; }
    #below { height: 1fr; border-top: solid $surface-lighten-2; }
    #why { height: auto; max-height: 3; padding: 0 1; }
    #ask { display: none; dock: bottom; }
    #ask.shown { display: block; }
    TabPane { padding: 0 1; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "quit"),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("slash", "filter", "filter"),
        Binding("o", "sort", "sort"),
        Binding("e", "extend", "+10m"),
        Binding("a", "answer", "answer"),
        Binding("y", "reply('yes')", "yes"),
        Binding("n", "reply('no')", "no"),
        Binding("c", "cancel", "end"),
        Binding("r", "restart", "again"),
        Binding("w", "why", "why"),
        Binding("t", "timeline", "time"),
    ]

    def __init__(self, home: str, *, colours: bool = True, fleet: FleetLink | None = None) -> None:
        super().__init__(ansi_color=not colours)
        self._jobs: JobActions = HomeJobActions(home)
        self._overview: Overview | FleetOverview = Overview(home)
        if fleet is not None:
            from unhang.faces.top.fleet import FleetJobActions
            from unhang.fleet.overview import FleetOverview

            self._jobs, self._overview = FleetJobActions(home, fleet), FleetOverview(home, fleet)
        self._snapshot: Snapshot = self._overview.snapshot()
        self._shown: list[str] = []
        self._columns: dict[str, int] = {}  # the widths of those that are shown
        self._filter = ""
        self._hidden = 0  # of the older bad ends
        self._sort = SORTS[0]
        self._asks: tuple[str, str] | None = None  # what the line at the bottom is for, and of which job

    def compose(self) -> ComposeResult:
        """Return the parts of the screen, from top to bottom."""
        yield Static("", id="counts")
        yield DataTable[Text](id="jobs", cursor_type="row", zebra_stripes=False)
        yield Static("", id="why", markup=False)
        with Vertical(id="below"), TabbedContent(initial="output"):
            yield TabPane("output", Static("", id="text", markup=False), id="output")
            yield TabPane("timeline", Static("", id="timeline-text", markup=False), id="timeline")
            yield TabPane("events", Static("", id="events-text", markup=False), id="events")
            yield TabPane("tree", Static("press w", id="tree-text", markup=False), id="tree")
            if self._snapshot.machines is not None:
                yield TabPane("machines", Static("", id="machines-text", markup=False), id="machines")
        yield Input(id="ask")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Begin to look at the jobs."""
        self._draw()
        self.set_interval(1.0, self._draw)
        self._follow()

    @property
    def table(self) -> DataTable[Text]:
        """Return the list of jobs."""
        return self.query_one("#jobs", DataTable)

    @work(thread=True, exclusive=True, group="follow")
    def _follow(self) -> None:
        """Wait for changes, for as long as the screen is there."""
        while self.is_running:
            if self._overview.refresh():
                self.call_from_thread(self._draw)
            self._overview.wait(1.0)

    # --- drawing --------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        if not all(self.query(part) for part in ("#counts", "#jobs", "#why", "#text")):
            return  # the screen is being taken down, one part after the other
        self._snapshot = self._overview.snapshot()
        now = time.time()
        entries = self._listed([entry for entry in self._ordered() if self._matches(entry)])
        self._shown = [entry["id"] for entry in entries]
        selected = self.selected
        self._show_counts()
        table = self.table
        cells = [_cells(entry, now) for entry in entries]
        fitting = fitting_columns(self.size.width, cells)
        table.clear(columns=fitting != self._columns)
        if fitting != self._columns:
            self._columns = fitting
            for label, width in fitting.items():
                table.add_column(Text(label, justify="right" if label in _FIGURES else "left"), width=width)
        for entry, row in zip(entries, cells, strict=True):
            table.add_row(*(_cut(row[name], width) for name, width in fitting.items()), key=entry["id"])
        if selected is not None and selected in self._shown:
            table.move_cursor(row=self._shown.index(selected))
        self._draw_below()

    def on_resize(self) -> None:
        """Lay the list out anew: the window has another size."""
        self._draw()

    def _ordered(self) -> list[Entry]:
        found = self._snapshot.in_order()
        if self._sort == "age":
            found.sort(key=lambda entry: str(entry["startedAt"] or ""))
        elif self._sort == "name":
            found.sort(key=lambda entry: name_of_entry(entry).lower())
        return found

    def _listed(self, entries: list[Entry]) -> list[Entry]:
        """Leave out the older ones of many bad ends, unless a person looks for something."""
        needs = [entry["attention"] or {} for entry in entries]
        ends = [(need.get("kind"), str(need.get("since") or "")) for need in needs]
        hidden = set() if self._filter else older_bad_ends(ends)
        self._hidden = len(hidden)
        return [entry for at, entry in enumerate(entries) if at not in hidden]

    def _matches(self, entry: Entry) -> bool:
        text = f"{entry['id']} {name_of_entry(entry)} {entry['command']} {entry['state']} {entry['cwd']}"
        return self._filter.lower() in text.lower()

    def _show_counts(self) -> None:
        said = wording.headline(self._snapshot.counts())
        parts = [f"unhang · {os.uname().nodename}", said, f"by {self._sort}"]
        machines = self._snapshot.machines
        if machines is not None:
            away = [each["machine"] for each in machines if each["state"] != "online"]
            parts.insert(1, f"{len(machines)} machines" + (f", offline: {', '.join(away)}" if away else ""))
        if self._hidden:
            parts.append(f"{wording.more_bad_ends(self._hidden)} (/ finds them)")
        if self._filter:
            parts.append(f"only {self._filter!r}")
        self.query_one("#counts", Static).update(Text("   ".join(parts)))

    @property
    def selected(self) -> str | None:
        """Return the id under the cursor."""
        at = self.table.cursor_row
        keys: list[RowKey] = list(self.table.rows)
        return keys[at].value if 0 <= at < len(keys) else None

    def on_data_table_row_highlighted(self) -> None:
        """Show the job that is under the cursor now."""
        self._draw_below()

    def on_data_table_row_selected(self) -> None:
        """Note, after Enter or a click, that the job was looked at."""
        entry = self._entry()
        if entry is not None and (entry["attention"] or {}).get("kind") in (FAILED, LOST):
            self._act(entry["id"], "seen")

    def on_tabbed_content_tab_activated(self) -> None:
        """Show the tab that is in front now."""
        self._draw_below()

    def _draw_below(self) -> None:
        if not self.query(DataTable):
            return
        entry = self._entry()
        why = "" if entry is None else why_of(entry, time.time())
        self.query_one("#why", Static).update(plain_text.harmless(why).replace("\n", " "))
        self.query_one("#why", Static).display = bool(why)
        front = self.query_one(TabbedContent).active
        if front == "output":
            self._below("#text", _output, entry)
        elif front == "timeline":
            self._below("#timeline-text", self._timeline, entry)
        elif front == "events":
            self._below("#events-text", _events, entry)
        elif front == "machines":
            self.query_one("#machines-text", Static).update(Text(_machines(self._snapshot.machines or [])))

    def _timeline(self, jobs: JobActions, entry: Entry) -> Text:
        try:
            picture = jobs.timeline(entry["id"])
        except (UnhangError, OSError) as error:
            return Text(str(error))
        lines = timeline_lines(picture, self.size.width - 2 * _PADDING, time.time() * 1000)
        return Text("\n".join(plain_text.harmless(line) for line in lines))

    def _below(self, where: str, show: Callable[[JobActions, Entry], Text], entry: Entry | None) -> None:
        """Show a part of the job under the cursor; what another machine has to be asked for comes when it comes."""
        if entry is None or entry["kind"] == "session":
            self.query_one(where, Static).update(Text(""))
        elif not self._jobs.is_elsewhere(entry["id"]):
            self.query_one(where, Static).update(show(self._jobs, entry))
        else:
            self._fetch(where, show, entry)

    @work(thread=True, exclusive=True, group="below")
    def _fetch(self, where: str, show: Callable[[JobActions, Entry], Text], entry: Entry) -> None:
        text = show(self._jobs, entry)
        if self.is_running:
            self.call_from_thread(self._show_fetched, where, entry["id"], text)

    def _show_fetched(self, where: str, job_id: str, text: Text) -> None:
        # the screen may have been taken down, or another job chosen, while the machine was asked
        if self.query(DataTable) and self.selected == job_id:
            self.query_one(where, Static).update(text)

    def _entry(self) -> Entry | None:
        chosen = self.selected
        return None if chosen is None else self._snapshot.entries.get(chosen)

    # --- what keys do ---------------------------------------------------------------------------------------

    def action_sort(self) -> None:
        """Sort by the next thing."""
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        self._draw()

    def action_filter(self) -> None:
        """Ask for a text that the jobs to show contain."""
        self._ask("filter", "", "show only …")

    def action_answer(self) -> None:
        """Ask for the answer to what a job waits for."""
        entry = self._entry()
        if entry is not None:
            needs = entry["attention"] or {}
            self._ask("answer", entry["id"], str(needs.get("why") or "text to send"))

    def _ask(self, what: str, job: str, hint: str) -> None:
        line = self.query_one("#ask", Input)
        self._asks = (what, job)
        line.value, line.placeholder = "", hint
        line.add_class("shown")
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what the line at the bottom, which has been filled in, is for."""
        asks, self._asks = self._asks, None
        event.input.remove_class("shown")
        self.table.focus()
        if asks is None:
            return
        what, job = asks
        if what in _SURE:
            return  # Enter alone is no yes
        if what == "filter":
            self._filter = event.value.strip()
            self._draw()
        else:
            self._act(job, "answer", event.value)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Take the one key that answers whether a job is to be ended; any other than y leaves it alone."""
        if self._asks is None or self._asks[0] not in _SURE or not event.value:
            return
        (what, job), self._asks = self._asks, None
        event.input.remove_class("shown")
        self.table.focus()
        if event.value in ("y", "Y"):
            self._act(job, what)

    def on_key(self, event: object) -> None:
        """Escape leaves the line at the bottom as it was."""
        if getattr(event, "key", "") == "escape" and self._asks is not None:
            self._put_away()

    def action_interrupt(self) -> None:
        """Leave the line at the bottom, or else the screen, as Ctrl-C does in other programs; nothing changes."""
        if self._asks is None:
            self.exit()
        else:
            self._put_away()

    def _put_away(self) -> None:
        self._asks = None
        self.query_one("#ask", Input).remove_class("shown")
        self.table.focus()

    def action_reply(self, answer: str) -> None:
        """Approve or deny what an agent asks."""
        entry = self._entry()
        if entry is not None and (entry["attention"] or {}).get("kind") == "approval":
            self._act(entry["id"], "answer", answer)

    def action_extend(self) -> None:
        """Give the job more time, for each limit that could end it."""
        entry = self._entry()
        if entry is not None and entry["clocks"]:
            self._act(entry["id"], "extend", " ".join(clock["name"] for clock in entry["clocks"]))

    def action_cancel(self) -> None:
        """Ask whether the job is to be ended whole."""
        self._ask_whether("cancel")

    def action_restart(self) -> None:
        """Start the same command again; if it still runs, ask first."""
        entry = self._entry()
        if entry is not None and entry["endedAt"] is None:
            self._ask_whether("restart")
        else:
            self._act_on_selected("restart")

    def _ask_whether(self, what: str) -> None:
        entry = self._entry()
        if entry is None or entry["kind"] == "session":
            return
        if entry["endedAt"] is None:
            self._ask(what, entry["id"], _SURE[what].format(name_of_entry(entry)[:_MOST_NAME]))
        else:
            self.notify("it has ended already", title=entry["id"], markup=False)

    def action_timeline(self) -> None:
        """Show the life of the job."""
        self.query_one(TabbedContent).active = "timeline"

    def action_why(self) -> None:
        """Look at the process tree now."""
        self.query_one(TabbedContent).active = "tree"
        self._act_on_selected("why")

    def _act_on_selected(self, what: str) -> None:
        entry = self._entry()
        if entry is not None and entry["kind"] != "session":
            self._act(entry["id"], what)

    @work(thread=True)
    def _act(self, job_id: str, what: str, text: str = "") -> None:
        try:
            said = self._jobs.do(job_id, what, text)
        except (UnhangError, OSError) as error:
            self.call_from_thread(self.notify, str(error), title=job_id, severity="error", markup=False)
            return
        if what == "why":
            self.call_from_thread(self.query_one("#tree-text", Static).update, Text(said))
        elif said:
            self.call_from_thread(self.notify, said, title=job_id, markup=False)


def _cells(entry: Entry, now: float) -> dict[str, Text]:
    colour = _COLOURS.get(entry["group"], "")
    return {
        MARK: Text(MARKS[entry["group"]], style=colour),
        JOB: Text(name_of_entry(entry) + "".join(entry["id"].partition("@")[1:])),
        STATE: Text(entry["state"], style=colour),
        WHY: Text(why_of(entry, now)),
        ENDS: Text(ends_in(entry, now), justify="right"),
        RAN: Text(ran(entry, now), justify="right"),
        OUTPUT: Text(spark_of(entry, now)),
    }


def fitting_columns(width: int, cells: list[dict[str, Text]]) -> dict[str, int]:
    """Return the columns that a window of this width has room for, with their widths; the reason has what is left."""
    shown = [name for name in _COLUMNS if width >= {OUTPUT: _FOR_OUTPUT, RAN: _FOR_RAN}.get(name, 0)]
    widths = {name: max(len(name), *(row[name].cell_len for row in cells), 1) for name in shown}
    widths[JOB] = min(widths[JOB], _MOST_NAME, max(len(JOB), width // 4))
    left = width - _SCROLL_BAR - sum(size + _PADDING for name, size in widths.items() if name != WHY) - _PADDING
    if left < _LEAST_WHY:
        del widths[WHY]
        over = sum(size + _PADDING for size in widths.values()) + _SCROLL_BAR - width
        widths[STATE] = max(len(STATE), widths[STATE] - max(0, over))  # an end in 4m 56s is not to look like one in 4m
        return widths
    widths[WHY] = left
    return widths


def _cut(cell: Text, width: int) -> Text:
    cell.truncate(width, overflow="ellipsis")
    return cell


def _output(jobs: JobActions, entry: Entry) -> Text:
    """The last lines that it printed, with their colours."""
    try:
        lines = jobs.output(entry["id"])
    except (UnhangError, OSError) as error:
        return Text(str(error))
    return Text.from_ansi("\n".join(lines))


def _events(jobs: JobActions, entry: Entry) -> Text:
    try:
        found = jobs.events(entry["id"], max(0, int(entry["seq"]) - _EVENTS))
    except (UnhangError, OSError) as error:
        return Text(str(error))
    lines = (f"{each['seq']:>5}  {_local(each['ts'])}  {each['phase']:<14} {each['message']}" for each in found)
    return Text("\n".join(lines))


def _local(moment: str) -> str:
    """The time of an event where the person is, as the page shows it; its date stands there if it is not today's."""
    at = time.localtime(values.moment(moment) or 0.0)
    today = at[:3] == time.localtime()[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", at)


def _machines(machines: list[dict[str, Any]]) -> str:
    """Who is there, and what each said last."""
    lines = [f"{'MACHINE':<24} {'STATE':<8} {'JOBS':>5} {'LOAD':>6}  {'VERSION':<12} LAST SEEN"]
    for each in machines:
        known = {name: "" if value is None else value for name, value in each.items()}
        lines.append(
            f"{known['machine']:<24} {known['state']:<8} {known['jobs']:>5} {known['load']:>6}  "
            f"{known['version']:<12} {known['lastSeen']}"
        )
    return "\n".join(plain_text.harmless(line) for line in lines)
