// Who trusts whom: a receiver a row, a sender a column.
import { theme, trustRamp } from "../colours.js";
import { ask, numbers } from "../api.js";
import { choice, el, renew, say, toggles } from "../dom.js";
import { Figure } from "../figure.js";
import { FAULT, PAIR, dangerous, sorted } from "../pairs.js";
import { cut, percent, short, weight, who } from "../words.js";
import { diamond, swatch } from "../marks.js";

const SORTS = [
  ["role", "honest, then malicious"],
  ["name", "name"],
  ["trust", "trusted by most"],
  ["score", "score"],
  ["record", "as in the record"],
];

export function create(app) {
  return new Trust(app);
}

class Trust {
  constructor(app) {
    this.app = app;
    this.figure = new Figure({
      label: "Who trusts whom",
      draw: (pen, width, height, look) => this.draw(pen, width, height, look),
      height: (width) => Math.min(width, Math.max(360, innerHeight - 335)),
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
  }

  title() {
    return "Who trusts whom";
  }

  async update() {
    const { app } = this,
      { state } = app;
    const snap = await app.snapshot();
    if (!snap) return;
    let share = null,
      sampled = null;
    if (state.over && snap.whole) {
      const table = await ask("/api/overall", { id: state.run }, app.stampOf(state.run));
      if (table.problem) return app.trouble(table.problem);
      share = numbers(table.share, Float32Array);
      sampled = table.sampled;
      if (share.length !== snap.states.length) share = null;
    }
    Object.assign(this, { snap, share });
    this.order = snap.whole ? sorted(state.sort, snap, app.run.names, app.run.bad) : null;
    if (!snap.whole) renew(this.controls);
    else
      renew(
        this.controls,
        toggles(
          "Rounds",
          [
            ["", `Round ${snap.round}`],
            ["1", "All rounds"],
          ],
          state.over,
          (over) => app.go({ over }),
        ),
        choice("sorted by", SORTS, state.sort, (sort) => app.go({ sort })),
      );
    this.note.textContent = !snap.whole
      ? `${snap.clients} clients are shown in groups of about ${Math.round(snap.clients / snap.blocks.sizes.length)}; colours are shares of neighbours trusted. Sorting and single pairs are for up to 256 clients.`
      : sampled
        ? `Share of ${sampled[0]} snapshots${sampled[0] < sampled[1] ? `, evenly taken of ${sampled[1]},` : ""} in which the row's client trusted the column's.`
        : "Rows hear, columns speak. Choose a cell with the mouse, or with arrow keys and Enter, to see why.";
    this.figure.canvas.dataset.round = snap.round;
    this.figure.label(this.words());
    this.paintSide();
    this.figure.render();
  }

  chosen() {
    const { state } = this.app;
    return [this.app.client(state.receiver), this.app.client(state.sender)];
  }

  words() {
    const [receiver, sender] = this.chosen();
    if (receiver === null || sender === null || !this.snap.whole) return `Who trusts whom in round ${this.snap.round}`;
    const { names } = this.app.run,
      at = receiver * this.snap.clients + sender;
    const state = ["does not hear", "hears but leaves out", "trusts"][this.snap.states[at]];
    return `${who(names[receiver])} ${state} ${who(names[sender])} in round ${this.snap.round}`;
  }

  paintSide() {
    const { app, snap } = this,
      { names, bad, layers, weights } = app.run;
    const look = theme(),
      [receiver, sender] = this.chosen();
    const row = (draw, text) => el("div", {}, swatch(draw), el("span", { text }));
    const box = (colour) => (pen) => pen.rect(8, 1, 24, 14, { fill: colour, stroke: look.line });
    const gradual = this.share || !snap.whole;
    const legend = gradual
      ? [
          row((pen) => {
            for (let at = 0; at < 20; at++) pen.rect(at * 2, 1, 2, 14, { fill: trustRamp(at / 19) });
          }, "never to always trusted"),
        ]
      : [
          row(box(look.trusted), "trusted"),
          row(box(look.distrusted), "heard, but left out"),
          row(box(look.none), "not heard"),
        ];
    if (bad.some(Boolean)) {
      if (!gradual) legend.push(row(box(look.danger), "honest trusts malicious"));
      legend.push(row((pen) => diamond(pen, 20, 8, 6, { fill: look.ink }), "malicious client"));
    }
    let detail = null;
    if (receiver !== null && sender !== null && snap.whole) {
      const at = receiver * snap.clients + sender;
      const list = [
        ["receiver", names[receiver]],
        ["sender", names[sender]],
        ["verdict", ["not heard", "left out", "trusted"][snap.states[at]]],
        ["because", snap.fault?.[at] ? FAULT.words[snap.fault[at]] : null],
        ["heading", snap.heading && snap.states[at] ? snap.heading[at].toFixed(2) : null],
        ["outside", snap.outside ? `${short(snap.outside[at])} of ${short(weights)} weights` : null],
        ["worst weight", snap.worst && snap.states[at] ? weight(layers, snap.worst[at]) : null],
        ["sigmas", snap.sigmas && snap.states[at] ? short(snap.sigmas[at]) : null],
        ["all rounds", this.share ? percent(this.share[at], 0) : null],
      ];
      detail = el(
        "section",
        { class: "card" },
        el("h3", { text: "Chosen pair" }),
        el(
          "dl",
          {},
          ...list
            .filter(([, value]) => value !== null)
            .flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]),
        ),
        el("p", {}, el("button", { type: "button", onclick: () => app.go({ view: "why" }, true) }, "Why?")),
      );
    }
    renew(
      this.side,
      el("section", { class: "card" }, el("h3", { text: "How to read it" }), el("div", { class: "legend" }, ...legend)),
      detail,
    );
  }

