// A peer, for its operator: who was heard when, what was refused and why, what runs out.
import { ask } from "../api.js";
import { theme } from "../colours.js";
import { el, renew } from "../dom.js";
import { Figure } from "../figure.js";
import { ago, cut, short } from "../words.js";
import { diamond, swatch } from "../marks.js";

const DAYS = 14; // a certificate that ends sooner is worth a warning
const DISK = 1 << 30; // so is less free disk than this
const ROW = 26;

export function create(app) {
  return new Peer(app);
}

// Each verdict has a colour and a shape.
function mark(pen, look, verdict, x, y, size) {
  const middle = [x + size / 2, y + size / 2];
  if (verdict === "trusted") pen.rect(x, y, size, size, { fill: look.trusted });
  else if (verdict === "distrusted") pen.rect(x, y, size, size, { fill: look.distrusted });
  else if (verdict === "missing") pen.rect(x + 0.5, y + 0.5, size - 1, size - 1, { stroke: look.soft });
  else if (verdict === "malformed")
    pen.path(
      [
        [x, y + size],
        [middle[0], y],
        [x + size, y + size],
      ],
      { fill: look.runs[4], close: true },
    );
  else if (verdict === "equivocated") diamond(pen, ...middle, size / 2, { fill: look.danger });
  else pen.circle(...middle, 1, { fill: look.line });
}

class Peer {
  constructor(app) {
    this.app = app;
    this.figure = new Figure({
      label: "Neighbours over the last rounds",
      draw: (pen, width, height, look) => this.draw(pen, width, height, look),
      height: () => 44 + ROW * Math.max(1, this.told?.neighbours.length ?? 1),
    });
    this.warnings = el("div");
    this.now = el("section", { class: "card" });
    this.table = el("div", { class: "scroll" });
    this.events = el("div", { class: "scroll" });
    this.legend = el("div", { class: "legend" });
    this.element = el(
      "div",
      {},
      this.warnings,
      el(
        "div",
        { class: "columns" },
        el(
          "div",
          { class: "stack" },
          el("section", { class: "card" }, el("h3", { text: "Neighbours over the last rounds" }), this.figure.element),
          el("section", { class: "card" }, el("h3", { text: "Neighbours" }), this.table),
          el("section", { class: "card" }, el("h3", { text: "What happened, newest first" }), this.events),
        ),
        el(
          "div",
          { class: "stack" },
          this.now,
          el("section", { class: "card" }, el("h3", { text: "How to read it" }), this.legend),
        ),
      ),
    );
  }

  title() {
    return "Peer";
  }

  async update() {
    const { app } = this;
    if (app.run.kind !== "peer") {
      const other = [...app.runs.values()].find((run) => run.kind === "peer");
      this.element.hidden = true;
      if (other) return app.go({ run: other.id, round: "" });
      return app.trouble("No record here is a peer's. A peer leaves one in its folder; see docs/peers.md.");
    }
    this.element.hidden = false;
    const told = await ask("/api/peer", { id: app.state.run }, app.stampOf(app.state.run));
    if (told.problem) return app.trouble(told.problem);
    this.told = told;
    this.paintWarnings();
    this.paintNow();
    this.paintTable();
    this.paintEvents();
    const look = theme();
    const row = (verdict, text) =>
      el(
        "div",
        {},
        swatch((pen) => mark(pen, look, verdict, 12, 0, 15)),
        el("span", { text }),
      );
    renew(
      this.legend,
      row("trusted", "heard and trusted"),
      row("distrusted", "heard, but left out"),
      row("missing", "missing: not heard in time"),
      row("malformed", "sent something that cannot be read"),
      row("equivocated", "signed two different beliefs for one round"),
      row("", "not expected"),
    );
    this.figure.canvas.dataset.round = String(told.round);
    this.figure.label(
      `Verdicts on ${told.neighbours.length} neighbours over ${told.recent.length} rounds; the table below has the numbers`,
    );
    this.figure.render();
  }

  paintWarnings() {
    const { told } = this,
      found = [];
    if (told.certificate_days !== null && told.certificate_days < DAYS)
      found.push(`The certificate ends in ${short(told.certificate_days)} days: renew it with surefed keys renew.`);
    if (told.disk_free !== null && told.disk_free < DISK)
      found.push(`Only ${bytes(told.disk_free)} are free on the disk.`);
    if (told.doing === "paused") found.push(`The peer is paused: ${told.why}`);
    const liars = told.neighbours.filter((one) => one.verdicts.includes("equivocated"));
    if (liars.length)
      found.push(
        `Signed two different beliefs for one round: ${liars.map((one) => one.site).join(", ")}. The evidence is in the record's folder.`,
      );
    renew(this.warnings, ...found.map((text) => el("div", { class: "notice", text })));
  }

