// Which page is shown, the keys, light and dark, and what the title and the icon say.

import { h, harmless, replace, say } from "./dom.js";
import { HistoryPage } from "./history.js";
import { JobPage } from "./job.js";
import { Stream } from "./live.js";
import { Now } from "./now.js";
import { SessionPage } from "./session.js";

const main = document.getElementById("main");
const filter = document.getElementById("filter");
const KEYS = [
  ["j  k", "the next or the previous job"], ["Enter", "open it"], ["a", "answer it"], ["e", "10 more minutes"],
  ["w", "why: what it waits for"], ["c", "end it (asks first)"], ["r", "start it again"], ["s", "seen: it needs you no more"], ["/", "filter, or search the output"], ["n  h", "Now, History"], ["Esc", "back"],
  ["t", "light or dark"], ["?", "these keys"],
];

let page = null;
let stream = null;

function online(there) {
  const banner = document.getElementById("offline");
  clearTimeout(online.timer);
  if (there) banner.hidden = true;
  else online.timer = setTimeout(() => { banner.hidden = false; }, 1500); // a restart of the server is no news
}

function counted(counts) {
  const parts = [];
  if (counts.attention) parts.push(`${counts.attention} ${counts.attention === 1 ? "needs" : "need"} you`);
  parts.push(`${counts.running} running`);
  if (counts.stuck) parts.push(`${counts.stuck} stuck`);
  const shown = document.getElementById("counts");
  say(shown, parts.join(" · "));
  shown.dataset.needs = counts.attention ? "yes" : "no";
  document.title = harmless(`${counts.attention ? `(${counts.attention}) ` : ""}${page && page.title ? `${page.title} · ` : ""}unhang`);
  const icon = counts.attention ? "/static/icon-attention.svg" : "/static/icon.svg";
  const element = document.getElementById("icon");
  if (element.getAttribute("href") !== icon) element.setAttribute("href", icon);
}

function show() {
  page?.close?.();
  stream?.close();
  const path = location.pathname;
  const [, kind, id] = path.split("/");
  for (const each of document.querySelectorAll("nav a")) {
    if (each.getAttribute("href") === path) each.setAttribute("aria-current", "page");
    else each.removeAttribute("aria-current");
  }
  filter.hidden = kind === "jobs" || kind === "sessions";
  filter.value = "";
  let address = "/api/stream";
  let listeners = { overview: (message) => { page.take?.(message); counted(message.counts); } };
  if (kind === "jobs") {
    page = new JobPage(main, id, () => {
      stream.close(); // there is nothing to follow; the other jobs are still counted
      stream = new Stream("/api/stream", { overview: (message) => counted(message.counts) }, online);
    });
    address = `/api/jobs/${id}/stream`;
    listeners = {
      job: (message) => { page.takeEntry(message.entry); counted(message.counts); },
      event: (event) => page.takeEvent(event),
    };
  } else if (kind === "sessions") page = new SessionPage(main, id);
  else if (kind === "history") page = new HistoryPage(main);
  else page = new Now(main);
  stream = new Stream(address, listeners, online);
  window.scrollTo(0, 0);
}

export function go(href) {
  history.pushState(null, "", href);
  show();
  main.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  const found = event.target.closest?.("a[data-link]");
  if (!found || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(found.getAttribute("href"));
});
window.addEventListener("popstate", show);
filter.addEventListener("input", () => page?.setFilter?.(filter.value));
filter.addEventListener("keydown", (event) => { if (event.key === "Enter") page?.focusFirst?.(); });

function theme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("theme", document.documentElement.dataset.theme); } catch { /* a private window */ }
}
try {
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
} catch { /* a private window */ }
document.getElementById("theme").addEventListener("click", theme);

function keys() {
  const dialog = document.getElementById("keys");
  replace(dialog, h("h2", { id: "keys-title" }, "Keys"),
    h("dl.keys", {}, KEYS.map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")));
  dialog.showModal();
}
document.getElementById("help").addEventListener("click", keys);

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches?.("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    if (typing) { event.target.value = ""; event.target.dispatchEvent(new Event("input")); event.target.blur(); }
    else if (location.pathname !== "/") go("/");
    return;
  }
  if (typing) return;
  const acts = { t: theme, "?": keys, n: () => go("/"), h: () => go("/history") };
  if (page?.key?.(event)) event.preventDefault();
  else if (event.key === "/" && !filter.hidden) { event.preventDefault(); filter.focus(); }
  else if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
});

show();
