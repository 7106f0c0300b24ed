// The federation as a graph: at each client's end of a line, what it thinks of the one at the other end.
import { ramp, readable, theme } from "../colours.js";
import { groups } from "../crowd.js";
import { el, renew, say, toggles } from "../dom.js";
import { Figure } from "../figure.js";
import { camps, circle, star } from "../layout.js";
import { diamond, swatch } from "../marks.js";
import { PAIR, dangerous, sorted, totals } from "../pairs.js";
import { MEASURES, cut, history, percent } from "../words.js";

const LINES = 6000; // more pairs than that are drawn for the chosen client only
const MOVE = 260; // milliseconds from one round's places to the next one's

export function create(app) {
  return new Federation(app);
}

class Federation {
  constructor(app) {
    this.app = app;
    this.figure = new Figure({
      label: "The federation",
      draw: (pen, width, height, look) => this.draw(pen, width, height, look),
      height: (width) => Math.min(width * (width < 500 ? 1.05 : 0.78), Math.max(340, innerHeight - 355)),
      pointer: (kind, x, y) => this.point(kind, x, y),
      key: (key) => this.key(key),
    });
    this.controls = el("div", { class: "controls" });
    this.side = el("div", { class: "stack" });
    this.note = el("p", { class: "soft" });
    this.element = el(
      "div",
      { class: "columns" },
      el("section", { class: "card" }, this.controls, this.figure.element, this.note),
      this.side,
    );
    this.places = null;
  }

  title() {
    return "Federation";
  }

  async update() {
    const { app } = this;
    const snap = await app.snapshot();
    if (!snap) return;
    this.snap = snap;
    this.paintControls();
    this.paintSide();
    const bad = app.run.bad;
    if (snap.whole) {
      this.aim(this.places_(snap, bad));
      const found = totals(snap, bad);
      const text =
        `Round ${snap.round}: ${found.trusted} of ${found.heard} neighbours are trusted` +
        (bad.some(Boolean) ? `; honest clients trust malicious ones ${found.danger} times.` : ".");
      this.figure.label(text);
      this.figure.canvas.dataset.round = snap.round;
      const many = found.heard / 2 > LINES;
      this.note.textContent = many
        ? `${text} So many lines are drawn for the chosen client only, and where poison gets in.`
        : text;
    } else {
      this.figure.canvas.dataset.round = snap.round;
      this.note.textContent = `${snap.clients} clients are too many to draw one by one: honest and malicious ones are shown as two groups.`;
      this.figure.render();
    }
  }

  // A peer knows only its own verdicts, so it stands in the middle.
  places_(snap, bad) {
    const { run, state } = this.app,
      own = run.site ? run.names.indexOf(run.site) : -1;
    if (own >= 0) return star(snap.clients, own);
    return state.layout === "circle"
      ? circle(snap.clients, sorted("role", snap, run.names, bad))
      : this.camps(snap, bad);
  }

  // Places by trust, kept for rounds seen before.
  camps(snap, bad) {
    this.kept ??= new Map();
    const key = `${this.app.state.run} ${snap.round} ${snap.stamp ?? ""}`;
    if (!this.kept.has(key)) {
      if (this.kept.size > 600) this.kept.clear();
      this.kept.set(key, camps(snap.states, snap.clients, bad));
    }
    return this.kept.get(key);
  }

