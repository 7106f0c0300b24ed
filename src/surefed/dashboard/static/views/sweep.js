// Every rule under every attack, as it comes in.
import { ask } from "../api.js";
import { ramp, readable } from "../colours.js";
import { choice, el, fill, renew } from "../dom.js";
import { Figure } from "../figure.js";
import { cut, percent, title } from "../words.js";

const SCORES = [
  ["mean", "mean score of the honest"],
  ["worst", "worst honest client"],
  ["malicious", "trust in the malicious"],
  ["honest", "trust in the honest"],
  ["backdoor", "backdoor"],
];
const LESS = ["malicious", "backdoor"]; // of these less is better

export function create(app) {
  return new Sweep(app);
}

class Sweep {
  constructor(app) {
    this.app = app;
    // Drawn for export only: on the page the matrix is a table.
    this.figure = new Figure({
      label: "Rules under attacks",
      draw: (pen, width, height, look) => this.draw(pen, width, height, look),
      height: () => 70 + 56 * (this.table?.rules.length ?? 1),
    });
    this.controls = el("div", { class: "controls" });
    this.place = el("div", { class: "matrix" });
    this.note = el("p", { class: "soft" });
    this.element = el("section", { class: "card" }, this.controls, this.place, this.note);
  }

  title() {
    return "Sweep";
  }

  group() {
    const { app } = this;
    if (app.groups.some((group) => group.id === app.state.group)) return app.state.group;
    const own = app.groups.find((group) => group.runs.includes(app.state.run));
    return (own ?? app.groups.toSorted((one, other) => other.runs.length - one.runs.length)[0])?.id;
  }

  async update() {
    const { app } = this,
      id = this.group();
    if (!id)
      return fill(
        this.place,
        el(
          "div",
          { class: "empty" },
          "No folder here holds several runs.",
          el("code", { text: "surefed compare --rules surefed,krum --attacks label_flip,alie" }),
        ),
      );
    const group = app.groups.find((one) => one.id === id);
    const stamp = group.stamp + group.runs.map((run) => app.stampOf(run)).join("");
    const table = await ask("/api/sweep", { id }, stamp);
    if (table.problem) return app.trouble(table.problem);
    this.table = table;
    this.id = id;
    renew(
      this.controls,
      choice(
        "folder",
        app.groups.map((group) => [group.id, `${cut(group.id, 60)} (${group.runs.length})`]),
        id,
        (group) => app.go({ group }),
      ),
      choice("shown", SCORES, app.state.score, (score) => app.go({ score })),
      el(
        "label",
        {},
        el("progress", { max: Math.max(1, table.runs), value: table.finished }),
        `${table.finished} of ${table.runs} runs are finished${table.failed ? `, ${table.failed} failed` : ""}`,
      ),
    );
    this.paint();
    const seeds = Math.max(0, ...table.cells.map((cell) => cell.planned));
    this.note.textContent = `${table.title ? `${table.title}. ` : ""}${seeds > 1 ? `Means over up to ${seeds} runs a cell. ` : ""}Below the score: share of honest / malicious neighbours trusted. Choose a cell to see its federation.`;
  }

  // Between 0, bad, and 1, good.
  goodness(cell) {
    const value = cell[this.app.state.score];
    if (value === null || value === undefined) return null;
    return Math.min(1, Math.max(0, LESS.includes(this.app.state.score) ? 1 - value : value));
  }

  paint() {
    const { table, app } = this;
    const cells = new Map(table.cells.map((cell) => [`${cell.rule}\n${cell.attack}`, cell]));
    renew(
      this.place,
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("td"),
            ...table.attacks.map((attack) =>
              el("th", { scope: "col" }, el("span", { class: "name", title: attack, text: attack })),
            ),
          ),
        ),
        el(
          "tbody",
          {},
          ...table.rules.map((rule) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, el("span", { class: "name", title: rule, text: title(rule) })),
              ...table.attacks.map((attack) => el("td", {}, this.cell(cells.get(`${rule}\n${attack}`)))),
            ),
          ),
        ),
      ),
    );
  }

  cell(cell) {
    if (!cell) return el("div", { class: "none" });
    if (!cell.runs.length)
      return el("div", { class: "none", title: cell.error, text: cell.failed ? "failed" : "waiting" });
    const { app } = this,
      good = this.goodness(cell);
    const done = cell.finished === cell.planned;
    const button = el(
      "button",
      {
        type: "button",
        "data-run": cell.runs[0],
        title: `${cell.rule} under ${cell.attack}: ${cell.finished} of ${cell.planned} finished${cell.error ? `; failed: ${cell.error}` : ""}`,
        onclick: () => app.go({ view: "federation", run: cell.runs[0], round: "", receiver: "", sender: "" }, true),
      },
      el("b", { text: percent(cell[app.state.score]) }),
      el("span", { text: `${percent(cell.honest, 0)} / ${percent(cell.malicious, 0)}` }),
      cell.failed ? el("span", { text: `${cell.failed} failed` }) : null,
      done ? null : el("progress", { max: 1, value: cell.progress ?? 0, "aria-label": "progress" }),
    );
    if (good !== null) {
      button.style.backgroundColor = ramp(good);
      button.style.color = readable(ramp(good));
    }
    return button;
  }

  draw(pen, width, height, look) {
    const { table } = this;
    if (!table) return;
    const left = 130,
      wide = (width - left - 6) / Math.max(1, table.attacks.length);
    table.attacks.forEach((attack, at) =>
      pen.text(left + (at + 0.5) * wide, 46, cut(attack, Math.floor(wide / 7)), {
        fill: look.ink,
        size: 12.5,
        weight: 600,
        anchor: "middle",
      }),
    );
    pen.text(6, 18, `${cut(this.id, 60)}: ${SCORES.find(([key]) => key === this.app.state.score)[1]}`, {
      fill: look.ink,
      size: 14,
      weight: 650,
    });
    table.rules.forEach((rule, row) => {
      const y = 60 + 56 * row;
      pen.text(left - 10, y + 26, cut(title(rule), 17), {
        fill: look.ink,
        size: 12.5,
        weight: 600,
        anchor: "end",
        middle: true,
      });
      table.attacks.forEach((attack, column) => {
        const cell = table.cells.find((one) => one.rule === rule && one.attack === attack);
        const good = cell ? this.goodness(cell) : null,
          ground = good === null ? look.none : ramp(good);
        pen.rect(left + column * wide + 2, y, wide - 4, 52, { fill: ground });
        if (!cell) return;
        const ink = readable(ground),
          middle = left + (column + 0.5) * wide;
        pen.text(middle, y + 25, percent(cell[this.app.state.score]), {
          fill: ink,
          size: 15,
          weight: 650,
          anchor: "middle",
        });
        pen.text(middle, y + 42, `${percent(cell.honest, 0)} / ${percent(cell.malicious, 0)}`, {
          fill: ink,
          size: 11,
          anchor: "middle",
        });
      });
    });
  }

  csv() {
    return this.id ? ["sweep", { id: this.id }] : null;
  }

  close() {
    this.figure.close();
  }
}
