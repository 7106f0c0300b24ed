// Elements made of text, never of markup: whatever a name holds, it is shown, not run.

export function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "text") made.textContent = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

// The same, but what has not changed stays as it is, so that a click or the focus is not lost while news come in.
export function renew(parent, ...children) {
  const wanted = children.filter((child) => child !== null && child !== undefined);
  const there = [...parent.childNodes];
  if (there.length === wanted.length && there.every((child, at) => child.isEqualNode(wanted[at]))) return;
  const way = path(parent, document.activeElement);
  parent.replaceChildren(...wanted);
  if (way) way.reduce((at, step) => at?.children[step], parent)?.focus({ preventScroll: true });
}

// Which child of which child of a parent an element is; null if it is not inside.
function path(parent, element) {
  if (!element || element === parent || !parent.contains(element)) return null;
  const steps = [];
  for (let at = element; at !== parent; at = at.parentElement)
    steps.unshift([...at.parentElement.children].indexOf(at));
  return steps;
}

export const byId = (id) => document.getElementById(id);

export function say(text) {
  const place = byId("said");
  if (place.textContent !== text) place.textContent = text;
}

export function choice(label, options, value, onchange) {
  const select = el("select", { onchange: () => onchange(select.value) });
  for (const [key, text] of options) {
    select.append(el("option", { value: key, selected: String(key) === String(value), text }));
  }
  return el("label", {}, label, select);
}

export function toggles(label, options, value, onchange) {
  const group = el("span", { class: "group", role: "group", "aria-label": label });
  for (const [key, text] of options) {
    group.append(
      el("button", { type: "button", "aria-pressed": String(key === value), onclick: () => onchange(key), text }),
    );
  }
  return group;
}
