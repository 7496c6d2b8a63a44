// How a state looks and is called, in one place for every page.

// kind → [glyph, word, tone]; tones are colours that mean something: act (a person is needed), warn, bad, good, calm.
const ATTENTION = {
  approval: ["⚑", "needs approval", "act"],
  input: ["⚑", "needs input", "act"],
  warning: ["▲", "ends soon", "warn"],
  stuck: ["◐", "stuck", "warn"],
};
const PHASES = {
  starting: ["◌", "starting", "calm"],
  running: ["●", "running", "good"],
  quiet: ["●", "works quietly", "good"],
  thinking: ["●", "thinking", "good"],
  editing: ["●", "editing", "good"],
  verifying: ["●", "verifying", "good"],
  compacting: ["●", "compacting", "good"],
  metering: ["●", "running", "good"],
  warning: ["▲", "warning", "warn"],
  stuck: ["◐", "stuck", "warn"],
  needs_input: ["⚑", "needs input", "act"],
  needs_approval: ["⚑", "needs approval", "act"],
  stopping: ["◇", "stopping", "warn"],
  elsewhere: ["○", "elsewhere", "calm"],
  unknown: ["?", "unknown", "warn"],
  completed: ["✓", "done", "calm"],
  failed: ["✕", "failed", "bad"],
  timed_out: ["✕", "timed out", "bad"],
  cancelled: ["–", "cancelled", "calm"],
  lost: ["✕", "lost", "bad"],
  unreadable: ["✕", "unreadable", "bad"],
  busy: ["●", "busy", "good"],
  idle: ["○", "idle", "calm"],
  waiting: ["⚑", "waiting", "act"],
  background: ["●", "background", "good"],
  gone: ["✓", "ended", "calm"],
  ended: ["✓", "ended", "calm"],
};

export function stateOf(entry) {
  if (entry.attention) return ATTENTION[entry.attention.kind] || ["⚑", entry.attention.kind, "act"];
  const found = PHASES[entry.phase] || ["●", entry.phase, "calm"];
  if (entry.phase === "failed" && entry.exitCode) return [found[0], `failed (${entry.exitCode})`, found[2]];
  if (entry.phase === "failed" && entry.signal) return [found[0], entry.signal, found[2]];
  return found;
}

// The colour of an event in a timeline or a list.
export function toneOf(event) {
  if (event.type === "job/exited") return event.phase === "completed" ? "good" : event.phase === "cancelled" ? "calm" : "bad";
  if (event.type === "signal" || event.phase === "timeout") return "bad";
  if (event.phase === "needs_input" || event.phase === "needs_approval") return "act";
  if (["stuck", "warning", "slow", "hung", "gave_up"].includes(event.phase)) return "warn";
  return "calm";
}
