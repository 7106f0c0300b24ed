// Why one client trusts another or not: whether it goes the same way, how many weights lie outside its band, and where.
import { ask } from "../api.js";
import { chart } from "../chart.js";
import { choice, el, renew } from "../dom.js";
import { Figure } from "../figure.js";
import { FAULT, PAIR } from "../pairs.js";
import { cut, percent, short, weight, who } from "../words.js";

export function create(app) {
  return new Why(app);
}

class Why {
  constructor(app) {
    this.app = app;
    this.figure = new Figure({
      label: "One pair over the rounds",
      draw: (pen, width, height, look) => this.draw(pen, width, height, look),
      height: (width) => (width > 560 ? 470 : 540) + (this.headed() ? 150 : 0) + 22 * this.layers().length,
    });
    this.controls = el("div", { class: "controls" });
    this.story = el("p", { class: "story" });
    this.note = el("p", { class: "soft" });
    this.table = el("div", { class: "scroll" });
    this.worst = el("div", { class: "scroll" });
    this.element = el(
      "div",
      { class: "columns" },
      el("section", { class: "card" }, this.controls, this.story, this.figure.element, this.note),
      el(
        "div",
        { class: "stack" },
        el("section", { class: "card" }, (this.heading = el("h3")), this.table),
        el("section", { class: "card" }, el("h3", { text: "Its worst weights over the rounds" }), this.worst),
      ),
    );
  }

  title() {
    return "Why";
  }

  // The layers that are drawn: none where no weight was ever outside, and headings tell the story.
  layers() {
    const all = this.told?.layers.slice(0, 8) ?? [];
    return this.headed() && !all.some((layer) => layer.rounds) ? [] : all;
  }

  // Whether the rule looks at headings.
  headed() {
    return Boolean(this.told?.heading.some((value) => value !== null));
  }

  // The pair asked about: that in the address, else an honest client and the neighbour furthest outside its band.
  pair(snap) {
    const { app } = this,
      { names, bad } = app.run;
    let receiver = app.client(app.state.receiver);
    const own = app.run.site ? names.indexOf(app.run.site) : -1;
    if (receiver === null)
      receiver =
        own >= 0
          ? own
          : Math.max(
              0,
              bad.findIndex((one) => !one),
            );
    let sender = app.client(app.state.sender);
    if (sender === null && snap.whole) {
      const others = names
        .map((_, at) => at)
        .filter((at) => at !== receiver && snap.states[receiver * snap.clients + at]);
      const far = (at) => {
        const cell = receiver * snap.clients + at;
        return (snap.outside ? snap.outside[cell] : 0) + (snap.fault?.[cell] ? 1e9 : 0);
      };
      sender = others.reduce((best, at) => (best === null || far(at) > far(best) ? at : best), null);
    }
    return [receiver, sender ?? (receiver ? 0 : Math.min(1, names.length - 1))];
  }

  async update() {
    const { app } = this;
    const snap = await app.snapshot();
    if (!snap) return;
    const [receiver, sender] = this.pair(snap);
    const told = await ask("/api/edge", { id: app.state.run, receiver, sender }, app.stampOf(app.state.run));
    if (told.problem) return app.trouble(told.problem);
    Object.assign(this, { snap, told, receiver, sender });
    this.paintControls();
    this.story.textContent = this.words();
    this.note.textContent =
      told.sampled[0] < told.sampled[1]
        ? `Drawn from ${told.sampled[0]} snapshots, evenly taken of ${told.sampled[1]}. The CSV has all of them.`
        : `Every snapshot is drawn (${told.sampled[0]}).`;
    this.paintNeighbours();
    this.paintWorst();
    this.figure.canvas.dataset.round = snap.round;
    this.figure.label(this.words());
    this.figure.render();
  }

