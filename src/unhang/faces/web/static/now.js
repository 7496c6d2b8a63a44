// The page "Now": one row for each job and session, what needs a person on top. Rows are kept and changed in place, and only
// those that are seen are touched by the clock: a thousand rows cost what a screenful does.

import { actsKey, answering, buttons, cancel, extend, isUnseen, restart, seen, why } from "./actions.js";
import { h, harmless, link, replace, say } from "./dom.js";
import { bytes, duration, fully, inTime, moment, now, parse, ticking } from "./format.js";
import { Machines } from "./machines.js";
import { stateOf } from "./states.js";

const GROUPS = [["attention", "Needs you"], ["running", "Running"], ["queued", "Waiting in a queue"], ["unknown", "Unknown: the machine is offline"], ["failed", "Ended badly"], ["done", "Ended"]];
const FIRST = 60; // rows that are made at once; the others follow a frame at a time
const MOST_BAD_ENDS = 20; // that were not looked at: the newest; as in `unhang top` and `unhang needs`
const STEPS = 40; // of the small picture of the output

export class Now {
  constructor(main) {
    this.entries = new Map();
    this.rows = new Map();
    this.seen = new Set();
    this.filter = "";
    this.dirty = new Set();
    this.loaded = false;
    this.unfolded = false; // the older ones of many bad ends are shown, too
    this.sections = {};
    const parts = GROUPS.map(([name, title]) => {
      const list = h("ul.rows", { "aria-labelledby": `group-${name}` });
      const number = h("span.number");
      const called = h("span", {}, title);
      const section = h("section.group", { hidden: true }, h("h2", { id: `group-${name}` }, called, " ", number), list);
      if (name === "attention") section.append(this.more = h("p.more", { hidden: true }));
      this.sections[name] = { section, list, number, title: called };
      return section;
    });
    this.empty = h("div.empty", { hidden: true },
      h("h2", {}, "Nothing runs, and nothing has ended lately."),
      h("p", {}, "Start a job and it appears here by itself:"),
      h("pre", {}, "unhang start -- make test"));
    this.none = h("p.none", { hidden: true }, "No job matches the filter.");
    this.loading = h("p.none", {}, "Reading the jobs…");
    this.machines = new Machines();
    replace(main, h("h1.hidden", {}, "Now"), this.machines.element, ...parts, this.empty, this.none, this.loading);
    this.watcher = new IntersectionObserver((found) => {
      for (const each of found) {
        const id = each.target.id.slice(2);
        if (!each.isIntersecting) this.seen.delete(id);
        else if (!this.seen.has(id)) {
          this.seen.add(id);
          this.rows.get(id)?.tick();
        }
      }
    });
    this.timer = setInterval(() => { if (!document.hidden) this.tick(); }, 1000);
  }

  close() {
    clearInterval(this.timer);
    this.watcher.disconnect();
  }

  take(message) {
    let moved = message.whole || message.gone.length > 0 || this.filter !== "";
    this.loaded = true;
    this.loading.hidden = true;
    if (message.whole) {
      const there = new Set(message.entries.map((entry) => entry.id));
      for (const id of this.entries.keys()) if (!there.has(id)) this.entries.delete(id);
    }
    for (const id of message.gone) this.entries.delete(id);
    if (message.machines) this.machines.take(message.machines);
    for (const entry of message.entries) {
      const before = this.entries.get(entry.id);
      moved ||= !before || before.group !== entry.group || before.order[0] !== entry.order[0] || before.order[1] !== entry.order[1];
      this.entries.set(entry.id, entry);
      this.dirty.add(entry.id);
    }
    if (moved) this.draw();
    else this.redraw();
  }

  setFilter(text) {
    this.filter = text.toLowerCase();
    this.draw();
  }

