// Where clients stand: on a circle, or drawn together by mutual trust. The same trust gives the same places.
import { PAIR } from "./pairs.js";

export function circle(count, order) {
  const places = new Array(count);
  order.forEach((client, at) => {
    const angle = (2 * Math.PI * at) / count - Math.PI / 2;
    places[client] = [Math.cos(angle), Math.sin(angle)];
  });
  return places;
}

// One in the middle, the others around it.
export function star(count, middle) {
  const others = Array.from({ length: count }, (_, client) => client).filter((client) => client !== middle);
  const around = circle(
    others.length,
    others.map((_, at) => at),
  );
  const places = new Array(count);
  places[middle] = [0, 0];
  others.forEach((client, at) => (places[client] = around[at]));
  return places;
}

// How much two clients hold together: 1 if each trusts the other, a half if one does, 0 if neither.
function bond(states, count, one, other) {
  const there = states[one * count + other],
    back = states[other * count + one];
  const heard = (there !== PAIR.none) + (back !== PAIR.none);
  return heard ? ((there === PAIR.trusted) + (back === PAIR.trusted)) / heard : 0;
}

// Springs between those who trust each other, everybody pushing everybody away (Fruchterman and Reingold 1991).
// The honest start on the left, the malicious on the right, so that camps part the same way in every round.
export function camps(states, count, bad) {
  const [xs, ys] = start(count, bad);
  const bonds = new Float32Array(count * count);
  let total = 0;
  for (let one = 0; one < count; one++) {
    for (let other = 0; other < one; other++) {
      const held = bond(states, count, one, other);
      bonds[one * count + other] = held;
      total += held;
    }
  }
  const pull = 0.5 / Math.max(2, (2 * total) / count);
  const push = 0.62 / Math.sqrt(count);
  const steps = count <= 60 ? 220 : count <= 120 ? 110 : 50;
  for (let step = 0; step < steps; step++) {
    const heat = 0.09 * (1 - step / steps) + 0.002;
    move(xs, ys, bonds, count, pull, push, heat);
  }
  return fit(xs, ys);
}

function start(count, bad) {
  const xs = new Float64Array(count),
    ys = new Float64Array(count);
  const sides = [[], []];
  for (let client = 0; client < count; client++) sides[bad?.[client] ? 1 : 0].push(client);
  sides.forEach((side, which) => {
    side.forEach((client, at) => {
      const radius = 0.75 * Math.sqrt((at + 0.5) / side.length),
        angle = at * 2.399963;
      const shift = sides[1].length ? (which ? 0.65 : -0.65) : 0;
      xs[client] = shift + radius * Math.cos(angle);
      ys[client] = radius * Math.sin(angle);
    });
  });
  return [xs, ys];
}

function move(xs, ys, bonds, count, pull, push, heat) {
  const dx = new Float64Array(count),
    dy = new Float64Array(count);
  for (let one = 0; one < count; one++) {
    for (let other = 0; other < one; other++) {
      const across = xs[one] - xs[other],
        down = ys[one] - ys[other];
      const far = Math.max(Math.hypot(across, down), 0.01);
      const force = (push * push) / far - bonds[one * count + other] * pull * far;
      const fx = (across / far) * force,
        fy = (down / far) * force;
      dx[one] += fx;
      dy[one] += fy;
      dx[other] -= fx;
      dy[other] -= fy;
    }
  }
  for (let one = 0; one < count; one++) {
    dx[one] -= 0.1 * xs[one];
    dy[one] -= 0.16 * ys[one];
    const size = Math.hypot(dx[one], dy[one]) || 1;
    const step = Math.min(size, heat) / size;
    xs[one] += dx[one] * step;
    ys[one] += dy[one] * step;
  }
}

// Into the square from -1 to 1; neither way is stretched more than half as much again as the other.
function fit(xs, ys) {
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const wide = 2 / Math.max(right - left, 0.01),
    tall = 2 / Math.max(bottom - top, 0.01);
  const [across, down] = [Math.min(wide, 1.5 * tall), Math.min(tall, 1.5 * wide)];
  return Array.from(xs, (x, at) => [(x - (left + right) / 2) * across, (ys[at] - (top + bottom) / 2) * down]);
}
