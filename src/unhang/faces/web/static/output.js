// What a job prints, of any size: only the rows on the screen exist, and only they are fetched. The height of a long output
// is more than a browser can draw, so beyond a bound the scroll bar stands for the whole and not for pixels.

import { Colours } from "./ansi.js";
import { h, replace, say } from "./dom.js";
import { bytes } from "./format.js";
import { toast } from "./actions.js";
import { get } from "./live.js";

const HEIGHT = 19; // pixels of a row
const TALLEST = 8_000_000; // pixels
const BLOCK = 200; // rows of one request
const KEPT = 24; // blocks
const AHEAD = 12; // rows above and below the screen

export class Output {
  constructor(job) {
    this.job = job;
    this.stream = "stdout";
    this.blocks = new Map();
    this.total = 0;
    this.follow = true;
    this.found = [];
    this.foundAt = -1;
    this.tabs = {};
    for (const stream of ["stdout", "stderr"]) {
      this.tabs[stream] = h("button", { role: "tab", "aria-selected": String(stream === "stdout"), "aria-controls": "output-rows",
        onclick: () => this.choose(stream) }, stream);
    }
    this.size = h("span.dim");
    this.search = h("input", { type: "search", placeholder: "Search the output", "aria-label": "Search the output", autocomplete: "off", spellcheck: "false" });
    this.hits = h("span.dim", { role: "status" });
    this.wrap = h("input", { type: "checkbox", id: "wrap" });
    this.end = h("input", { type: "checkbox", id: "follow", checked: true });
    this.download = h("a.button", { download: true }, "Download");
    this.lines = h("div.lines");
    this.spacer = h("div.spacer", {}, this.lines);
    this.box = h("div.output", { id: "output-rows", tabindex: "0", role: "log", "aria-label": "Output of the job", "aria-live": "off" }, this.spacer);
    this.element = h("div.pane", {},
      h("div.tools", {}, h("div.tabs", { role: "tablist", "aria-label": "Streams" }, this.tabs.stdout, this.tabs.stderr), this.size, h("span.gap"),
        this.search, this.hits,
        h("label", { for: "wrap" }, this.wrap, "wrap"), h("label", { for: "follow" }, this.end, "follow"), this.download),
      this.box);
    this.box.addEventListener("scroll", () => this.scrolled());
    this.wrap.addEventListener("change", () => { this.box.classList.toggle("wrapped", this.wrap.checked); this.draw(); });
    this.end.addEventListener("change", () => { this.follow = this.end.checked; if (this.follow) this.toEnd(); });
    this.element.querySelector(".tabs").addEventListener("keydown", (event) => this.walk(event));
    this.search.addEventListener("keydown", (event) => { if (event.key === "Enter") this.find(event.shiftKey ? -1 : 1); });
    this.search.addEventListener("input", () => { this.searched = null; say(this.hits, ""); });
    this.choose("stdout");
  }

