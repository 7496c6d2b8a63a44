// The life of a job as a picture: output as density, silences, notices, attempts, the end; of an agent its thoughts and tool
// calls as bars. The wheel and + − zoom, dragging and the arrows move, 0 shows all; a click on a mark goes to that moment.

import { h, replace } from "./dom.js";
import { bytes, duration, moment, now } from "./format.js";
import { toneOf } from "./states.js";

const WIDE = 1000;
const DENSITY = 44;
const LANE = 14;

export class TimelinePicture {
  constructor(onPick) {
    this.onPick = onPick;
    this.data = null;
    this.view = null; // [from, to] in milliseconds; null: all
    this.picture = h("div.picture", { tabindex: "0", role: "group", "aria-label": "Timeline of the job; plus and minus zoom, the arrows move" });
    this.legend = h("div.legend");
    this.said = h("p.said.dim");
    this.element = h("div.timeline", {}, this.picture, this.legend, this.said);
    this.picture.addEventListener("wheel", (event) => {
      if (!this.data) return;
      event.preventDefault();
      const box = this.picture.getBoundingClientRect();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.clientX - box.left) / box.width);
    }, { passive: false });
    this.picture.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".mark")) return;
      const begin = event.clientX;
      const [from, to] = this.range();
      const move = (each) => this.show(from - ((each.clientX - begin) / this.picture.clientWidth) * (to - from),
        to - ((each.clientX - begin) / this.picture.clientWidth) * (to - from));
      const up = () => { window.removeEventListener("pointermove", move); window.removeEventListener("pointerup", up); };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", up);
    });
    this.picture.addEventListener("keydown", (event) => {
      const [from, to] = this.range();
      const step = (to - from) / 8;
      const acts = {
        "+": () => this.zoom(0.7, 0.5), "=": () => this.zoom(0.7, 0.5), "-": () => this.zoom(1.4, 0.5), 0: () => { this.view = null; this.draw(); },
        ArrowLeft: () => this.show(from - step, to - step), ArrowRight: () => this.show(from + step, to + step),
      };
      if (acts[event.key]) { event.preventDefault(); event.stopPropagation(); acts[event.key](); }
    });
  }

  set(data) {
    this.data = data;
    this.draw();
  }

  range() {
    const all = this.all();
    return this.view || all;
  }

  all() {
    const { fromMs, toMs, ended } = this.data;
    const end = ended ? toMs : Math.max(toMs, now());
    return [fromMs, Math.max(end, fromMs + 1000)];
  }

  show(from, to) {
    const [first, last] = this.all();
    const long = Math.min(to - from, last - first);
    const begin = Math.min(Math.max(from, first), last - long);
    this.view = long >= last - first ? null : [begin, begin + long];
    this.draw();
  }

  zoom(factor, at) {
    const [from, to] = this.range();
    const long = Math.max(500, (to - from) * factor);
    const middle = from + (to - from) * at;
    this.show(middle - long * at, middle + long * (1 - at));
  }

  draw() {
    if (!this.data || this.data.fromMs === null) return;
    const { data } = this;
    const [from, to] = this.range();
    const x = (ms) => ((ms - from) / (to - from)) * WIDE;
    const inside = (a, b) => b >= from && a <= to;
    const agent = data.calls.length || data.thoughts.length;
    const lanes = laid(data.calls.filter((call) => inside(call.fromMs, call.toMs ?? to)));
    const deep = agent ? (lanes.length + 1) * LANE + 6 : 0;
    const high = DENSITY + deep + 22;
    const parts = [];
    for (const silence of [...data.silences, ...this.open()]) {
      if (!inside(silence.fromMs, silence.toMs)) continue;
      const left = Math.max(0, x(silence.fromMs));
      parts.push(h("rect.silence", { x: left, y: 0, width: Math.max(0.5, Math.min(WIDE, x(silence.toMs)) - left), height: DENSITY },
        h("title", {}, `silent for ${duration(silence.toMs - silence.fromMs)}`)));
    }
    parts.push(...this.density(from, to, x));
    parts.push(h("line.base", { x1: 0, x2: WIDE, y1: DENSITY, y2: DENSITY }));
    if (agent) parts.push(...this.agent(lanes, x, to));
    const times = ticks(from, to, this.picture.clientWidth);
    for (const each of times) {
      parts.push(h("line.tick", { x1: x(each), x2: x(each), y1: DENSITY + deep, y2: DENSITY + deep + 4 }));
    }
    const marks = data.marks.filter((mark) => inside(mark.atMs, mark.atMs)).map((mark) => {
      const made = h("button.mark", { type: "button", "data-tone": toneOf(mark), style: { left: `${(x(mark.atMs) / WIDE) * 100}%` },
        "data-seq": mark.seq, "aria-label": `${moment(mark.atMs)} ${mark.message}`, title: `${moment(mark.atMs)}  ${mark.message}`, onclick: () => this.onPick(mark) });
      return made;
    });
    const svg = h("svg", { viewBox: `0 0 ${WIDE} ${high}`, width: "100%", height: high, preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts);
    const labels = times.filter((each) => x(each) > 30 && x(each) < WIDE - 30).map((each) => h("span.tick", { style: { left: `${(x(each) / WIDE) * 100}%` } }, moment(each)));
    const focused = this.picture.contains(document.activeElement) ? document.activeElement.dataset.seq : undefined;
    replace(this.picture, svg, h("div.marks", {}, marks), h("div.ticks", {}, labels));
    if (focused !== undefined) (this.picture.querySelector(`[data-seq="${focused}"]`) || this.picture).focus();
    const longest = [...data.silences, ...this.open()].reduce((most, each) => Math.max(most, each.toMs - each.fromMs), 0);
    const printed = data.output.reduce((sum, [, n]) => sum + n, 0);
    replace(this.said, `${duration(to - from)} shown`, this.view ? " (0 shows all)" : "", `, ${bytes(printed)} printed, `,
      longest ? `longest silence ${duration(longest)}` : "no silence of 10 seconds or more", `, ${data.marks.length} ${data.marks.length === 1 ? "event" : "events"}`,
      data.calls.length ? `, ${data.calls.length} tool calls` : "");
  }

  open() {
    const { aliveMs, ended } = this.data;
    return ended || aliveMs === null || now() - aliveMs < 10000 ? [] : [{ fromMs: aliveMs, toMs: now() }];
  }

  density(from, to, x) {
    const steps = this.data.output.filter(([at]) => at + this.data.stepMs >= from && at <= to);
    const bins = new Map();
    const wide = Math.max(this.data.stepMs, (to - from) / 250);
    for (const [at, n] of steps) {
      const bin = Math.floor((at - from) / wide);
      bins.set(bin, (bins.get(bin) || 0) + n);
    }
    const most = Math.max(1, ...bins.values());
    return [...bins].map(([bin, n]) => {
      const begin = from + bin * wide;
      const tall = Math.max(2, (DENSITY - 6) * Math.sqrt(n / most));
      const left = Math.max(0, x(begin));
      return h("rect.density", { x: left, y: DENSITY - tall, width: Math.max(1, Math.min(WIDE, x(begin + wide)) - left - 0.6), height: tall },
        h("title", {}, `${moment(begin)}: ${bytes(n)}`));
    });
  }

  agent(lanes, x, to) {
    const parts = [];
    const top = DENSITY + 4;
    for (const thought of this.data.thoughts) {
      const left = Math.max(0, x(thought.fromMs));
      const right = Math.min(WIDE, x(thought.toMs ?? to));
      if (right > left) parts.push(h("rect.thought", { x: left, y: top, width: Math.max(1, right - left), height: LANE - 4 },
        h("title", {}, `thinking, ${duration((thought.toMs ?? now()) - thought.fromMs)}`)));
    }
    lanes.forEach((lane, i) => lane.forEach((call) => {
      const left = Math.max(0, x(call.fromMs));
      const right = Math.min(WIDE, x(call.toMs ?? to));
      parts.push(h("rect.call", { x: left, y: top + (i + 1) * LANE, width: Math.max(2, right - left), height: LANE - 3, rx: 2,
        class: call.failed ? "call failed" : call.toMs === null ? "call open" : "call" },
        h("title", {}, `${call.what}\n${duration((call.toMs ?? now()) - call.fromMs)}${call.toMs === null ? ", still open" : ""}`)));
    }));
    return parts;
  }
}

// Calls that overlap stand below each other, in as few lanes as they need.
function laid(calls) {
  const lanes = [];
  for (const call of [...calls].sort((a, b) => a.fromMs - b.fromMs)) {
    const lane = lanes.find((each) => (each[each.length - 1].toMs ?? Infinity) <= call.fromMs);
    if (lane) lane.push(call);
    else if (lanes.length < 8) lanes.push([call]);
  }
  return lanes;
}

// The times to name below a picture of so many pixels: on a phone fewer, so that they do not touch.
function ticks(from, to, wide) {
  const most = wide ? Math.max(2, Math.min(7, Math.floor(wide / 75))) : 7;
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400].map((s) => s * 1000);
  const step = steps.find((each) => (to - from) / each <= most) || 86400000 * Math.ceil((to - from) / 86400000 / most);
  const found = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