  // Go from the places of now to new ones, in a moment.
  aim(target) {
    cancelAnimationFrame(this.frame);
    const from = this.places;
    const still = !from || from.length !== target.length || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) {
      this.places = target;
      return this.figure.render();
    }
    const begun = performance.now();
    const step = (now) => {
      const part = Math.min(1, Math.max(0, (now - begun) / MOVE));
      const eased = part * part * (3 - 2 * part);
      this.places = target.map(([x, y], at) => [
        from[at][0] + (x - from[at][0]) * eased,
        from[at][1] + (y - from[at][1]) * eased,
      ]);
      this.figure.render();
      if (part < 1) this.frame = requestAnimationFrame(step);
    };
    step(begun);
  }

  paintControls() {
    const { state } = this.app;
    if (!this.snap.whole) return renew(this.controls);
    renew(
      this.controls,
      this.app.run.site
        ? null
        : toggles(
            "Places",
            [
              ["camps", "Camps by trust"],
              ["circle", "Circle"],
            ],
            state.layout,
            (layout) => this.app.go({ layout }),
          ),
      toggles(
        "Lines",
        [
          ["", "All lines"],
          ["distrust", "Trust only"],
        ],
        state.hide,
        (hide) => this.app.go({ hide }),
      ),
    );
  }

  paintSide() {
    const { app, snap } = this;
    const figures = app.figuresAt(snap.round);
    const measure = figures["r2.mean"] !== undefined ? "r2" : "accuracy";
    const number = (label, value) =>
      el("div", { class: "number" }, el("b", { text: value }), el("span", { text: label }));
    const knows = app.run.bad.some(Boolean),
      story = history(app.curves?.series ?? {});
    renew(
      this.side,
      el(
        "section",
        { class: "card" },
        el("h3", { text: `Round ${snap.round}` }),
        el(
          "div",
          { class: "numbers" },
          number(`${MEASURES[measure]}${knows ? ", honest" : ""}`, percent(figures[`${measure}.mean`])),
          app.run.site ? null : number("worst client", percent(figures[`${measure}.worst`])),
          number(knows ? "trust in the honest" : "neighbours trusted", percent(figures["trusted.honest"], 0)),
          knows ? number("trust in the malicious", percent(figures["trusted.malicious"], 0)) : null,
        ),
        el("p", { class: "soft", text: story ? `The whole run: ${story}` : "" }),
      ),
      this.chosen(),
      snap.whole ? this.legend(measure, knows) : null,
    );
  }

  legend(measure, knows) {
    const row = (draw, text) => el("div", {}, swatch(draw), el("span", { text }));
    const look = theme();
    return el(
      "section",
      { class: "card" },
      el("h3", { text: "How to read it" }),
      el(
        "div",
        { class: "legend" },
        row((pen) => pen.line(0, 8, 40, 8, { stroke: look.trusted, width: 2.4 }), "trusts, at the truster's end"),
        row((pen) => pen.line(0, 8, 40, 8, { stroke: look.left, width: 1.6, dash: [4, 3] }), "heard, but left out"),
        knows
          ? row((pen) => pen.line(0, 8, 40, 8, { stroke: look.danger, width: 3.4 }), "honest trusts malicious")
          : null,
        row(
          (pen) =>
            [0.1, 0.5, 0.95].forEach((at, place) =>
              pen.circle(7 + 13 * place, 8, 6, { fill: ramp(at), stroke: look.soft }),
            ),
          `client, brighter with ${MEASURES[measure]}`,
        ),
        knows
          ? row((pen) => diamond(pen, 20, 8, 7.5, { fill: ramp(0.1), stroke: look.ink, width: 2 }), "malicious client")
          : null,
      ),
      el("p", { class: "soft" }, "Choose a client or a line with the mouse, or with arrow keys and Enter."),
    );
  }

  // What is known of the chosen client.
  chosen() {
    const { app, snap } = this;
    const at = app.client(app.state.receiver);
    if (at === null || !snap.whole) return null;
    const { names, bad } = app.run;
    const count = (which) => names.reduce((sum, _, other) => sum + (other !== at && which(other)), 0);
    const state = (receiver, sender) => snap.states[receiver * snap.clients + sender];
    const list = [
      ["role", bad.some(Boolean) ? (bad[at] ? "malicious" : "honest") : "unknown"],
      ["score", snap.merit ? percent(snap.merit[at]) : "-"],
      [
        "trusts",
        `${count((other) => state(at, other) === PAIR.trusted)} of ${count((other) => state(at, other) !== PAIR.none)} neighbours`,
      ],
      [
        "trusted by",
        `${count((other) => state(other, at) === PAIR.trusted)} of ${count((other) => state(other, at) !== PAIR.none)}`,
      ],
      ["overwrote", snap.overwritten ? `${snap.overwritten[at]} weights` : null],
    ];
    return el(
      "section",
      { class: "card" },
      el("h3", { text: "Chosen client" }),
      el("h2", { class: "name", title: names[at], text: names[at] }),
      el(
        "dl",
        {},
        ...list
          .filter(([, value]) => value !== null)
          .flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]),
      ),
      el(
        "p",
        {},
        el("button", { type: "button", onclick: () => app.go({ view: "why" }, true) }, "Why does it trust whom?"),
      ),
    );
  }

  draw(pen, width, height, look) {
    if (!this.snap) return;
    if (!this.snap.whole) return groups(pen, width, height, look, this.snap);
    if (!this.places || this.places.length !== this.snap.clients) return;
    const { snap } = this,
      { names, bad } = this.app.run;
    const count = snap.clients;
    const radius = Math.max(4, Math.min(15, (0.33 * Math.min(width, height)) / Math.sqrt(count)));
    const margin = radius + 22;
    const [spanX, spanY] = [width / 2 - margin, height / 2 - margin];
    const stretch = Math.min(spanX, spanY * (this.app.state.layout === "circle" ? 1.6 : 2));
    this.spots = this.places.map(([x, y]) => [width / 2 + x * stretch, height / 2 + y * spanY]);
    const chosen = this.app.client(this.app.state.receiver);
    this.lines(pen, look, chosen, bad, names);
    this.spots.forEach(([x, y], at) => this.node(pen, look, x, y, radius, at, chosen));
  }

  lines(pen, look, chosen, bad, names) {
    const { snap, spots } = this,
      count = snap.clients;
    const many = count * count > 2 * LINES,
      hide = this.app.state.hide === "distrust";
    const halves = [[], [], []];
    for (let receiver = 0; receiver < count; receiver++) {
      for (let sender = 0; sender < count; sender++) {
        const state = snap.states[receiver * count + sender];
        if (receiver === sender || state === PAIR.none) continue;
        const mine = chosen === null || receiver === chosen || sender === chosen;
        const danger = state === PAIR.trusted && dangerous(bad, receiver, sender);
        if (many && !danger && (chosen === null || !mine)) continue;
        if (state === PAIR.distrusted) hide || halves[0].push([receiver, sender, mine]);
        else halves[danger ? 2 : 1].push([receiver, sender, mine]);
      }
    }
    const looks = [
      { stroke: look.left, width: 1, dash: [3, 3] },
      { stroke: look.trusted, width: 1.3 },
      { stroke: look.danger, width: 2 },
    ];
    const drawn = halves[0].length + halves[1].length + halves[2].length;
    const faint = drawn < 150 ? 0.9 : drawn < 900 ? 0.5 : 0.28;
    if (drawn < 150) looks.forEach((one) => (one.width *= 1.5));
    halves.forEach((list, kind) => {
      for (const [receiver, sender, mine] of list) {
        const [x1, y1] = spots[receiver],
          [x2, y2] = spots[sender];
        const opacity = chosen === null ? (kind === 2 ? Math.max(0.42, 1.5 * faint) : faint) : mine ? 0.95 : 0.06;
        const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
        pen.line(x1, y1, mx, my, { ...looks[kind], opacity });
        if (snap.states[sender * count + receiver] === PAIR.none)
          pen.line(mx, my, x2, y2, { ...looks[kind], opacity: opacity / 3 });
      }
    });
  }

  node(pen, look, x, y, radius, at, chosen) {
    const { snap } = this,
      { names, bad } = this.app.run;
    const score = snap.merit ? snap.merit[at] : null;
    const fillColour = score === null || Number.isNaN(score) ? look.none : ramp(score);
    const style = { fill: fillColour, stroke: bad[at] ? look.ink : look.soft, width: bad[at] ? 2 : 1 };
    if (at === chosen) pen.circle(x, y, radius + 6, { stroke: look.accent, width: 2.5 });
    if (bad[at]) diamond(pen, x, y, radius * 1.25, style);
    else pen.circle(x, y, radius, style);
    const name = names[at] ?? String(at);
    if (radius >= 9 && name.length <= 3)
      pen.text(x, y + 0.5, name, {
        fill: readable(fillColour),
        size: Math.min(11, radius * 0.85),
        anchor: "middle",
        middle: true,
        weight: 600,
      });
    else if (snap.clients <= 60 || at === chosen)
      pen.text(x, y + radius + 12, cut(name, 12), { fill: look.soft, size: 10.5, anchor: "middle" });
  }

  // The client at a place, or the half line there: its near end is the receiver.
  find(x, y) {
    if (!this.spots || !this.snap?.whole) return null;
    const far = (at) => Math.hypot(this.spots[at][0] - x, this.spots[at][1] - y);
    const nearest = this.spots.reduce((best, _, at) => (far(at) < far(best) ? at : best), 0);
    if (far(nearest) < 17) return { receiver: nearest };
    const count = this.snap.clients;
    let best = null,
      least = 6;
    for (let receiver = 0; receiver < count; receiver++) {
      for (let sender = 0; sender < count; sender++) {
        if (receiver === sender || this.snap.states[receiver * count + sender] === PAIR.none) continue;
        const away = distance(x, y, this.spots[receiver], this.spots[sender]);
        if (away < least) [best, least] = [{ receiver, sender }, away];
      }
    }
    return best;
  }

  point(kind, x, y) {
    const found = kind === "pointerleave" ? null : this.find(x, y);
    this.figure.canvas.style.cursor = found ? "pointer" : "default";
    if (kind !== "click") return;
    if (!found) return this.app.go({ receiver: "", sender: "" });
    const same = found.sender === undefined && this.app.client(this.app.state.receiver) === found.receiver;
    if (found.sender !== undefined)
      return this.app.go({ view: "why", receiver: String(found.receiver), sender: String(found.sender) }, true);
    this.app.go({ receiver: same ? "" : String(found.receiver), sender: "" });
  }

  key(key) {
    if (!this.snap?.whole) return false;
    const now = this.app.client(this.app.state.receiver);
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (key in steps) {
      const count = this.snap.clients;
      const next = now === null ? 0 : (now + steps[key] + count) % count;
      this.app.go({ receiver: String(next), sender: "" });
      say(`client ${this.app.run.names[next]}${this.app.run.bad[next] ? ", malicious" : ""}`);
      return true;
    }
    if (key === "Enter" && now !== null) {
      this.app.go({ view: "why" }, true);
      return true;
    }
    if (key === "Escape" && now !== null) {
      this.app.go({ receiver: "", sender: "" });
      return true;
    }
    return false;
  }

  csv() {
    return this.snap ? ["trust", { id: this.app.state.run, round: this.snap.round }] : null;
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.figure.close();
  }
}

// How far a place is from the half of a line that touches its first end.
function distance(x, y, [x1, y1], [x2, y2]) {
  const [mx, my] = [(x1 + x2) / 2, (y1 + y2) / 2];
  const size = (mx - x1) ** 2 + (my - y1) ** 2 || 1;
  const part = Math.min(1, Math.max(0, ((x - x1) * (mx - x1) + (y - y1) * (my - y1)) / size));
  return Math.hypot(x - x1 - part * (mx - x1), y - y1 - part * (my - y1));
}