  matches(entry) {
    if (!this.filter) return true;
    const words = [entry.id, entry.machine, entry.name, entry.command, entry.cwd, stateOf(entry)[1], entry.doing,
      ...Object.entries(entry.labels).map(([name, value]) => `${name}=${value}`)].join(" ").toLowerCase();
    return this.filter.split(/\s+/).every((word) => words.includes(word));
  }

  // Every row stays where it is: only those that have changed are touched.
  redraw() {
    for (const id of this.dirty) {
      const row = this.rows.get(id);
      if (!row) continue; // not made yet: `draw` will
      row.update(this.entries.get(id));
      this.dirty.delete(id);
    }
  }

  // Three hundred failures must not push out of sight what runs: the older ones stand behind a button.
  fold(entries) {
    const ends = this.unfolded || this.filter ? [] : entries.filter(isUnseen).sort((a, b) => a.order[1] - b.order[1]);
    const older = new Set(ends.slice(0, -MOST_BAD_ENDS));
    this.more.hidden = older.size === 0;
    if (older.size !== this.folded) {
      this.folded = older.size;
      replace(this.more, `and ${older.size} more that ended badly `, h("button", { onclick: () => { this.unfolded = true; this.draw(); } }, "Show them"));
    }
    return entries.filter((entry) => !older.has(entry));
  }

  draw() {
    const found = [...this.entries.values()].filter((entry) => this.matches(entry))
      .sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1] || (a.id < b.id ? -1 : 1));
    const shown = this.fold(found);
    this.order = shown;
    const wanted = new Set(shown.map((entry) => entry.id));
    for (const [id, row] of this.rows) {
      if (!wanted.has(id)) {
        this.watcher.unobserve(row.element);
        row.element.remove();
        this.rows.delete(id);
        this.seen.delete(id);
      }
    }
    const places = Object.fromEntries(GROUPS.map(([name]) => [name, []]));
    for (const entry of shown) places[entry.group].push(entry);
    let room = FIRST;
    let left = false;
    for (const [name] of GROUPS) {
      const { section, list, number, title } = this.sections[name];
      if (places[name].length) section.hidden = false;
      if (name === "running") say(title, places.attention.some((entry) => entry.endedAt === null) ? "Also running" : "Running");
      say(number, String(places[name].length + (name === "attention" ? found.length - shown.length : 0)));
      let at = list.firstElementChild;
      for (const entry of places[name]) {
        let row = this.rows.get(entry.id);
        if (!row) {
          if (room <= 0) { left = true; continue; }
          room -= 1;
          row = new Row(entry);
          this.rows.set(entry.id, row);
          this.watcher.observe(row.element);
        } else if (this.dirty.has(entry.id)) {
          row.update(entry);
        }
        this.dirty.delete(entry.id);
        if (row.element === at) { at = at.nextElementSibling; continue; }
        const focused = row.element.contains(document.activeElement) ? document.activeElement : null;
        list.insertBefore(row.element, at);
        if (focused) focused.focus();
      }
    }
    // last, since what is inside of a hidden section cannot keep the focus while it moves out
    for (const [name] of GROUPS) this.sections[name].section.hidden = places[name].length === 0;
    this.empty.hidden = !this.loaded || this.entries.size > 0;
    this.none.hidden = this.entries.size === 0 || shown.length > 0;
    if (left) requestAnimationFrame(() => this.draw());
  }

  tick() {
    for (const id of this.seen) this.rows.get(id)?.tick();
  }

  focusFirst() {
    this.rows.get(this.order?.[0]?.id)?.focus();
  }

  // j and k walk, the other keys act on the row that has the focus.
  key(event) {
    const rows = (this.order || []).map((entry) => this.rows.get(entry.id)).filter(Boolean);
    const at = rows.findIndex((row) => row.element.contains(document.activeElement));
    if (event.key === "j" || event.key === "ArrowDown") { rows[Math.min(rows.length - 1, at + 1)]?.focus(); return true; }
    if (event.key === "k" || event.key === "ArrowUp") { rows[Math.max(0, at - 1)]?.focus(); return true; }
    const entry = at < 0 ? null : rows[at].entry;
    if (!entry || entry.kind === "session") return false;
    const running = entry.endedAt === null;
    if (event.key === "e" && running) { extend(entry); return true; }
    if (event.key === "c" && running) { cancel(entry); return true; }
    if (event.key === "w" && running) { why(entry); return true; }
    if (event.key === "s" && isUnseen(entry)) { seen(entry); return true; }
    if (event.key === "r") { restart(entry); return true; }
    if (event.key === "a") { rows[at].element.querySelector("[data-act=answer], [data-act=yes]")?.focus(); return true; }
    return false;
  }
}

