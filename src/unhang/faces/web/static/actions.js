// What the buttons do. Each says what came of it; an end is asked for twice, since it cannot be taken back.

import { h, replace } from "./dom.js";
import { post } from "./live.js";

export function toast(text, bad = false) {
  const made = h("p.toast", { class: bad ? "toast bad" : "toast" }, text);
  document.getElementById("toasts").append(made);
  setTimeout(() => made.remove(), bad ? 9000 : 4000);
}

async function act(entry, what, body, said) {
  try {
    const found = await post(`/api/jobs/${entry.id}/${what}`, body);
    if (said) toast(said);
    return found;
  } catch (error) {
    toast(error.message, true);
    return null;
  }
}

export function called(entry) {
  return entry.name || entry.command.split(" ").slice(0, 3).join(" ");
}

// Ten more minutes of what ends it next: of silence or in all.
export function extend(entry) {
  const limit = entry.clocks.length ? entry.clocks[0].name : "idle";
  return act(entry, "extend", { [limit]: "10m" }, `${called(entry)}: 10 more minutes (${limit})`);
}

// `question`: since when it asks what is answered; the server sends nothing to a job that asks something else by now.
export function answer(entry, text, question) {
  return act(entry, "send", { text, question }, `${called(entry)}: sent`);
}

// What each of its processes waits for, on the page of the job.
export function why(entry) {
  history.pushState(null, "", `/jobs/${entry.id}#why`);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

export function isSilent(entry) {
  if (["input", "approval"].includes(entry.attention?.kind)) return false; // it waits for a person, as everybody can see
  return ["quiet", "stuck", "warning"].includes(entry.phase) || ["stuck", "warning"].includes(entry.attention?.kind);
}

// It ended badly, and no person has looked at it since.
export function isUnseen(entry) {
  return ["failed", "lost"].includes(entry.attention?.kind);
}

export function seen(entry) {
  return act(entry, "seen", {}, null);
}

export function cancel(entry) {
  confirm(`End ${called(entry)}?`, "It is asked politely (SIGTERM), then insisted upon. Its output is kept.", "End it", () =>
    act(entry, "cancel", {}, `${called(entry)}: is being ended`));
}

export async function restart(entry) {
  const go = async () => {
    const found = await act(entry, "restart", {}, `${called(entry)}: started again`);
    if (found && location.pathname !== "/") {
      history.pushState(null, "", `/jobs/${found.jobId}`);
      window.dispatchEvent(new PopStateEvent("popstate"));
    }
  };
  if (entry.endedAt === null) confirm(`Restart ${called(entry)}?`, "It is ended first, then started again.", "Restart it", go);
  else await go();
}

function confirm(title, text, yes, go) {
  const dialog = document.getElementById("confirm");
  replace(dialog,
    h("h2", { id: "confirm-title" }, title),
    h("p", {}, text),
    h("form", { method: "dialog" },
      h("button", { value: "no" }, "Keep it"),
      h("button.danger", { value: "yes", autofocus: true, onclick: go }, yes)));
  dialog.showModal();
}

// Buttons are made anew only where these words differ.
export function actsKey(entry) {
  return `${entry.endedAt === null} ${entry.clocks.length > 0} ${entry.status} ${isSilent(entry)} ${isUnseen(entry)}`;
}

// `holder.entry` is what the button acts on when it is pressed, which may be newer than what it was made for.
export function buttons(holder) {
  const { entry } = holder;
  const running = entry.endedAt === null && entry.status === "running";
  const found = [];
  if (entry.kind === "session") return found;
  if (running && entry.clocks.length) {
    found.push(h("button", { onclick: () => extend(holder.entry), title: "10 more minutes before it is ended (e)", "data-act": "extend" }, "+10m"));
  }
  if (running && (holder.why || isSilent(entry))) {
    found.push(h("button", { onclick: () => (holder.why ? holder.why() : why(holder.entry)), title: "What it waits for (w)", "data-act": "why" }, "Why"));
  }
  if (running) found.push(h("button.quiet", { onclick: () => cancel(holder.entry), title: "End it (c)", "data-act": "cancel" }, "Cancel"));
  else if (isUnseen(entry)) found.push(h("button", { onclick: () => seen(holder.entry), title: "It was looked at, and needs you no more (s)", "data-act": "seen" }, "Seen"));
  if (!running && !entry.id.includes("@")) found.push(h("button.quiet", { onclick: () => restart(holder.entry), title: "Start it again (r)", "data-act": "restart" }, "Restart"));
  return found;
}

// A box, or yes and no, where a job waits for a person.
export function answering(holder) {
  const { entry } = holder;
  const needs = entry.attention;
  if (!needs || !entry.answerable) return null;
  if (needs.kind === "approval") {
    let sent = false; // a second click must not answer the next question
    const reply = async (text) => {
      if (sent) return;
      sent = true;
      sent = await answer(entry, text, entry.needsInput?.since) !== null;
    };
    return h("span.answer", {},
      h("button.primary", { onclick: () => reply("yes"), "data-act": "yes" }, "Yes"),
      h("button", { onclick: () => reply("no"), "data-act": "no" }, "No"));
  }
  if (needs.kind !== "input") return null;
  const secret = entry.needsInput && entry.needsInput.password;
  const box = h("input", {
    type: secret ? "password" : "text", "aria-label": `Answer for ${called(entry)}`, autocomplete: "off", spellcheck: "false",
    placeholder: "answer", "data-act": "answer",
  });
  return h("form.answer", { onsubmit: async (event) => {
    event.preventDefault();
    const text = box.value;
    box.value = "";
    if (await answer(entry, text, entry.needsInput?.since) === null && !box.value) box.value = text; // it was not sent
  } }, box, h("button.primary", { type: "submit" }, "Send"));
}
