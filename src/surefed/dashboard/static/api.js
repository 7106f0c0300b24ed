// What the server knows, asked for once and kept while it has not changed.

const kept = new Map();
const ROOM = 400;

export function address(path, values) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, one);
  }
  return `${path}?${query}`;
}

// A table; `stamp` is part of what it is kept under, so that a record that has grown is asked for again.
export function ask(path, values, stamp = "") {
  const where = address(path, values);
  const key = `${where} ${stamp}`;
  if (!kept.has(key)) {
    const answer = get(where);
    kept.set(key, answer);
    answer.then((table) => table.problem && kept.delete(key));
    if (kept.size > ROOM) kept.delete(kept.keys().next().value);
  }
  return kept.get(key);
}

async function get(where) {
  try {
    const answer = await fetch(where);
    if (!answer.ok) return { problem: (await answer.text()).slice(0, 300) || `the server answered ${answer.status}` };
    return await answer.json();
  } catch {
    return { problem: "The dashboard's server does not answer. What you see is the last it said." };
  }
}

export const runs = () => get("/api/runs");

// Bytes sent as text, as numbers.
export function numbers(text, kind) {
  if (!text) return null;
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  return kind === Uint8Array ? bytes : new kind(bytes.buffer);
}

export function listen(onchange, onstate) {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => onstate("live"));
  source.addEventListener("error", () => onstate("lost"));
  source.addEventListener("changed", (event) => onchange(JSON.parse(event.data)));
}