// The end of a path tells more than its beginning.
function place(path) {
  const parts = path.split("/");
  return parts.length > 4 ? `…/${parts.slice(-2).join("/")}` : path;
}

class Row {
  constructor(entry) {
    this.glyph = h("span.glyph", { "aria-hidden": "true" });
    this.name = link("", "");
    this.name.className = "name";
    this.state = h("span.state");
    this.what = h("span.what");
    this.answer = h("span.reply");
    this.spark = h("span.spark", { "aria-hidden": "true" });
    this.cpu = h("span.figure.cpu");
    this.memory = h("span.figure.memory");
    this.age = h("span.figure.age");
    this.clock = h("span.clock");
    this.bar = h("span.bar", { "aria-hidden": "true" }, h("i"));
    this.left = h("span.left");
    this.clock.append(this.bar, this.left);
    this.acts = h("span.acts");
    this.element = h("li.row", { id: `r-${entry.id}` },
      this.glyph, this.name, this.state, h("span.told", {}, this.what, this.answer), this.spark, this.cpu, this.memory,
      this.age, this.clock, this.acts);
    this.update(entry);
  }

  focus() {
    this.name.focus();
    this.element.scrollIntoView({ block: "nearest" });
  }

  update(entry) {
    this.entry = entry;
    const [glyph, word, tone] = stateOf(entry);
    this.element.dataset.tone = tone;
    this.element.dataset.group = entry.group;
    say(this.glyph, glyph);
    say(this.state, word);
    this.name.setAttribute("href", entry.kind === "session" ? `/sessions/${entry.id}` : `/jobs/${entry.id}`);
    say(this.name, (entry.name || entry.command) + (entry.id.includes("@") ? entry.id.slice(entry.id.indexOf("@")) : ""));
    this.name.title = harmless(`${entry.command}\n${entry.cwd}\n${entry.id}`);
    const asked = entry.needsInput && entry.answerable && entry.attention?.kind === "input" ? entry.needsInput.prompt.trim() : "";
    const serves = entry.ports.length ? `serves ${entry.ports.join(", ")}` : "";
    const well = entry.endedAt !== null && entry.exitCode === 0; // how it ended and after how long stands in its own columns
    const told = asked || (entry.attention ? entry.attention.why : "") || serves || entry.where || (well ? place(entry.cwd) : entry.doing) || (entry.name ? entry.command : "");
    this.told = told;
    this.wakes = told === entry.attention?.why || (!entry.attention && told === entry.doing) ? entry.wakesMs : null;
    this.replyTo(entry);
    this.started = parse(entry.startedAt);
    this.age.title = entry.endedAt === null ? `started ${fully(this.started)}` : `ended ${fully(parse(entry.endedAt))}`;
    const usage = entry.usage;
    say(this.cpu, usage && usage.cpuPercent !== null ? `${usage.cpuPercent}%` : "");
    this.cpu.title = usage ? `processor, of one core; ${usage.processes} processes` : "";
    say(this.memory, usage && usage.memoryBytes ? bytes(usage.memoryBytes) : "");
    this.setClock(entry);
    this.setActs(entry);
    this.tick();
  }

