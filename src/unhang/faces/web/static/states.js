// How a state looks, in one place for every page. Its words come from the server (core/wording.py), as everywhere else.

// kind → [glyph, tone]; tones are colours that mean something: act (a person is needed), warn, bad, good, calm.
const ATTENTION = {
  approval: ["⚑", "act"],
  input: ["⚑", "act"],
  warning: ["▲", "warn"],
  stuck: ["◐", "warn"],
  failed: ["✕", "bad"],
  lost: ["✕", "bad"],
};
const RUNNING = {
  starting: ["◌", "calm"],
  warning: ["▲", "warn"],
  stuck: ["◐", "warn"],
  needs_input: ["⚑", "act"],
  needs_approval: ["⚑", "act"],
  waiting: ["⚑", "act"],
  stopping: ["◇", "warn"],
  elsewhere: ["○", "calm"],
  idle: ["○", "calm"],
  unknown: ["?", "warn"],
  queued: ["…", "calm"],
  unreadable: ["✕", "bad"],
};
const ENDED = {
  cancelled: ["–", "calm"],
  failed: ["✕", "bad"],
  timed_out: ["✕", "bad"],
  lost: ["✕", "bad"],
  unreadable: ["✕", "bad"],
};

// [glyph, words, tone]
export function stateOf(entry) {
  const [glyph, tone] = (entry.attention && ATTENTION[entry.attention.kind])
    || (entry.endedAt === null ? RUNNING[entry.phase] || ["●", "good"] : ENDED[entry.phase] || ["✓", "calm"]);
  return [glyph, entry.state, tone];
}

// The colour of an event in a timeline or a list.
export function toneOf(event) {
  if (event.type === "job/exited") return event.phase === "completed" ? "good" : event.phase === "cancelled" ? "calm" : "bad";
  if (event.type === "signal" || event.phase === "timeout") return "bad";
  if (event.phase === "needs_input" || event.phase === "needs_approval") return "act";
  if (["stuck", "warning", "slow", "hung", "gave_up"].includes(event.phase)) return "warn";
  return "calm";
}
