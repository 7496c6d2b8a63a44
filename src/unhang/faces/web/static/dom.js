// Makes elements. Texts become text nodes and never markup, whatever they hold; the page's policy forbids the other way.
// What acts on the text around it (marks of direction, controls) is shown as a character of its own.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "path", "rect", "line", "circle", "text", "polyline", "title"]);

const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function harmless(text) {
  return String(text).replace(ACTING, "\ufffd");
}

// As JSON: the same value, with what would act on the text around it written as its escape.
export function json(value) {
  const escaped = (found) => (`\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return JSON.stringify(value, null, 2).replace(ACTING, escaped);
}

function shown(children) {
  const found = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  return found.map((child) => (child instanceof Node ? child : harmless(child)));
}

export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = SVG_TAGS.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(made.style, value);
    else if (key === "value" || key === "checked" || key === "disabled") made[key] = value;
    else made.setAttribute(key, value === true ? "" : harmless(value));
  }
  made.append(...shown(children));
  return made;
}

// Replaces text only where it differs, so that nothing flickers and a screen reader is not told the same twice.
export function say(element, text) {
  const wanted = harmless(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...shown(children));
}

export function link(href, ...children) {
  return h("a", { href, "data-link": true }, ...children);
}