  // The box stays while the question does: a person may be typing into it.
  replyTo(entry) {
    const key = entry.attention && entry.answerable ? `${entry.attention.kind} ${entry.attention.since}` : "";
    if (key === this.replyKey) return;
    this.replyKey = key;
    const made = key ? answering(this) : null;
    const focused = this.answer.contains(document.activeElement);
    replace(this.answer, made);
    if (focused) this.name.focus(); // a person who answered by keyboard goes on from this row
    this.answer.hidden = !made;
  }

  setActs(entry) {
    const key = actsKey(entry);
    if (key === this.actsKey) return;
    this.actsKey = key;
    const focused = this.acts.contains(document.activeElement);
    replace(this.acts, buttons(this));
    if (focused) this.name.focus(); // a person who acts by keyboard goes on from this row
  }

  setClock(entry) {
    const clock = entry.clocks[0] || null;
    const usual = !clock || (entry.usualMs && clock.name === "hard") ? entry.usualMs : null;
    const running = entry.endedAt === null;
    const key = !running ? "" : usual ? `usual ${usual} ${entry.startedAt}` : clock ? `${clock.name} ${clock.sinceMs} ${clock.endsMs}` : "";
    if (key === this.clockKey) return;
    this.clockKey = key;
    this.clock.hidden = !key;
    if (!key) return;
    const [since, ends] = usual ? [parse(entry.startedAt), parse(entry.startedAt) + usual] : [clock.sinceMs, clock.endsMs];
    this.bar.dataset.kind = usual ? "usual" : clock.name;
    this.left.title = usual ? "the median of its past runs" : `${clock.name} limit of ${duration(clock.limitMs)} (${harmless(clock.source || "?")})`;
    this.clockIs = { usual, since, ends };
  }

  sayWhat(text) {
    if (text === this.whatText) return;
    this.whatText = text;
    say(this.what, text);
    this.what.title = harmless(text);
  }

  // The last two minutes: what was printed moves to the left as time passes.
  drawSpark(spark) {
    const gone = spark ? Math.max(0, Math.floor((now() - spark.endMs) / spark.stepMs)) : STEPS;
    const key = gone < STEPS ? `${spark.endMs} ${gone} ${spark.bytes.join(" ")}` : "";
    if (key === this.sparkKey) return;
    this.sparkKey = key;
    this.element.classList.toggle("printed", key !== "");
    if (!key) { replace(this.spark); return; }
    const most = Math.max(...spark.bytes);
    const bars = spark.bytes.map((n, i, all) => {
      const x = 2 * (STEPS - gone - all.length + i);
      return n && x >= 0 ? `M${x} 16v-${Math.max(1.5, 16 * Math.sqrt(n / most)).toFixed(1)}h1.5V16z` : "";
    });
    replace(this.spark, h("svg", { viewBox: "0 0 80 16", width: 80, height: 16 }, h("path", { d: bars.join("") })));
  }

  tick() {
    const entry = this.entry;
    if (entry.endedAt !== null) {
      this.sayWhat(this.told);
      say(this.age, entry.ranMs === null ? "" : duration(entry.ranMs));
      this.clock.hidden = false;
      this.bar.hidden = true;
      say(this.left, moment(parse(entry.endedAt)));
      this.drawSpark(null);
      return;
    }
    const at = now();
    this.sayWhat(this.wakes ? `${this.told} ${inTime(this.wakes, at)}` : this.told);
    say(this.age, this.started === null ? "" : ticking(at - this.started));
    this.drawSpark(entry.spark);
    if (!this.clockKey || !this.clockIs) return;
    const { usual, since, ends } = this.clockIs;
    const filled = Math.min(1, Math.max(0, (at - since) / Math.max(1, ends - since)));
    this.bar.firstChild.style.transform = `scaleX(${filled.toFixed(3)})`;
    say(this.left, usual ? `usually ${duration(usual)}` : ends > at ? `ends in ${ticking(ends - at)}` : "ending");
  }
}