  paintControls() {
    const { app } = this,
      { names, bad } = app.run;
    if (names.length > 1000) {
      const field = (label, key, value) => {
        const input = el("input", {
          type: "text",
          size: 6,
          value,
          inputmode: "numeric",
          onchange: () => app.go({ [key]: input.value }),
        });
        return el("label", {}, label, input);
      };
      return renew(
        this.controls,
        field("receiver no.", "receiver", this.receiver),
        field("sender no.", "sender", this.sender),
      );
    }
    const options = names.map((name, at) => [at, `${cut(name, 40)}${bad[at] ? " ◆" : ""}`]);
    renew(
      this.controls,
      choice("Does", options, this.receiver, (receiver) => app.go({ receiver, sender: String(this.sender) })),
      choice("trust", options, this.sender, (sender) => app.go({ receiver: String(this.receiver), sender })),
    );
  }

  // How the pair stands in the chosen round, in a sentence.
  words() {
    const { snap, told, receiver, sender } = this,
      { names, weights, layers } = this.app.run;
    let at = told.round.indexOf(snap.round);
    if (at < 0) at = told.round.length - 1;
    const line = { state: told.state[at] };
    for (const name of ["outside", "worst", "sigmas", "heading", "fault"])
      line[name] = snap.whole ? snap[name]?.[receiver * snap.clients + sender] : told[name][at];
    if (snap.whole) line.state = snap.states[receiver * snap.clients + sender];
    const [one, other] = [receiver, sender].map((at) => who(names[at] ?? String(at)));
    const opening = `In round ${snap.round}, ${one}`;
    if (line.state === PAIR.none || line.state === undefined) return `${opening} does not hear ${other}.`;
    const verdict = line.state === PAIR.trusted ? `${opening} trusts ${other}` : `${opening} leaves ${other} out`;
    if (line.outside === null || line.outside === undefined || Number.isNaN(line.outside))
      return `${verdict}. This rule does not say which weights decided.`;
    const band = told.kappa ? ` (the band reaches ${short(told.kappa)})` : "";
    const far =
      line.sigmas === null || Number.isNaN(line.sigmas)
        ? ""
        : ` The weight furthest away is ${weight(layers, line.worst)}, ${short(line.sigmas)} sigmas from ${one}'s own belief${band}.`;
    const some = `${short(line.outside)} of ${short(weights)} weights (${percent(line.outside / weights, 2)}) lie`;
    const count = `${line.outside ? some : "none of its weights lies"} outside its band.${far}`;
    const too = line.outside ? `Besides, ${count}` : `N${count.slice(1)}`;
    if (line.heading === null || line.heading === undefined || Number.isNaN(line.heading)) return `${verdict}: ${count}`;
    const agrees = `${line.heading.toFixed(2)}, 1 being the same way and 0 nothing in common`;
    if (line.fault === FAULT.way)
      return `${verdict}, because it goes another way than ${one}'s own data: their headings agree by ${agrees}. ${too}`;
    if (line.fault === FAULT.against)
      return `${verdict}, because its messages have pushed against what ${one} learns, too often to be heard again. Their headings agree by ${agrees}. ${too}`;
    if (line.fault === FAULT.ahead)
      return `${verdict}, because its messages have pushed far harder than any data would, and it is not heard again. Their headings agree by ${agrees}. ${too}`;
    if (line.fault === FAULT.camp)
      return `${verdict}, because it has long pushed, with others, for something that ${one}'s own side does not; it is not heard as long as it does. Their headings agree by ${agrees}. ${too}`;
    return `${verdict}: ${count} Their headings agree by ${agrees}.`;
  }

