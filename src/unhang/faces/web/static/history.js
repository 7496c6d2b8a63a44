// What past runs say: how long each command took and was silent, how often it failed, and which limits would be learnt.

import { h, link, replace, say } from "./dom.js";
import { duration, moment } from "./format.js";
import { get } from "./live.js";

export class HistoryPage {
  constructor(main) {
    this.title = "History";
    this.table = h("tbody");
    this.detail = h("div.detail");
    this.none = h("p.none", { hidden: true }, "No finished runs yet.");
    replace(main, h("h1", {}, "History"), h("p.dim", {}, "Durations and silences of past runs. Choose a command to see each run and the limits that its history would teach."),
      h("div.scroll", { tabindex: "0", role: "region", "aria-label": "Commands" }, h("table.history", {}, h("thead", {}, h("tr", {},
        ["Command", "Runs", "Well", "Median", "p95", "Silence", "Timeouts", "Lately"].map((text, i) => h("th", { class: i && i < 7 ? "num" : null, scope: "col" }, text)))), this.table)),
      this.none, this.detail);
    this.load("");
  }

  setFilter(text) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(text), 200);
  }

  async load(text) {
    let found;
    try { found = await get(`/api/history?text=${encodeURIComponent(text)}`); } catch (error) { say(this.none, error.message); this.none.hidden = false; return; }
    this.none.hidden = found.length > 0;
    replace(this.table, found.map((each) => {
      const well = Math.round((100 * each.succeeded) / each.runs);
      return h("tr", {},
        h("td", {}, h("button.command", { onclick: () => this.open(each) }, each.task ?? each.command), h("span.dir", {}, each.cwd)),
        h("td.num", {}, String(each.runs)), h("td.num", { "data-tone": well < 90 ? "bad" : null }, `${well}%`),
        h("td.num", {}, each.succeeded ? duration(each.medianMs) : "–"), h("td.num", {}, each.succeeded ? duration(each.p95Ms) : "–"), h("td.num", {}, duration(each.longestSilenceMs)),
        h("td.num", { "data-tone": each.idleTimeouts + each.hardTimeouts ? "warn" : null }, String(each.idleTimeouts + each.hardTimeouts || "–")),
        h("td", {}, bars(each.recentMs)));
    }));
  }

  async open(each) {
    let found;
    try {
      found = await get(`/api/runs?command=${encodeURIComponent(each.command)}&directory=${encodeURIComponent(each.cwd)}`);
    } catch (error) { replace(this.detail, h("p", {}, error.message)); return; }
    const { runs, learnt, limits } = found;
    const flips = runs.filter((run, i) => i && (run.status === "success") !== (runs[i - 1].status === "success")).length;
    replace(this.detail, h("section.block", { "aria-labelledby": "d-title" }, h("h2", { id: "d-title" }, each.command), h("p.dim", {}, each.cwd),
      h("div.columns", {}, distribution("Durations", runs, "durationMs", learnt.hard, limits.hard), distribution("Longest silence of each run", runs, "silenceMs", learnt.idle, limits.idle)),
      h("p", {}, `${runs.length} runs shown. `, flips ? `It went from well to badly or back ${flips} ${flips === 1 ? "time" : "times"}: ${flips > runs.length / 4 ? "flaky" : "not flaky"}. ` : "",
        learnt.hard ? `Learnt limits: hard ${duration(learnt.hard.ms)} (${learnt.hard.source})${learnt.idle ? `, idle ${duration(learnt.idle.ms)}` : ""}.` : "Too few runs to learn a limit from."),
      h("ol.runs", {}, [...runs].reverse().slice(0, 40).map((run) => h("li", { "data-tone": run.status === "success" ? "good" : run.status === "cancelled" ? "calm" : "bad" },
        h("time", {}, moment(run.startedAtMs)), h("span.num", {}, duration(run.durationMs)), h("span", {}, run.state), run.jobId ? link(`/jobs/${run.jobId}`, run.jobId) : "")))));
    this.detail.scrollIntoView({ block: "start" });
  }
}

function bars(values) {
  const most = Math.max(1, ...values);
  return h("svg.recent", { viewBox: "0 0 120 18", width: 120, height: 18, "aria-hidden": "true" },
    values.map((value, i) => { const high = Math.max(1, (16 * value) / most); return h("rect", { x: i * 3, y: 18 - high, width: 2.2, height: high }); }));
}

// A dot for each run on a scale of time; the limit that would be learnt and that of the newest run as lines. A limit that
// is far away would leave the dots no room: it is named alone.
function distribution(title, runs, field, limit, last) {
  const seen = Math.max(1, limit ? limit.ms : 0, ...runs.map((run) => run[field]));
  const near = last !== null && last.ms <= 4 * seen;
  const most = Math.max(seen, near ? last.ms : 0) * 1.05;
  const wide = 480;
  const dots = runs.map((run, i) => h("circle", { cx: 8 + (run[field] / most) * (wide - 16), cy: 12 + ((i * 7) % 40), r: 3.2,
    class: run.status === "success" ? "run" : "run bad" }, h("title", {}, `${moment(run.startedAtMs)}: ${duration(run[field])}, ${run.state}`)));
  const at = limit ? 8 + (limit.ms / most) * (wide - 16) : 0;
  const label = Math.min(0.86, Math.max(0.14, at / wide)); // below its line, and inside the picture
  return h("figure.spread", {}, h("figcaption", {}, title, last ? h("span.inforce", {}, `limit of the newest run ${duration(last.ms)}${last.source ? ` (${last.source})` : ""}${near ? "" : ", beyond this picture"}`) : null),
    h("svg", { viewBox: `0 0 ${wide} 64`, width: "100%", role: "img", "aria-label": `${title}: up to ${duration(Math.max(0, ...runs.map((run) => run[field])))}` },
      h("line.base", { x1: 0, x2: wide, y1: 60, y2: 60 }), dots, limit ? h("line.limit", { x1: at, x2: at, y1: 0, y2: 60 }) : null,
      near ? h("line.limit.inforce", { x1: 8 + (last.ms / most) * (wide - 16), x2: 8 + (last.ms / most) * (wide - 16), y1: 0, y2: 60 }) : null),
    h("p.scale.dim", {}, h("span", {}, "0"), limit ? h("span.at", { style: { left: `${label * 100}%` } }, `learnt limit ${duration(limit.ms)}`) : "",
      limit && label > 0.7 ? "" : h("span", {}, duration(most))));
}