  // As in every list of tabs: the chosen one can be tabbed to, the arrows go to the others.
  walk(event) {
    if (!["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(event.key === "Home" || (event.key !== "End" && this.stream === "stderr") ? "stdout" : "stderr");
    this.tabs[this.stream].focus();
  }

  choose(stream) {
    this.stream = stream;
    for (const [name, tab] of Object.entries(this.tabs)) {
      tab.setAttribute("aria-selected", String(name === stream));
      tab.tabIndex = name === stream ? 0 : -1;
    }
    this.download.setAttribute("href", `/api/jobs/${this.job}/download?stream=${stream}`);
    this.blocks.clear();
    this.total = 0;
    this.found = [];
    this.searched = null;
    replace(this.lines);
    this.ready = this.grow();
  }

  // The job has printed more, or the page was just opened.
  async grow() {
    if (this.growing) { this.again = true; return; }
    this.growing = true;
    const stream = this.stream;
    try {
      const found = await get(`/api/jobs/${this.job}/rows?stream=${stream}&first=-${BLOCK}&count=${BLOCK}`);
      if (stream === this.stream) {
        const before = this.total;
        if (found.total < before) this.blocks.clear(); // the ring has moved on: the numbers mean other rows
        this.blocks.delete(Math.floor(Math.max(0, before - 1) / BLOCK));
        this.setTotal(found);
        this.keepRows(found);
        if (this.follow) this.toEnd();
        this.draw();
      }
    } catch (error) {
      say(this.size, error.message);
    }
    this.growing = false;
    if (this.again) { this.again = false; setTimeout(() => this.grow(), 300); }
  }

  setTotal(found) {
    this.total = found.total;
    this.bytes = found.bytes;
    this.element.classList.toggle("blank", !found.total);
    say(this.size, found.total ? `${found.total.toLocaleString()} ${found.total === 1 ? "line" : "lines"}, ${bytes(found.bytes)}` : this.ended ? "nothing was printed" : "nothing yet");
    this.spacer.style.height = `${Math.min(TALLEST, this.total * HEIGHT)}px`;
    this.scale = this.total * HEIGHT > TALLEST ? (this.total * HEIGHT) / TALLEST : 1;
  }

  keepRows(found) {
    for (let i = 0; i < found.rows.length; i += 1) {
      const number = found.first + i;
      const block = Math.floor(number / BLOCK);
      if (!this.blocks.has(block)) this.blocks.set(block, new Array(BLOCK));
      this.blocks.get(block)[number % BLOCK] = found.rows[i];
    }
    while (this.blocks.size > KEPT) this.blocks.delete(this.blocks.keys().next().value);
  }

  first() {
    return Math.floor((this.box.scrollTop * this.scale) / HEIGHT);
  }

  scrolled() {
    const bottom = this.spacer.clientHeight - this.box.clientHeight - this.box.scrollTop < HEIGHT * 2;
    if (this.programmed) this.programmed = false;
    else if (bottom !== this.follow) { this.follow = bottom; this.end.checked = bottom; }
    if (!this.asked) this.asked = requestAnimationFrame(() => { this.asked = null; this.draw(); });
  }

  toEnd() {
    this.programmed = true;
    this.box.scrollTop = this.spacer.clientHeight;
  }

  to(row) {
    this.follow = this.end.checked = false;
    this.programmed = true;
    this.box.scrollTop = Math.max(0, row * HEIGHT - this.box.clientHeight / 3) / this.scale;
    this.marked = row;
    this.draw();
  }

  // The row that was being printed when something happened.
  async toOffset(stream, offset) {
    if (stream !== this.stream) this.choose(stream);
    let found;
    try { found = await get(`/api/jobs/${this.job}/rows?stream=${stream}&at=${offset}&count=${BLOCK}`); } catch (error) { toast(error.message, true); return; }
    this.setTotal(found);
    this.keepRows(found);
    this.to(found.at);
    this.box.focus();
  }

  async draw() {
    if (this.total === 0) { replace(this.lines); return; }
    const high = Math.ceil(this.box.clientHeight / HEIGHT);
    const bottom = this.box.scrollTop + this.box.clientHeight >= this.spacer.clientHeight - 1;
    const first = Math.max(0, (bottom ? this.total - high : this.first()) - AHEAD);
    const last = Math.min(this.total, first + high + 2 * AHEAD);
    const missing = [];
    for (let block = Math.floor(first / BLOCK); block * BLOCK < last; block += 1) if (!this.complete(block)) missing.push(block);
    const colours = new Colours();
    const rows = [];
    for (let number = first; number < last; number += 1) {
      const row = this.blocks.get(Math.floor(number / BLOCK))?.[number % BLOCK];
      const made = h("div.line", { class: number === this.marked ? "line marked" : "line", "data-n": String(number + 1) });
      if (!row) made.append("…");
      else if (row[2]) made.append(h("span.gone", {}, `${bytes(row[2])} left out here`));
      else made.append(...this.lit(colours.row(row[1])));
      rows.push(made);
    }
    replace(this.lines, rows);
    const top = bottom ? Math.min(this.spacer.clientHeight, this.total * HEIGHT) - (last - first) * HEIGHT : this.box.scrollTop - (this.first() - first) * HEIGHT;
    this.lines.style.top = `${Math.max(0, Math.round(top))}px`;
    for (const block of missing) this.fetch(block);
  }

  // What is searched for is marked where it stands within one colour.
  lit(nodes) {
    const text = this.searched;
    if (!text) return nodes;
    return nodes.flatMap((node) => {
      const all = node.textContent;
      const low = all.toLowerCase();
      const parts = [];
      let at = 0;
      for (let hit = low.indexOf(text); hit >= 0; hit = low.indexOf(text, at)) {
        parts.push(all.slice(at, hit), h("mark", {}, all.slice(hit, hit + text.length)));
        at = hit + text.length;
      }
      if (!at) return [node];
      parts.push(all.slice(at));
      if (node.nodeType === Node.TEXT_NODE) return parts;
      node.replaceChildren(...parts);
      return [node];
    });
  }

  complete(block) {
    const rows = this.blocks.get(block);
    const wanted = Math.min(BLOCK, this.total - block * BLOCK);
    if (!rows) return false;
    for (let i = 0; i < wanted; i += 1) if (!rows[i]) return false;
    return true;
  }

  async fetch(block) {
    this.fetching ||= new Set();
    const key = `${this.stream} ${block}`;
    if (this.fetching.has(key)) return;
    this.fetching.add(key);
    const { stream } = this;
    try {
      const found = await get(`/api/jobs/${this.job}/rows?stream=${stream}&first=${block * BLOCK}&count=${BLOCK}`);
      if (stream === this.stream) {
        this.setTotal(found);
        this.keepRows(found);
        this.draw();
      }
    } catch { /* the next draw asks again */ }
    this.fetching.delete(key);
  }

  async find(step) {
    const text = this.search.value.toLowerCase();
    if (!text) return;
    if (this.searched !== text) {
      let answer;
      try { answer = await get(`/api/jobs/${this.job}/search?stream=${this.stream}&text=${encodeURIComponent(text)}`); } catch (error) { say(this.hits, error.message); return; }
      this.found = answer.found;
      this.searched = text;
      this.foundAt = step > 0 ? -1 : 0;
    }
    if (!this.found.length) { say(this.hits, "not found"); this.draw(); return; }
    this.foundAt = (this.foundAt + step + this.found.length) % this.found.length;
    say(this.hits, `${this.foundAt + 1} of ${this.found.length}${this.found.length >= 1000 ? "+" : ""}`);
    this.to(this.found[this.foundAt]);
  }
}