  draw(pen, width, height, look) {
    const { told, snap } = this;
    if (!told?.round.length) return;
    const layers = this.layers(),
      x = [0, Math.max(1, told.round.at(-1))];
    const bars = layers.length ? 34 + 22 * layers.length : 0;
    this.strip(pen, look, width, x);
    const panels = this.headed() ? 3 : 2,
      tall = (height - bars - 50) / panels;
    const boxes = [0, 1, 2].map((at) => ({ x: 0, y: 44 + (at + panels - 3) * tall, width, height: tall }));
    const kept = told.round
      .map((round, at) => ({
        x: round,
        state: told.state[at],
        outside: told.outside[at],
        sigmas: told.sigmas[at],
        heading: told.heading[at],
      }))
      .filter((one) => one.state !== PAIR.none);
    const series = (name) => {
      const known = kept.filter((one) => one[name] !== null);
      return {
        x: known.map((one) => one.x),
        y: known.map((one) => one[name]),
        colour: look.soft,
        width: 1.2,
        quiet: true,
      };
    };
    const dots = (name) =>
      kept
        .filter((one) => one[name] !== null)
        .map((one) => ({
          x: one.x,
          y: one[name],
          colour: one.state === PAIR.trusted ? look.trusted : look.runs[1],
          size: told.round.length > 120 ? 2 : 3,
        }));
    const [outside, sigmas] = [series("outside"), series("sigmas")];
    if (!outside.x.length)
      return pen.text(width / 2, height / 2, "This rule keeps no account of single weights.", {
        fill: look.soft,
        size: 14,
        anchor: "middle",
      });
    const weights = this.app.run.weights || 1,
      most = Math.max(1, ...outside.y);
    if (this.headed()) {
      const heading = series("heading");
      chart(pen, boxes[0], look, {
        title: "Agreement of the ways since the start",
        series: [heading],
        dots: dots("heading"),
        x,
        y: [Math.min(0, ...heading.y) * 1.1, 1],
        cursor: snap.round,
      });
    }
    chart(pen, boxes[1], look, {
      title: `Weights outside the band, of ${short(weights)}`,
      series: [outside],
      dots: dots("outside"),
      x,
      y: [0, most * 1.15],
      log: true,
      cursor: snap.round,
    });
    const marks = told.kappa ? [{ y: told.kappa, text: `band: ${short(told.kappa)} sigmas` }] : [];
    chart(pen, boxes[2], look, {
      title: "The worst weight, in sigmas of the receiver's own belief",
      series: [sigmas],
      dots: dots("sigmas"),
      x,
      y: [0, Math.max(1, ...sigmas.y, told.kappa ?? 0) * 1.12],
      marks,
      cursor: snap.round,
    });
    this.bars(pen, look, width, height - bars + 8, layers);
  }

  // A stripe a round: trusted or not.
  strip(pen, look, width, x) {
    const { told } = this,
      left = 46,
      wide = width - 58;
    pen.text(4, 15, "Trusted", { fill: look.ink, size: 13, weight: 600 });
    const place = (round) => left + ((round - x[0]) / (x[1] - x[0])) * wide;
    let from = x[0];
    told.round.forEach((round, at) => {
      if (told.state[at + 1] === told.state[at]) return;
      pen.rect(place(from), 24, Math.max(0.6, place(round) - place(from)), 11, {
        fill: [look.none, look.distrusted, look.trusted][told.state[at]],
      });
      from = round;
    });
    const at = left + ((this.snap.round - x[0]) / (x[1] - x[0])) * wide;
    pen.line(at, 20, at, 39, { stroke: look.ink, width: 1.5 });
    [
      ["left out", look.distrusted, 58],
      ["trusted", look.trusted, 130],
    ].forEach(([text, colour, from]) => {
      pen.rect(left + wide - from, 6, 11, 11, { fill: colour });
      pen.text(left + wide - from + 16, 12, text, { fill: look.soft, size: 11, middle: true });
    });
  }

  bars(pen, look, width, top, layers) {
    if (!layers.length) return;
    const most = Math.max(1, ...layers.map((layer) => layer.rounds)),
      left = Math.min(170, width * 0.3);
    pen.text(4, top, "Where the worst weight was while some were outside", { fill: look.ink, size: 13, weight: 600 });
    layers.forEach((layer, at) => {
      const y = top + 12 + 22 * at,
        wide = ((width - left - 190) * layer.rounds) / most;
      pen.text(left - 8, y + 8, cut(layer.name, Math.floor(left / 6.6)), {
        fill: look.soft,
        size: 11.5,
        anchor: "end",
        middle: true,
      });
      pen.rect(left, y, Math.max(layer.rounds ? 2 : 0, wide), 16, { fill: look.runs[1] });
      pen.text(
        left + wide + 7,
        y + 8,
        layer.rounds ? `${layer.rounds} snapshots, up to ${short(layer.sigmas)} sigmas` : "never",
        { fill: look.soft, size: 11, middle: true },
      );
    });
  }

