// Colours of a terminal → spans with classes. The server has left only sequences that set colours; everything else is text.

const SEQUENCE = /\u001b\[([0-9;:]*)m/g;

export class Colours {
  constructor() {
    this.reset();
  }

  reset() {
    this.fore = this.back = "";
    this.bold = this.dim = this.italic = this.under = this.inverse = false;
  }

  // Nodes for one row; what is set goes on in the next.
  row(text) {
    const nodes = [];
    let at = 0;
    for (const found of text.matchAll(SEQUENCE)) {
      this.push(nodes, text.slice(at, found.index));
      this.set(found[1]);
      at = found.index + found[0].length;
    }
    this.push(nodes, text.slice(at));
    return nodes;
  }

  push(nodes, text) {
    if (!text) return;
    const classes = [];
    const [fore, back] = this.inverse ? [this.back || "x", this.fore || "y"] : [this.fore, this.back];
    if (fore) classes.push(`f${fore}`);
    if (back) classes.push(`b${back}`);
    for (const name of ["bold", "dim", "italic", "under"]) if (this[name]) classes.push(name);
    if (!classes.length) { nodes.push(document.createTextNode(text)); return; }
    const span = document.createElement("span");
    span.className = classes.join(" ");
    span.textContent = text;
    nodes.push(span);
  }

  set(numbers) {
    const codes = numbers.split(/[;:]/).map(Number);
    for (let i = 0; i < codes.length; i += 1) {
      const code = codes[i];
      if (code === 0) this.reset();
      else if (code === 1) this.bold = true;
      else if (code === 2) this.dim = true;
      else if (code === 3) this.italic = true;
      else if (code === 4) this.under = true;
      else if (code === 7) this.inverse = true;
      else if (code === 22) this.bold = this.dim = false;
      else if (code === 23) this.italic = false;
      else if (code === 24) this.under = false;
      else if (code === 27) this.inverse = false;
      else if (code >= 30 && code <= 37) this.fore = String(code - 30);
      else if (code === 39) this.fore = "";
      else if (code >= 40 && code <= 47) this.back = String(code - 40);
      else if (code === 49) this.back = "";
      else if (code >= 90 && code <= 97) this.fore = String(code - 82);
      else if (code >= 100 && code <= 107) this.back = String(code - 92);
      else if (code === 38 || code === 48) {
        const near = codes[i + 1] === 5 ? nearest256(codes[i + 2]) : nearest(codes[i + 2], codes[i + 3], codes[i + 4]);
        if (code === 38) this.fore = near;
        else this.back = near;
        i += codes[i + 1] === 5 ? 2 : 4;
      }
    }
  }
}

// The sixteen colours of the page fit light and dark; any other is shown as the one that comes nearest.
function nearest256(number) {
  if (!(number >= 0)) return "";
  if (number < 16) return String(number);
  if (number >= 232) return number < 244 ? "8" : "7";
  const n = number - 16;
  return nearest(Math.floor(n / 36) * 51, (Math.floor(n / 6) % 6) * 51, (n % 6) * 51);
}

function nearest(red, green, blue) {
  const most = Math.max(red, green, blue);
  if (!(most >= 0)) return "";
  if (most < 60) return "8";
  const bits = (red > most * 0.6 ? 1 : 0) + (green > most * 0.6 ? 2 : 0) + (blue > most * 0.6 ? 4 : 0);
  return String(bits + (most > 200 && bits !== 7 ? 8 : 0));
}
