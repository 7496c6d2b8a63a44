// Who is there, of a fleet: one item a machine. Without a fleet there is nothing to see.

import { h, replace } from "./dom.js";
import { duration, fully, now, parse } from "./format.js";

export class Machines {
  constructor() {
    this.list = h("ul.machines", { "aria-labelledby": "group-machines" });
    this.element = h("section.group", { hidden: true }, h("h2", { id: "group-machines" }, "Machines"), this.list);
  }

  take(machines) {
    this.element.hidden = machines.length === 0;
    replace(this.list, ...machines.map((each) => this.item(each)));
  }

  item(each) {
    const there = each.state === "online";
    const said = there ? [`${each.jobs ?? "?"} jobs`, each.load === null ? "" : `load ${each.load}`, each.version]
      : [each.lastSeen ? `last seen ${duration(now() - parse(each.lastSeen))} ago` : "", each.version];
    return h("li", { "data-tone": there ? "good" : "warn", title: each.lastSeen ? fully(parse(each.lastSeen)) : "" },
      h("span.glyph", { "aria-hidden": "true" }, there ? "●" : "○"), " ",
      h("span.name", {}, each.machine), " ", h("span.dim", {}, [each.state, ...said].filter(Boolean).join(" · ")));
  }
}