  paintNeighbours() {
    const { snap, receiver, sender } = this,
      { names, bad, weights, layers } = this.app.run;
    this.heading.textContent = `Neighbours of ${cut(who(names[receiver] ?? String(receiver)), 24)} in round ${snap.round}`;
    if (!snap.whole) return renew(this.table, el("p", { class: "soft", text: "Too many clients for a table." }));
    const at = (other) => receiver * snap.clients + other;
    const list = names.map((_, other) => other).filter((other) => snap.states[at(other)] !== PAIR.none);
    const far = (other) => (snap.outside && !Number.isNaN(snap.outside[at(other)]) ? snap.outside[at(other)] : -1);
    const left = (other) => Number(snap.states[at(other)] !== PAIR.trusted);
    list.sort((one, other) => left(other) - left(one) || far(other) - far(one) || one - other);
    const inspected = Boolean(snap.outside),
      headed = Boolean(snap.heading);
    const verdict = (other) => {
      if (snap.states[at(other)] === PAIR.trusted) return "trusted";
      return snap.fault?.[at(other)] ? FAULT.words[snap.fault[at(other)]] : "left out";
    };
    renew(
      this.table,
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...["sender", "", ...(headed ? ["heading"] : []), ...(inspected ? ["outside", "sigmas"] : [])].map((text) => el("th", { text })),
          ),
        ),
        el(
          "tbody",
          {},
          ...list.slice(0, 256).map((other) =>
            el(
              "tr",
              { "aria-selected": String(other === sender), "data-pair": `${receiver} ${other}` },
              el(
                "td",
                {},
                el(
                  "button",
                  {
                    type: "button",
                    class: "plain",
                    title: inspected ? `worst: ${weight(layers, snap.worst?.[at(other)])}` : undefined,
                    onclick: () => this.app.go({ receiver: String(receiver), sender: String(other) }),
                  },
                  el("span", {
                    class: "name",
                    text: `${names[other]}${bad[other] ? " ◆" : ""}${other === receiver ? " (itself)" : ""}`,
                  }),
                ),
              ),
              el("td", { class: "left", text: verdict(other) }),
              ...(headed
                ? [el("td", { text: Number.isNaN(snap.heading[at(other)]) ? "-" : snap.heading[at(other)].toFixed(2) })]
                : []),
              ...(inspected
                ? [
                    el("td", {
                      text: `${short(snap.outside[at(other)])}${headed ? "" : ` (${percent(snap.outside[at(other)] / weights, 1)})`}`,
                    }),
                    el("td", { text: snap.sigmas ? short(snap.sigmas[at(other)]) : "-" }),
                  ]
                : []),
            ),
          ),
        ),
      ),
    );
  }

  // Of this pair, the weights that were the worst one most often while any was outside.
  paintWorst() {
    const { told } = this,
      { layers } = this.app.run;
    const found = new Map();
    told.round.forEach((_, at) => {
      if (!told.outside[at] || told.worst[at] === null || told.state[at] === PAIR.none) return;
      const one = found.get(told.worst[at]) ?? { count: 0, sigmas: 0 };
      found.set(told.worst[at], { count: one.count + 1, sigmas: Math.max(one.sigmas, told.sigmas[at] ?? 0) });
    });
    const list = [...found]
      .sort(([, one], [, other]) => other.count - one.count || other.sigmas - one.sigmas)
      .slice(0, 8);
    if (!list.length) return renew(this.worst, el("p", { class: "soft", text: "No weight was ever outside." }));
    renew(
      this.worst,
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...["weight", "snapshots", "most sigmas"].map((text) => el("th", { text })))),
        el(
          "tbody",
          {},
          ...list.map(([index, one]) =>
            el(
              "tr",
              {},
              el("td", {}, el("span", { class: "name", text: weight(layers, index) })),
              el("td", { text: one.count }),
              el("td", { text: short(one.sigmas) }),
            ),
          ),
        ),
      ),
    );
  }

  csv() {
    return this.told ? ["edge", { id: this.app.state.run, receiver: this.receiver, sender: this.sender }] : null;
  }

  close() {
    this.figure.close();
  }
}