  draw(pen, width, height, look) {
    if (!this.snap) return;
    if (!this.snap.whole) return this.drawBlocks(pen, width, height, look);
    const { snap, order } = this,
      { names, bad } = this.app.run;
    const count = snap.clients,
      room = count <= 64 ? Math.min(100, 42 + 6 * Math.max(...names.map((name) => Math.min(10, name.length)))) : 42;
    const size = Math.min((width - room - 8) / count, (height - room - 8) / count);
    this.grid = { left: room, top: room, size };
    const gap = size > 7 ? 1 : 0;
    for (let row = 0; row < count; row++) {
      for (let column = 0; column < count; column++) {
        const [receiver, sender] = [order[row], order[column]];
        pen.rect(room + column * size, room + row * size, size - gap, size - gap, {
          fill: this.colour(receiver, sender, look, bad),
        });
      }
    }
    this.names(pen, look, room, size, count, names, bad);
    this.bars(pen, look, room + count * size + 26, width - 12, room, size, count);
    pen.text(room, 12, "sender →", { fill: look.soft, size: 11 });
    pen.text(12, room, "receiver →", { fill: look.soft, size: 11, turn: 90 });
    const [receiver, sender] = this.chosen();
    const mark = (at, row) =>
      pen.rect(
        row ? room : room + at * size,
        row ? room + at * size : room,
        row ? count * size : size - gap,
        row ? size - gap : count * size,
        { stroke: look.ink, opacity: 0.6 },
      );
    if (receiver !== null) mark(order.indexOf(receiver), true);
    if (sender !== null) mark(order.indexOf(sender), false);
    if (receiver !== null && sender !== null)
      pen.rect(room + order.indexOf(sender) * size - 1, room + order.indexOf(receiver) * size - 1, size + 1, size + 1, {
        stroke: look.ink,
        line: 2.5,
      });
  }

  // Where there is room beside the matrix: of each receiver its score, whom it trusts and who trusts it, as bars.
  bars(pen, look, left, right, top, size, count) {
    const room = (right - left) / 3;
    if (room < 60 || size < 5) return;
    const { snap } = this,
      others = (client) => this.order.filter((other) => other !== client);
    const part = (at) => (this.share ? this.share[at] : [NaN, 0, 1][snap.states[at]]);
    const mean = (places) => {
      const known = places.map(part).filter((value) => !Number.isNaN(value));
      return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
    };
    const columns = [
      ["score", (client) => (snap.merit ? snap.merit[client] : null), look.soft],
      ["trusts", (client) => mean(others(client).map((other) => client * count + other)), look.trusted],
      ["trusted by", (client) => mean(others(client).map((other) => other * count + client)), look.trusted],
    ];
    columns.forEach(([title, value, colour], at) => {
      const x = left + at * room,
        wide = room - 16;
      pen.text(x, top - 13, title, { fill: look.soft, size: 11 });
      this.order.forEach((client, row) => {
        const long = value(client);
        pen.rect(x, top + row * size + size * 0.2, wide, size * 0.55, { fill: look.none });
        if (long !== null)
          pen.rect(x, top + row * size + size * 0.2, wide * Math.min(1, Math.max(0, long)), size * 0.55, {
            fill: colour,
          });
      });
    });
  }

