// A session that a person sits at: its open tool calls, what the watcher saw and did, its saved screen, its last events.

import { h, link, replace, say } from "./dom.js";
import { fully, moment, now, parse, ticking } from "./format.js";
import { get } from "./live.js";
import { stateOf, toneOf } from "./states.js";

export class SessionPage {
  constructor(main, id) {
    this.id = id;
    this.title = "session";
    this.body = h("div");
    replace(main, h("p.crumb", {}, link("/", "Now"), " / ", h("code", {}, id)), this.body);
    this.load();
    this.timer = setInterval(() => this.tick(), 1000);
  }

  close() {
    clearInterval(this.timer);
  }

  tick() {
    for (const each of this.body.querySelectorAll("[data-since]")) say(each, ticking(now() - parse(each.dataset.since)));
  }

  take(message) {
    if (message.entries.some((entry) => entry.id === this.id)) this.load();
  }

  async load() {
    let found;
    try { found = await get(`/api/sessions/${this.id}`); } catch (error) { replace(this.body, h("h1", {}, error.message)); return; }
    const { entry, steps, events, saved } = found;
    const [glyph, word, tone] = stateOf(entry);
    const needs = entry.attention;
    replace(this.body,
      h("h1", {}, entry.command),
      h("p.line2", {}, h("span.state", { "data-tone": tone }, h("span.glyph", { "aria-hidden": "true" }, glyph), " ", word), h("span.dim", {}, ` ${entry.cwd}`)),
      needs ? h("p.why", { "data-tone": tone }, needs.why) : null,
      needs && needs.command ? h("p.goto", {}, "Go to it: ", h("code", {}, needs.command)) : null,
      block("Open tool calls", entry.agent.calls.length
        ? h("ul.calls", {}, entry.agent.calls.map((call) => h("li", {}, h("span.num", { "data-since": call.since }, ticking(now() - parse(call.since))), h("span", {}, call.what))))
        : h("p.dim", {}, "None.")),
      block("What the watcher saw and did", steps.length
        ? h("ol.events.plain", {}, [...steps].reverse().map((step) => h("li", { "data-tone": toneOf(step) }, h("time", { title: fully(parse(step.at)) }, moment(parse(step.at))), h("span.phase", {}, step.step || step.phase), h("span.message", {}, step.message))))
        : h("p.dim", {}, "Nothing: no limit came near.")),
      saved ? block("Saved screen", h("p.dim", {}, `As it was ${moment(parse(saved.at))}, before the watcher did something that cannot be taken back.`),
        h("pre.screen", { tabindex: "0", "aria-label": "The saved screen" }, saved.screen),
        saved.draft ? h("p", {}, "In the box stood: ", h("code", {}, saved.draft)) : null) : null,
      block("Last events", h("ol.events.plain", {}, [...events].reverse().map((event) => h("li", {}, h("time", {}, moment(parse(event.ts))), h("span.phase", {}, event.phase), h("span.message", {}, event.message))))));
  }
}

function block(title, ...children) {
  const id = `s-${title.split(" ")[0].toLowerCase()}`;
  return h("section.block", { "aria-labelledby": id }, h("h2", { id }, title), children);
}
