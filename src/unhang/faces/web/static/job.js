// One job: where it stands, its timeline, its output, its processes, its events, its result.

import { actsKey, answering, buttons, cancel, extend, isUnseen, restart } from "./actions.js";
import { h, json, link, replace, say } from "./dom.js";
import { bytes, count, duration, fully, inTime, moment, now, parse, ticking } from "./format.js";
import { get, post } from "./live.js";
import { Output } from "./output.js";
import { stateOf, toneOf } from "./states.js";
import { TimelinePicture } from "./timeline.js";

const SHOWN_EVENTS = 400;
// While a person looks at this job, no alert of it is sent elsewhere (alerts/presence.py). Who has touched nothing for
// two minutes may have left.
const SAID_EVERY = 20000;
const LEFT_AFTER = 120000;
let touched = 0;
for (const kind of ["pointermove", "pointerdown", "keydown", "wheel"]) {
  document.addEventListener(kind, () => { touched = Date.now(); }, { passive: true });
}

export class JobPage {
  constructor(main, id, onMissing) {
    this.main = main;
    this.id = id;
    this.title = id;
    this.onMissing = onMissing;
    this.entry = null;
    this.output = new Output(id);
    this.timeline = new TimelinePicture((mark) => this.pick(mark));
    this.head = h("div.head");
    this.facts = h("dl.facts");
    this.ask = h("div.ask", { hidden: true });
    this.tree = h("div.tree", {}, h("p.dim", {}, "What each process waits for, looked at when you ask; and what was seen at each notice."));
    this.saved = h("div.saved");
    this.list = h("ol.events");
    this.result = h("div.result");
    this.refresh = h("button", { onclick: () => this.look() }, "Look now");
    this.jsonButton = h("button", { "aria-pressed": "false", onclick: () => this.toggleJson() }, "JSON");
    replace(main, this.head, this.ask, this.facts,
      section("Timeline", this.timeline.element),
      section("Output", this.output.element),
      h("div.columns", {},
        this.processes = section("Processes", this.tree, this.saved, this.refresh),
        section("Events", this.list)),
      section("Result", this.result, this.jsonButton));
    touched = Date.now();
    this.said = 0;
    this.timer = setInterval(() => { this.tick(); this.sayThatItIsSeen(); }, 1000);
    this.loadTimeline();
    this.output.ready.then(() => this.loadStatus()); // the status holds the output, too: what is looked at comes first
    if (location.hash === "#why") this.why();
  }

  close() {
    clearInterval(this.timer);
    clearTimeout(this.later);
  }

  takeEntry(entry) {
    const first = this.entry === null;
    if (entry === null) return; // it ended long ago, and is no longer in the list: `loadStatus` has what there is to say
    const ended = this.entry && this.entry.endedAt === null && entry.endedAt !== null;
    const printed = !this.entry || JSON.stringify(this.entry.bytes) !== JSON.stringify(entry.bytes);
    this.entry = entry;
    this.title = entry.name || entry.command.slice(0, 40);
    this.drawHead();
    if (!this.chose && !entry.bytes.stdout && entry.bytes.stderr) this.output.choose("stderr"); // what there is
    else if (!first && printed) this.output.grow();
    this.chose = true;
    this.output.ended = entry.endedAt !== null;
    this.refresh.hidden = this.output.ended;
    if (this.output.ended && this.tree.dataset.looked !== "yes") replace(this.tree, h("p.dim", {}, "None is left. Below is what was seen at each notice, if there was one."));
    if (ended) this.loadStatus();
    this.sayThatItIsSeen();
  }

  takeEvent(event) {
    if (event.type !== "output" && event.type !== "heartbeat") this.addEvent(event);
    if (event.diagnosis && event.diagnosis.processes && event.diagnosis.processes.length) this.saveTree(event);
    if (!this.soon) {
      this.soon = true;
      this.later = setTimeout(() => { this.soon = false; this.loadTimeline(); this.loadStatus(); }, 700);
    }
  }

  async loadTimeline() {
    try { this.timeline.set(await get(`/api/jobs/${this.id}/timeline`)); } catch { /* it is said at the top */ }
  }

  async loadStatus() {
    try {
      this.status = await get(`/api/jobs/${this.id}`);
      if (!this.entry) this.drawAlone();
      this.drawFacts();
      this.drawResult();
    } catch (error) {
      if (error.status === 404) this.missing(error.message);
      else if (!this.entry) replace(this.head, h("h1", {}, error.message));
    }
  }

  // There is no such job, or it was removed while this page was open.
  missing(message) {
    this.close();
    this.entry = null;
    this.title = "no such job";
    replace(this.main, h("h1", {}, message), h("p", {}, link("/", "All jobs"), " · ", link("/history", "History")));
    this.onMissing();
  }

  // Of a job that ended so long ago that it is not in the list, the status is all there is.
  drawAlone() {
    this.entry = { clocks: [], ports: [], spark: null, usage: null, agent: null, attention: null, usualMs: null, answerable: false,
      ranMs: this.status.totalMs ?? this.status.durationMs,
      doing: this.status.error ? this.status.error.message || "" : "", ...this.status, id: this.status.jobId || this.id };
    this.title = this.entry.name || this.entry.command.slice(0, 40);
    this.drawHead();
  }