  colour(receiver, sender, look, bad) {
    const at = receiver * this.snap.clients + sender;
    if (this.share) return Number.isNaN(this.share[at]) ? look.none : trustRamp(this.share[at]);
    const state = this.snap.states[at];
    if (state === PAIR.trusted) return dangerous(bad, receiver, sender) ? look.danger : look.trusted;
    return state === PAIR.distrusted ? look.distrusted : look.none;
  }

  names(pen, look, room, size, count, names, bad) {
    const letters = Math.max(2, Math.floor((room - 24) / 6));
    this.order.forEach((client, at) => {
      const middle = at * size + room + size / 2;
      if (bad[client]) {
        const mark = Math.min(4, Math.max(1.5, size * 0.36));
        diamond(pen, middle, room - 6, mark, { fill: look.ink });
        diamond(pen, room - 6, middle, mark, { fill: look.ink });
      }
      if (size < 11) return;
      const style = {
        fill: bad[client] ? look.ink : look.soft,
        size: Math.min(11, size * 0.85),
        weight: bad[client] ? 650 : 400,
      };
      pen.text(room - 13, middle, cut(names[client] ?? "", letters), { ...style, anchor: "end", middle: true });
      const text = cut(names[client] ?? "", letters);
      if (text.length * 6.2 < size) pen.text(middle, room - 13, text, { ...style, anchor: "middle" });
      else pen.text(middle + 3, room - 13, text, { ...style, turn: -90 });
    });
  }

  drawBlocks(pen, width, height, look) {
    const { roles, edges, trusted } = this.snap.blocks;
    const count = roles.length,
      room = 30,
      size = Math.max(2, Math.floor(Math.min((width - room) / count, (height - room) / count)));
    for (let row = 0; row < count; row++) {
      for (let column = 0; column < count; column++) {
        const heard = edges[row][column];
        pen.rect(room + column * size, room + row * size, size, size, {
          fill: heard ? trustRamp(trusted[row][column] / heard) : look.none,
        });
      }
    }
    roles.forEach((role, at) => {
      if (!role) return;
      diamond(pen, room + (at + 0.5) * size, room - 6, Math.min(4, size * 0.4), { fill: look.ink });
      diamond(pen, room - 6, room + (at + 0.5) * size, Math.min(4, size * 0.4), { fill: look.ink });
    });
    pen.text(room, 12, "groups of senders →", { fill: look.soft, size: 11 });
    pen.text(12, room, "groups of receivers →", { fill: look.soft, size: 11, turn: 90 });
  }

  cell(x, y) {
    if (!this.grid || !this.snap?.whole) return null;
    const { left, top, size } = this.grid;
    const [column, row] = [Math.floor((x - left) / size), Math.floor((y - top) / size)];
    const count = this.snap.clients;
    if (row < 0 || column < 0 || row >= count || column >= count) return null;
    return [this.order[row], this.order[column]];
  }

  point(kind, x, y) {
    const cell = kind === "pointerleave" ? null : this.cell(x, y);
    this.figure.canvas.style.cursor = cell ? "pointer" : "default";
    if (kind !== "click" || !cell) return;
    const [receiver, sender] = this.chosen();
    const again = cell[0] === receiver && cell[1] === sender;
    this.app.go({ receiver: String(cell[0]), sender: String(cell[1]), ...(again ? { view: "why" } : {}) }, again);
  }

  key(key) {
    if (!this.snap?.whole) return false;
    const steps = { ArrowRight: [0, 1], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowUp: [-1, 0] };
    const [receiver, sender] = this.chosen();
    if (key in steps) {
      const place = (client) => (client === null ? null : this.order.indexOf(client));
      const count = this.snap.clients,
        [down, across] = steps[key];
      const move = (at, by) => (at === null ? 0 : Math.min(count - 1, Math.max(0, at + by)));
      this.app.go({
        receiver: String(this.order[move(place(receiver), down)]),
        sender: String(this.order[move(place(sender), across)]),
      });
      say(this.words());
      return true;
    }
    if (key === "Enter" && receiver !== null && sender !== null) {
      this.app.go({ view: "why" }, true);
      return true;
    }
    return false;
  }

  csv() {
    return this.snap ? ["trust", { id: this.app.state.run, round: this.snap.round }] : null;
  }

  close() {
    this.figure.close();
  }
}
