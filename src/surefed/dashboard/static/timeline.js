// The time slider: steps, play, and above it what happened when.
import { theme } from "./colours.js";
import { byId, el, fill } from "./dom.js";
import { CanvasPen } from "./pen.js";

const FRAME = 110; // milliseconds a step when playing
const LENGTH = 160; // steps that a whole play takes at most
const TALL = 48; // pixels
const THUMB = 8; // half of the slider's thumb, by which its ends are inset

export class Timeline {
  constructor(onchange) {
    this.onchange = onchange;
    this.rounds = [];
    this.place = byId("timeline");
    this.range = el("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      "aria-label": "Round",
      oninput: () => this.go(Number(this.range.value)),
    });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.button = el(
      "button",
      { type: "button", class: "main", onclick: () => this.play(), title: "Play (space)" },
      "Play",
    );
    const step = (text, title, by) =>
      el("button", { type: "button", title, "aria-label": title, onclick: () => this.step(by), text });
    this.where = el("div", { class: "where" });
    fill(
      this.place,
      el(
        "div",
        { class: "inner" },
        el(
          "div",
          { class: "buttons" },
          step("|◀", "First round", -Infinity),
          step("◀", "One step back", -1),
          this.button,
          step("▶", "One step on", 1),
          step("▶|", "Last round", Infinity),
        ),
        el("div", { class: "track" }, this.canvas, this.range),
        this.where,
      ),
    );
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  // rounds: those with a snapshot; round: the chosen one; curves: what to draw above.
  update({ rounds, round, planned, curves, follows }) {
    const shown = rounds.length > 0;
    this.place.hidden = !shown;
    if (!shown) return this.stop();
    Object.assign(this, { rounds, round, planned, curves });
    const at = Math.max(0, rounds.indexOf(round));
    this.range.max = rounds.length - 1;
    this.range.value = at;
    this.range.setAttribute("aria-valuetext", `round ${round} of ${planned ?? rounds.at(-1)}`);
    fill(
      this.where,
      el("b", { text: String(round) }),
      ` / ${planned ?? rounds.at(-1)}`,
      el("div", { class: "soft", text: follows ? "newest" : "round" }),
    );
    this.paint();
  }

  at() {
    return Number(this.range.value);
  }

  go(at) {
    const place = Math.min(Math.max(at, 0), this.rounds.length - 1);
    this.range.value = place;
    this.onchange(this.rounds[place], place === this.rounds.length - 1);
  }

  step(by) {
    if (this.place.hidden) return;
    this.stop();
    this.go(this.at() + by);
  }

  play() {
    if (this.timer) return this.stop();
    if (this.place.hidden) return;
    if (this.at() >= this.rounds.length - 1) this.go(0);
    this.button.textContent = "Pause";
    const stride = Math.max(1, Math.round(this.rounds.length / LENGTH));
    this.timer = setInterval(() => {
      if (this.at() >= this.rounds.length - 1) return this.stop();
      this.go(this.at() + stride);
    }, FRAME);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "Play";
  }

  paint() {
    const width = this.canvas.clientWidth,
      height = TALL,
      scale = devicePixelRatio || 1;
    if (!width || !this.rounds.length) return;
    Object.assign(this.canvas, { width: Math.round(width * scale), height: Math.round(height * scale) });
    const context = this.canvas.getContext("2d"),
      look = theme();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const pen = new CanvasPen(context);
    const atX = (round) => THUMB + this.fraction(round) * (width - 2 * THUMB);
    const atY = (share) => height - 4 - Math.min(Math.max(share, 0), 1) * (height - 22);
    pen.line(THUMB, atY(0), width - THUMB, atY(0), { stroke: look.line });
    const drawn = [
      ["trusted.malicious", look.runs[1], [4, 3], "malicious neighbours trusted"],
      ["accuracy.mean", look.runs[0], undefined, "accuracy"],
      ["r2.mean", look.runs[0], undefined, "R2"],
    ];
    let left = THUMB;
    for (const [name, colour, dash, title] of drawn) {
      const one = this.curves?.series?.[name];
      if (!one?.x.length) continue;
      pen.path(
        one.x.map((round, at) => [atX(round), atY(one.y[at])]),
        { stroke: colour, width: 1.6, dash },
      );
      pen.line(left, 6, left + 16, 6, { stroke: colour, width: 2, dash });
      pen.text(left + 21, 6, title, { fill: look.soft, size: 10.5, middle: true });
      left += 36 + title.length * 5.6;
    }
    pen.line(atX(this.round), 14, atX(this.round), height, { stroke: look.ink, opacity: 0.6 });
  }

  // How far along the slider a round is; between two snapshots, between their places.
  fraction(round) {
    const list = this.rounds;
    if (list.length < 2 || round <= list[0]) return 0;
    if (round >= list.at(-1)) return 1;
    let low = 0,
      high = list.length - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (list[middle] <= round) low = middle;
      else high = middle;
    }
    return (low + (round - list[low]) / (list[high] - list[low])) / (list.length - 1);
  }
}
