// Figures over rounds, several runs in one picture.
import { ask } from "../api.js";
import { chart, scales, valueAt } from "../chart.js";
import { theme } from "../colours.js";
import { el, fill, say } from "../dom.js";
import { Figure } from "../figure.js";
import { percent, short } from "../words.js";
import { swatch } from "../marks.js";

const share = (value) => percent(value, 0);
// Each panel: the solid figure, the dashed one, the one that a shade reaches down to.
const PANELS = [
  {
    title: "Accuracy of the honest, shade down to the worst client",
    solid: "accuracy.mean",
    floor: "accuracy.worst",
    range: [0, 1],
    format: share,
  },
  {
    title: "R2 of the honest, shade down to the worst client",
    solid: "r2.mean",
    floor: "r2.worst",
    range: [0, 1],
    format: share,
  },
  {
    title: "Whom honest clients trust: honest, malicious dashed",
    solid: "trusted.honest",
    dashed: "trusted.malicious",
    range: [0, 1],
    format: share,
  },
  {
    title: "Backdoor: stamped images taken for the target",
    solid: "backdoor.mean",
    floor: "backdoor.worst",
    range: [0, 1],
    format: share,
  },
  {
    title: "Agreement with the client's own way: honest, malicious dashed",
    solid: "heading.honest",
    dashed: "heading.malicious",
  },
  {
    title: "Weights outside the band: honest, malicious dashed",
    solid: "outside.honest",
    dashed: "outside.malicious",
    log: true,
  },
  { title: "Weights overwritten by introspection", solid: "overwritten", log: true },
  { title: "Honest clients that trust nobody", solid: "trusted.nobody" },
  { title: "Loss of the honest", solid: "loss.mean" },
];
const MOST = 8; // runs that have a colour of their own

export function create(app) {
  return new Curves(app);
}

class Curves {
  constructor(app) {
    this.app = app;
    this.figure = new Figure({
      label: "Figures over rounds",
      draw: (pen, width, height, look) => this.draw(pen, width, height, look),
      height: (width) =>
        this.rows(width) * this.tall(width) + 26 * Math.ceil((this.runs?.length ?? 1) / this.across(width)) + 8,
      pointer: (kind, x, y) => this.point(kind, x, y),
      key: (key) => this.key(key),
    });
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Runs compared" });
    this.note = el("p", { class: "soft" });
    this.values = el("div", { class: "scroll" });
    this.element = el(
      "div",
      { class: "stack" },
      el("section", { class: "card" }, el("h3", { text: "Runs compared" }), this.chips),
      el("section", { class: "card" }, this.figure.element, this.note),
      el("section", { class: "card" }, this.values),
    );
  }

  title() {
    return "Curves";
  }

  across(width) {
    return width > 1000 ? 3 : width > 620 ? 2 : 1;
  }

  tall(width) {
    return width > 620 ? 238 : 200;
  }

  rows(width) {
    return Math.ceil(Math.max(1, this.panels?.length ?? 1) / this.across(width));
  }

  // The ids compared: those in the address, else the chosen run and its neighbours in the folder.
  ids() {
    const { app } = this,
      asked = app.state.compare ? app.state.compare.split("|") : [];
    const known = asked.filter((id) => app.runs.has(id));
    return (known.length ? known : app.state.run ? [app.state.run] : []).slice(0, MOST);
  }

  async update() {
    const { app } = this,
      ids = this.ids();
    this.paintChips(ids);
    if (!ids.length) return;
    const stamp = ids.map((id) => app.stampOf(id)).join(" ");
    const table = await ask("/api/curves", { id: ids }, stamp);
    if (table.problem) return app.trouble(table.problem);
    this.runs = table.runs;
    this.panels = PANELS.filter(({ solid, dashed }) =>
      this.runs.some((run) => run.series[solid]?.x.length || run.series[dashed]?.x.length),
    ).filter(
      ({ solid }) =>
        solid !== "trusted.nobody" || this.runs.some((run) => run.series[solid].y.some((value) => value > 0)),
    );
    const thinned = this.runs.filter((run) => run.thinned);
    this.note.textContent = thinned.length
      ? `Drawn from at most ${thinned[0].points} points a curve, of up to ${Math.max(...thinned.map((run) => run.evaluated))} evaluated rounds: of each stretch the lowest and the highest, so no peak is missing. The CSV has every round.`
      : "Every evaluated round is drawn.";
    this.paintValues();
    this.figure.canvas.dataset.round = String(Math.max(0, ...this.runs.map((run) => run.last.round ?? 0)));
    this.figure.label(`Figures over rounds of ${this.runs.length} runs; the table below has the numbers`);
    this.figure.render();
  }

  name(id) {
    return this.app.label(id);
  }