  drawHead() {
    const { entry } = this;
    const [glyph, word, tone] = stateOf(entry);
    if (!this.time) this.makeHead();
    say(this.crumb, entry.id);
    say(this.heading, entry.name || entry.command);
    this.word.dataset.tone = this.reason.dataset.tone = tone;
    say(this.glyph, glyph);
    say(this.state, word);
    this.reason.hidden = !(entry.attention || entry.doing);
    this.setActs(entry);
    const key = entry.attention ? `${entry.attention.kind} ${entry.attention.since}` : "";
    if (key !== this.askKey) {
      this.askKey = key;
      const box = answering(this);
      replace(this.ask, box, entry.attention && entry.attention.command && !box ? h("p.dim", {}, "In a terminal: ", h("code", {}, entry.attention.command)) : null);
      this.ask.hidden = !entry.attention || !this.ask.childNodes.length;
    }
    this.tick();
  }

  // Its parts are kept and changed in place: a person may have tabbed to one of them.
  makeHead() {
    this.crumb = h("code");
    this.heading = h("h1");
    this.acts = h("span.acts");
    this.glyph = h("span.glyph", { "aria-hidden": "true" });
    this.state = h("span");
    this.word = h("span.state", {}, this.glyph, " ", this.state);
    this.time = h("span.dim");
    this.clocks = h("span.clocks");
    this.reason = h("p.why");
    replace(this.head, h("p.crumb", {}, link("/", "Now"), " / ", this.crumb), h("div.line1", {}, this.heading, this.acts),
      h("p.line2", {}, this.word, this.time, this.clocks), this.reason);
  }

  setActs(entry) {
    const key = actsKey(entry);
    if (key === this.actsKey) return;
    this.actsKey = key;
    const before = this.acts.contains(document.activeElement) ? document.activeElement.dataset.act : null;
    replace(this.acts, buttons(this));
    if (before) (this.acts.querySelector(`[data-act=${before}]`) || this.acts.querySelector("button") || this.main).focus();
  }

  tick() {
    const { entry } = this;
    if (!entry || !this.time) return;
    if (!this.reason.hidden) say(this.reason, (entry.attention ? entry.attention.why : entry.doing) + (entry.wakesMs ? ` ${inTime(entry.wakesMs, now())}` : ""));
    if (entry.endedAt !== null) {
      say(this.time, `${entry.ranMs === null ? "" : `after ${duration(entry.ranMs)}, `}${moment(parse(entry.endedAt))}`);
      say(this.clocks, "");
      return;
    }
    say(this.time, `for ${ticking(now() - parse(entry.startedAt))}${entry.attempt > 1 ? `, attempt ${entry.attempt}` : ""}${entry.usualMs ? `, usually ${duration(entry.usualMs)}` : ""}`);
    say(this.clocks, entry.clocks.map((clock) => `${clock.name} limit ends it in ${ticking(clock.endsMs - now())}`).join(" · "));
  }

  sayThatItIsSeen() {
    const at = Date.now();
    const looks = document.visibilityState === "visible" && document.hasFocus() && at - touched < LEFT_AFTER;
    if (!looks || !this.entry || at - this.said < SAID_EVERY) return;
    if (this.entry.endedAt !== null && !isUnseen(this.entry)) return;
    this.said = at;
    post(`/api/jobs/${this.id}/seen`, {}).catch(() => {}); // the banner says when the server is gone
  }

