// Lines over rounds in a box with axes.
import { short } from "./words.js";

const MARGIN = { left: 46, right: 12, top: 28, bottom: 26 };

// Round numbers between two values, a handful of them.
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-6; at += step)
    found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}

// Counts over many sizes: 0 stays 0, each further step is ten times the one before.
export const LOG = { to: (value) => Math.log10(1 + Math.max(0, value)), back: (value) => 10 ** value - 1 };
const PLAIN = { to: (value) => value, back: (value) => value };

export function scales(box, { x, y, log }) {
  const inner = {
    x: box.x + MARGIN.left,
    y: box.y + MARGIN.top,
    width: box.width - MARGIN.left - MARGIN.right,
    height: box.height - MARGIN.top - MARGIN.bottom,
  };
  const map = log ? LOG : PLAIN;
  const [low, high] = [map.to(y[0]), map.to(y[1])];
  return {
    inner,
    atX: (round) => inner.x + ((round - x[0]) / Math.max(1e-9, x[1] - x[0])) * inner.width,
    atY: (value) => inner.y + inner.height - ((map.to(value) - low) / Math.max(1e-9, high - low)) * inner.height,
    round: (place) => x[0] + ((place - inner.x) / inner.width) * (x[1] - x[0]),
  };
}

// series: [{x, y, colour, dash, width, floor: {x, y}}]; marks: [{y, text}]; cursor: a round.
export function chart(pen, box, look, { title, series, x, y, log = false, format = short, cursor, marks = [], dots }) {
  const { inner, atX, atY } = scales(box, { x, y, log });
  pen.text(box.x + 4, box.y + 15, fitted(title, box.width), { fill: look.ink, size: 13, weight: 600 });
  const steps = log ? decades(y[1]) : ticks(y[0], y[1], Math.max(2, Math.floor(inner.height / 34)));
  for (const value of steps) {
    pen.line(inner.x, atY(value), inner.x + inner.width, atY(value), { stroke: look.grid });
    pen.text(inner.x - 7, atY(value), format(value), { fill: look.soft, size: 11, anchor: "end", middle: true });
  }
  for (const round of ticks(x[0], x[1], Math.max(2, Math.floor(inner.width / 90)))) {
    const anchor = atX(round) > inner.x + inner.width - 14 ? "end" : "middle";
    pen.text(atX(round), inner.y + inner.height + 17, short(round), { fill: look.soft, size: 11, anchor });
  }
  pen.line(inner.x, inner.y + inner.height, inner.x + inner.width, inner.y + inner.height, { stroke: look.line });
  for (const mark of marks) {
    if (mark.y > y[1]) continue;
    pen.line(inner.x, atY(mark.y), inner.x + inner.width, atY(mark.y), { stroke: look.ink, dash: [2, 3] });
    pen.text(inner.x + inner.width - 4, atY(mark.y) - 5, mark.text, { fill: look.ink, size: 11, anchor: "end" });
  }
  const clamp = (value) => Math.min(Math.max(value, y[0]), y[1]);
  const points = ({ x: rounds, y: values }) => rounds.map((round, at) => [atX(round), atY(clamp(values[at]))]);
  for (const one of series) {
    if (one.floor?.x.length) {
      pen.path([...points(one), ...points(one.floor).reverse()], { fill: one.colour, opacity: 0.13, close: true });
    }
  }
  for (const one of series) {
    const places = points(one);
    if (places.length === 1) pen.circle(places[0][0], places[0][1], 2.5, { fill: one.colour });
    pen.path(places, { stroke: one.colour, width: one.width ?? 2, dash: one.dash });
  }
  for (const dot of dots ?? []) pen.circle(atX(dot.x), atY(clamp(dot.y)), dot.size ?? 2.4, { fill: dot.colour });
  if (cursor !== undefined && cursor !== null && cursor >= x[0] && cursor <= x[1]) {
    pen.line(atX(cursor), inner.y, atX(cursor), inner.y + inner.height, { stroke: look.ink, opacity: 0.55 });
    for (const one of series) {
      const value = valueAt(one, cursor);
      if (value !== null && !one.quiet)
        pen.circle(atX(cursor), atY(clamp(value)), 3.2, { fill: one.colour, stroke: look.ground, width: 1.2 });
    }
  }
}

// A title, without what comes after its first comma or colon where there is no room.
function fitted(title, width) {
  return title.length <= Math.floor((width - 16) / 6.9) ? title : title.split(/[:,]/)[0];
}

function decades(high) {
  const found = [0];
  for (let value = 1; value <= high * 1.0001; value *= 10) {
    for (const step of high < 200 ? [1, 3] : [1]) if (value * step <= high) found.push(value * step);
  }
  return found;
}

// The value at the last point not after a round.
export function valueAt({ x, y }, round) {
  let low = 0,
    high = x.length - 1,
    found = null;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (x[middle] <= round) {
      found = y[middle];
      low = middle + 1;
    } else high = middle - 1;
  }
  return found;
}