  paintChips(ids) {
    const { app } = this,
      look = theme();
    const key = `${[...app.runs.keys()].join("|")} ${ids.join("|")} ${look.ground}`;
    if (key === this.painted) return;
    this.painted = key;
    const focused = document.activeElement?.dataset?.id;
    const shown = [...app.runs.values()]
      .filter((run) => !run.problem)
      .sort((one, other) => ids.includes(other.id) - ids.includes(one.id));
    fill(
      this.chips,
      ...shown.slice(0, 200).map((run) => {
        const at = ids.indexOf(run.id);
        const box = el("input", {
          type: "checkbox",
          "data-id": run.id,
          onchange: () => {
            const next = box.checked ? [...ids, run.id].slice(-MOST) : ids.filter((id) => id !== run.id);
            if (next.length) app.go({ compare: next.join("|") });
            else box.checked = true;
          },
        });
        box.checked = at >= 0;
        return el(
          "label",
          {},
          box,
          at >= 0 ? swatch((pen) => pen.line(0, 5, 22, 5, { stroke: look.runs[at], width: 4 }), 22, 10) : null,
          el("span", { class: "name", title: run.id, text: this.name(run.id) }),
        );
      }),
    );
    if (focused) [...this.chips.querySelectorAll("input")].find((box) => box.dataset.id === focused)?.focus();
  }

  extent() {
    return [0, Math.max(1, ...this.runs.flatMap((run) => Object.values(run.series).map((one) => one.x.at(-1) ?? 0)))];
  }

  boxes(width) {
    const across = this.across(width),
      wide = width / across,
      tall = this.tall(width);
    const top = 8 + 26 * Math.ceil(this.runs.length / across);
    return this.panels.map((panel, at) => ({
      x: (at % across) * wide,
      y: top + Math.floor(at / across) * tall,
      width: wide,
      height: tall,
    }));
  }

  draw(pen, width, height, look) {
    if (!this.runs) return;
    const across = this.across(width);
    this.runs.forEach((run, at) => {
      const [x, y] = [(at % across) * (width / across) + 6, 14 + 26 * Math.floor(at / across)];
      pen.line(x, y, x + 26, y, { stroke: look.runs[at], width: 4 });
      pen.text(x + 34, y, this.name(run.id).slice(0, Math.floor((width / across - 40) / 6.6)), {
        fill: look.ink,
        size: 12.5,
        middle: true,
      });
    });
    const x = this.extent();
    this.places = this.boxes(width);
    this.panels.forEach((panel, at) => {
      const series = [];
      this.runs.forEach((run, which) => {
        const colour = look.runs[which],
          of = (name) => run.series[name];
        if (of(panel.solid)) series.push({ ...of(panel.solid), colour, floor: of(panel.floor) });
        if (of(panel.dashed)) series.push({ ...of(panel.dashed), colour, dash: [5, 4] });
      });
      const high = Math.max(...series.flatMap((one) => one.y), 0);
      const range = panel.range ?? [0, Math.max(1, high * 1.05)];
      chart(pen, this.places[at], look, {
        title: panel.title,
        series,
        x,
        y: range,
        log: panel.log,
        format: panel.format ?? short,
        cursor: this.cursor(),
      });
    });
  }

  cursor() {
    return this.app.state.round ? Number(this.app.state.round) : null;
  }

  paintValues() {
    const round = this.cursor();
    const columns = this.panels
      .flatMap((panel) => [panel.solid, panel.floor, panel.dashed].filter(Boolean))
      .filter((name) => this.runs.some((run) => run.series[name]));
    const value = (run, name) => {
      const series = run.series[name];
      if (!series) return "-";
      const found = round === null ? series.y.at(-1) : valueAt(series, round);
      return PANELS.some((panel) => panel.range && [panel.solid, panel.floor, panel.dashed].includes(name))
        ? percent(found)
        : short(found);
    };
    fill(
      this.values,
      el(
        "table",
        {},
        el("caption", {
          class: "soft",
          text: round === null ? "At the last evaluated round" : `At round ${round}; Escape goes back to the last`,
        }),
        el("thead", {}, el("tr", {}, el("th", { text: "run" }), ...columns.map((name) => el("th", { text: name })))),
        el(
          "tbody",
          {},
          ...this.runs.map((run) =>
            el(
              "tr",
              {},
              el("td", {}, el("span", { class: "name", title: run.id, text: this.name(run.id) })),
              ...columns.map((name) => el("td", { text: value(run, name) })),
            ),
          ),
        ),
      ),
    );
  }

  point(kind, x, y) {
    if (kind !== "click" || !this.runs) return;
    const at = this.places.findIndex(
      (box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height,
    );
    if (at < 0) return;
    const { round } = scales(this.places[at], { x: this.extent(), y: [0, 1] });
    this.move(Math.round(round(x)));
  }

  move(round) {
    const [low, high] = this.extent();
    const next = Math.min(high, Math.max(low, round));
    this.app.go({ round: String(next) });
    say(`round ${next}`);
  }

  key(key) {
    if (!this.runs) return false;
    const [, high] = this.extent(),
      now = this.cursor() ?? high;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10 };
    if (key in steps) this.move(now + steps[key] * Math.max(1, Math.round(high / 100)));
    else if (key === "Home") this.move(0);
    else if (key === "End") this.move(high);
    else if (key === "Escape") this.app.go({ round: "" });
    else return false;
    return true;
  }

  csv() {
    return ["curves", { id: this.ids() }];
  }

  close() {
    this.figure.close();
  }
}
