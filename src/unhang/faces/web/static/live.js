// The connection: an event stream that comes back by itself, and says where it was. What it brings is handed to the page
// that is shown; whether it is there is shown by the banner.

import { setServerTime } from "./format.js";

const LATE = 40000; // without a beat for so long the connection is dead, whatever the browser thinks

export class Stream {
  constructor(address, listeners, onState) {
    this.address = address;
    this.listeners = listeners;
    this.onState = onState;
    this.open();
  }

  open() {
    this.source = new EventSource(this.address);
    this.source.onopen = () => { this.alive(); this.onState(true); };
    this.source.onerror = () => {
      this.onState(false);
      if (this.source.readyState === EventSource.CLOSED) this.again(3000);
    };
    this.source.addEventListener("beat", () => this.alive());
    for (const [name, listener] of Object.entries(this.listeners)) {
      this.source.addEventListener(name, (event) => {
        this.alive();
        this.onState(true);
        const data = JSON.parse(event.data);
        if (data.atMs) setServerTime(data.atMs);
        listener(data, event);
      });
    }
    this.alive();
  }

  alive() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { this.onState(false); this.again(0); }, LATE);
  }

  again(after) {
    this.source.close();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), after);
  }

  close() {
    clearTimeout(this.timer);
    this.source.close();
  }
}

export async function get(path) {
  const answer = await fetch(path, { headers: { Accept: "application/json" } });
  const found = await answer.json().catch(() => ({ error: `the server said ${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(found.error || `the server said ${answer.status}`), { status: answer.status });
  return found;
}

export async function post(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const found = await answer.json().catch(() => ({ error: `the server said ${answer.status}` }));
  if (!answer.ok) throw Object.assign(new Error(found.error || `the server said ${answer.status}`), { status: answer.status });
  return found;
}
