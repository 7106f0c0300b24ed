// What is looked at, kept in the address: a link shows the same again.

const PLAIN = {
  view: "",
  run: "",
  round: "",
  compare: "",
  group: "",
  receiver: "",
  sender: "",
  sort: "role",
  over: "",
  layout: "camps",
  hide: "",
  score: "mean",
};

export function read() {
  const query = new URLSearchParams(location.hash.slice(1));
  const state = { ...PLAIN };
  for (const name of Object.keys(PLAIN)) if (query.has(name)) state[name] = query.get(name);
  return state;
}

export function hash(state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) if (name in PLAIN && value !== PLAIN[name]) query.set(name, value);
  return `#${query}`;
}

export function write(state, push) {
  const wanted = hash(state);
  if (wanted === location.hash) return;
  if (push) history.pushState(null, "", wanted);
  else history.replaceState(null, "", wanted);
}