  drawFacts() {
    const { status, entry } = this;
    const facts = [["Command", h("code", {}, status.command)], ["Directory", h("code", {}, status.cwd || "?")]];
    for (const [name, label] of [["idleMs", "Idle limit"], ["hardMs", "Hard limit"]]) {
      const limit = status.limits[name] || {};
      facts.push([label, [limit.value === null || limit.value === undefined ? "off" : duration(limit.value), h("span.dim", {}, ` ${limit.source || ""}`)]]);
    }
    facts.push(["Started", h("span", { title: fully(parse(status.startedAt)) }, moment(parse(status.startedAt)))]);
    if (status.pid) facts.push(["Process", String(status.pid)]);
    if (entry && entry.usage) facts.push(["Uses", `${entry.usage.cpuPercent ?? 0}% of a core, ${bytes(entry.usage.memoryBytes)}, ${entry.usage.processes} ${entry.usage.processes === 1 ? "process" : "processes"}`]);
    if (status.labels && Object.keys(status.labels).length) facts.push(["Labels", Object.entries(status.labels).map(([name, value]) => `${name}=${value}`).join(", ")]);
    if (entry && entry.ports.length) facts.push(["Listens at", entry.ports.join(", ")]);
    const agent = entry && entry.agent;
    if (agent) {
      facts.push(["Agent", `${agent.name}${agent.thread ? `, thread ${agent.thread}` : ""}`]);
      if (agent.tokens && agent.tokens.contextTokens) facts.push(["Context", `${count(agent.tokens.contextTokens)} tokens${agent.tokens.occupancy ? `, ${Math.round(agent.tokens.occupancy * 100)}%` : ""}`]);
    }
    replace(this.facts, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  drawResult() {
    const { status } = this;
    if (this.asJson) {
      replace(this.result, h("pre.json", { tabindex: "0" }, json(status)));
      return;
    }
    const lines = [];
    if (status.status === "running") lines.push(h("p", {}, "It still runs."));
    else {
      const how = status.exitCode !== null ? `exit code ${status.exitCode}` : status.signal ? `ended by ${status.signal}` : "no exit code";
      lines.push(h("p", {}, h("b", { "data-tone": status.status === "success" ? "good" : status.status === "cancelled" ? "calm" : "bad" }, status.state), `, ${how}, ${duration(status.durationMs)}`));
    }
    if (status.error) lines.push(h("p", {}, status.error.message || status.error.code));
    if (status.diagnosis && status.status !== "success") lines.push(h("p", {}, h("b", {}, "Why: "), status.diagnosis.reason || ""));
    const advice = (status.recovery && status.recovery.suggestions) || [];
    if (advice.length) lines.push(h("ul.advice", {}, advice.map((text) => h("li", {}, text))));
    if (status.truncated) lines.push(h("p.dim", {}, "A part of the output was not kept: the beginning and the end were."));
    replace(this.result, lines);
  }

  toggleJson() {
    this.asJson = !this.asJson;
    this.jsonButton.setAttribute("aria-pressed", String(this.asJson));
    if (this.status) this.drawResult();
  }

  addEvent(event) {
    const item = h("li", { "data-tone": toneOf(event), id: `e-${event.seq}` },
      h("span.seq", {}, String(event.seq)), h("time", { datetime: event.ts, title: fully(parse(event.ts)) }, moment(parse(event.ts))),
      h("span.phase", {}, event.phase), h("button.message", { title: "Show the output of that moment", onclick: () => this.pick({ seq: event.seq, atMs: parse(event.ts) }) }, event.message));
    this.list.prepend(item);
    while (this.list.childElementCount > SHOWN_EVENTS) this.list.lastElementChild.remove();
  }

  // To the output of that moment.
  pick(mark) {
    const offsets = this.timeline.data ? this.timeline.data.offsets : [];
    let best = null;
    for (const each of offsets) if (each[0] <= mark.atMs) best = each;
    if (best) this.output.toOffset(best[1], best[2]);
    const item = document.getElementById(`e-${mark.seq}`);
    for (const each of this.list.querySelectorAll(".picked")) each.classList.remove("picked");
    item?.classList.add("picked");
    item?.scrollIntoView({ block: "nearest" });
  }

  why() {
    this.processes.scrollIntoView({ block: "start" });
    this.look();
  }

  async look() {
    this.refresh.disabled = true;
    say(this.refresh, "Looking…");
    try {
      const found = await get(`/api/jobs/${this.id}/tree`);
      this.tree.dataset.looked = "yes";
      replace(this.tree, h("p", {}, h("b", {}, `${found.state}: `), found.reason), processes(found.processes), h("p.dim", {}, `seen ${moment(now())}`));
    } catch (error) {
      replace(this.tree, h("p.dim", {}, error.message));
    }
    this.refresh.disabled = false;
    say(this.refresh, "Look now");
  }

  saveTree(event) {
    this.saved.prepend(h("details", {}, h("summary", {}, `${moment(parse(event.ts))} ${event.phase}: `, event.diagnosis.reason || ""), processes(event.diagnosis.processes)));
    while (this.saved.childElementCount > 20) this.saved.lastElementChild.remove();
  }

  key(event) {
    const { entry } = this;
    if (!entry) return false;
    const running = entry.endedAt === null;
    if (event.key === "/") { this.output.search.focus(); return true; }
    if (event.key === "e" && running) { extend(entry); return true; }
    if (event.key === "c" && running) { cancel(entry); return true; }
    if (event.key === "w" && running) { this.why(); return true; }
    if (event.key === "r") { restart(entry); return true; }
    if (event.key === "a") { this.ask.querySelector("[data-act=answer], [data-act=yes]")?.focus(); return true; }
    return false;
  }
}

function section(title, ...children) {
  const id = `s-${title.toLowerCase()}`;
  return h("section.block", { "aria-labelledby": id }, h("h2", { id }, title), children);
}

// Parents before their children, as far as they are among those that were seen.
function processes(list) {
  const depth = new Map();
  const rows = (list || []).map((process) => {
    const deep = process.ppid && depth.has(process.ppid) ? depth.get(process.ppid) + 1 : 0;
    depth.set(process.pid, deep);
    return h("tr", {}, h("td.num", {}, String(process.pid)), h("td", { style: { paddingLeft: `${0.5 + deep}em` } }, process.comm || "?"),
      h("td.num", {}, process.cpuPercent === undefined || process.cpuPercent === null ? "" : `${Math.round(process.cpuPercent)}%`), h("td", {}, process.waits || process.state || ""));
  });
  return h("div.scroll", { tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, "pid"), h("th", {}, "process"), h("th", {}, "cpu"), h("th", {}, "does"))), h("tbody", {}, rows)));
}