  paintNow() {
    const { told } = this;
    const since = told.at ? (Date.now() - Date.parse(told.at)) / 1000 : NaN;
    const number = (label, value) =>
      el("div", { class: "number" }, el("b", { text: value }), el("span", { text: label }));
    const list = [
      ["doing", `${told.doing || "unknown"}${told.why ? `: ${told.why}` : ""}`],
      ["last sign", Number.isNaN(since) ? "-" : `${ago(since)} ago`],
      ["federation", told.federation || "-"],
      ["transport", told.transport || "-"],
      ["deadline", told.deadline === null ? "-" : `${short(told.deadline)} s a round`],
      ["rounds jumped", told.jumped === null ? "-" : short(told.jumped)],
      ["present", told.present.join(", ") || "nobody"],
    ];
    renew(
      this.now,
      el("h3", { text: "This site" }),
      el("h2", { class: "name", title: told.site, text: told.site }),
      el(
        "div",
        { class: "numbers" },
        number(`round of ${told.rounds ?? "?"}`, String(told.round)),
        number("sites present", `${told.present.length} of ${told.neighbours.length}`),
        number(
          "certificate days left",
          told.certificate_days === null ? "-" : short(Math.floor(told.certificate_days)),
        ),
        number("disk free", told.disk_free === null ? "-" : bytes(told.disk_free)),
      ),
      el("dl", {}, ...list.flatMap(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })])),
    );
  }

  paintTable() {
    const { told } = this;
    const heads = ["neighbour", "here", "last heard", "heard", "trusted", "left out", "missing", "refused"];
    const refused = (one) =>
      Object.entries(one.refused)
        .map(([reason, count]) => `${reason} ${count}`)
        .join(", ");
    const count = (value) => (value === null ? "-" : short(value));
    renew(
      this.table,
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el("tr", {}, ...heads.map((text) => el("th", { class: text === "refused" ? "left" : undefined, text }))),
        ),
        el(
          "tbody",
          {},
          ...told.neighbours.map((one) =>
            el(
              "tr",
              { title: one.why },
              el("td", {}, el("span", { class: "name", title: one.site, text: one.site })),
              el("td", { text: told.present.includes(one.site) ? "yes" : "no" }),
              el("td", { text: one.last_heard === null ? "never" : `round ${one.last_heard}` }),
              ...["heard", "trusted", "distrusted", "missing"].map((name) =>
                el("td", {
                  text: name === "heard" ? `${count(one.heard)} of ${count(one.expected)}` : count(one[name]),
                }),
              ),
              el("td", { class: "left", text: refused(one) || "nothing" }),
            ),
          ),
        ),
      ),
    );
  }

  paintEvents() {
    const { told } = this;
    if (!told.events.length) return renew(this.events, el("p", { class: "soft", text: "Nothing worth telling." }));
    renew(
      this.events,
      el(
        "table",
        {},
        el(
          "tbody",
          {},
          ...told.events.map((one) =>
            el(
              "tr",
              {},
              el("td", { class: "left soft", text: one.at.replace("T", " ").replace(/(\.\d+)?(Z|\+00:00)$/, "") }),
              el("td", { text: `round ${one.round}` }),
              el("td", { class: "left", text: [one.kind, one.site].filter(Boolean).join(" · ") }),
              el("td", { class: "left wrap", text: one.text }),
            ),
          ),
        ),
      ),
    );
  }

  draw(pen, width, height, look) {
    const { told } = this;
    if (!told) return;
    const left = Math.min(150, width * 0.34),
      size = Math.max(8, Math.min(17, (width - left - 8) / Math.max(1, told.recent.length) - 2));
    const room = Math.floor((width - left - 8) / (size + 2)),
      first = Math.max(0, told.recent.length - room);
    told.neighbours.forEach((one, row) => {
      const y = 10 + row * ROW;
      pen.text(left - 12, y + 9, cut(one.site, Math.floor((left - 14) / 7)), {
        fill: look.ink,
        size: 12.5,
        anchor: "end",
        middle: true,
      });
      one.verdicts
        .slice(first)
        .forEach((verdict, at) => mark(pen, look, verdict, left + at * (size + 2), y + 9 - size / 2, size));
    });
    const floor = 10 + told.neighbours.length * ROW + 14,
      shown = told.recent.slice(first);
    if (!shown.length) return;
    pen.text(left, floor, `round ${shown[0]}`, { fill: look.soft, size: 11 });
    if (shown.length > 8)
      pen.text(left + shown.length * (size + 2) - 2, floor, `round ${shown.at(-1)}`, {
        fill: look.soft,
        size: 11,
        anchor: "end",
      });
  }

  csv() {
    return this.told ? ["peer", { id: this.app.state.run }] : null;
  }

  close() {
    this.figure.close();
  }
}

function bytes(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0,
    value = count;
  while (value >= 1000 && at < units.length - 1) [value, at] = [value / 1000, at + 1];
  return `${value.toFixed(value < 10 && at ? 1 : 0)} ${units[at]}`;
}
