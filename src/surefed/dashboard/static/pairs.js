// A round's snapshot, unpacked: who trusted whom.
import { numbers } from "./api.js";

// Why a sender was left out, by number, in a word for tables.
export const FAULT = {
  way: 1,
  against: 2,
  outside: 3,
  ahead: 4,
  camp: 5,
  words: ["", "another way", "pushes against", "outside", "far ahead", "another camp"],
};
export const PAIR = { none: 0, distrusted: 1, trusted: 2 };

export function unpack(table) {
  if (!table.whole) return table;
  return {
    ...table,
    states: numbers(table.states, Uint8Array),
    outside: numbers(table.outside, Float32Array),
    worst: numbers(table.worst, Int32Array),
    sigmas: numbers(table.sigmas, Float32Array),
    heading: numbers(table.heading, Float32Array),
    fault: numbers(table.fault, Uint8Array),
    merit: numbers(table.merit, Float32Array),
    overwritten: numbers(table.overwritten, Float32Array),
  };
}

// Whether an honest client trusts a malicious one: the way poison comes in.
export const dangerous = (bad, receiver, sender) => Boolean(bad[sender] && !bad[receiver]);

export function totals({ states, clients }, bad) {
  const found = { trusted: 0, heard: 0, danger: 0 };
  for (let receiver = 0; receiver < clients; receiver++) {
    for (let sender = 0; sender < clients; sender++) {
      const state = states[receiver * clients + sender];
      if (receiver === sender || state === PAIR.none) continue;
      found.heard++;
      if (state === PAIR.trusted) {
        found.trusted++;
        if (dangerous(bad, receiver, sender)) found.danger++;
      }
    }
  }
  return found;
}

// An order of clients to show them in.
export function sorted(kind, snap, names, bad) {
  const order = names.map((_, at) => at);
  const natural = (one, other) => one - other;
  const trust = (client) => {
    let count = 0;
    for (let receiver = 0; receiver < snap.clients; receiver++)
      count += snap.states[receiver * snap.clients + client] === PAIR.trusted;
    return count;
  };
  if (kind === "name")
    return order.sort((one, other) => names[one].localeCompare(names[other], undefined, { numeric: true }));
  if (kind === "trust" && snap?.states) {
    const counts = order.map(trust);
    return order.sort((one, other) => counts[other] - counts[one] || natural(one, other));
  }
  if (kind === "score" && snap?.merit)
    return order.sort((one, other) => snap.merit[other] - snap.merit[one] || natural(one, other));
  if (kind === "role")
    return order.sort((one, other) => (bad[one] ? 1 : 0) - (bad[other] ? 1 : 0) || natural(one, other));
  return order;
}
