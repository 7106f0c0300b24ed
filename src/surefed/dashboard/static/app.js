// The page: what is chosen, what is shown, and news as they come.
import { address, ask, runs } from "./api.js";
import { valueAt } from "./chart.js";
import { byId, el, fill, renew, say } from "./dom.js";
import { save } from "./figure.js";
import { unpack } from "./pairs.js";
import { hash, read, write } from "./state.js";
import { Timeline } from "./timeline.js";
import { cut, title } from "./words.js";
import * as curves from "./views/curves.js";
import * as federation from "./views/federation.js";
import * as peer from "./views/peer.js";
import * as sweep from "./views/sweep.js";
import * as trust from "./views/trust.js";
import * as why from "./views/why.js";

const VIEWS = { federation, trust, curves, why, sweep, peer };
const TITLES = {
  federation: "Federation",
  trust: "Who trusts whom",
  curves: "Curves",
  why: "Why",
  sweep: "Sweep",
  peer: "Peer",
};
const TIMED = ["federation", "trust", "why"]; // views of one round

export class App {
  constructor() {
    this.state = read();
    this.runs = new Map();
    this.groups = [];
    this.main = byId("view");
    this.timeline = new Timeline((round, last) => this.go({ round: last ? "" : String(round) }));
    this.notice = el("div", { class: "notice", role: "status" });
    this.notice.hidden = true;
    this.heading = el("div", { class: "heading" });
    this.place = el("div");
    fill(this.main, this.heading, this.notice, this.place);
  }

  // Change what is looked at. `push` makes a step that the browser's back button undoes.
  go(changes, push = false) {
    const before = this.state;
    this.state = { ...before, ...changes };
    write(this.state, push);
    if (this.state.run !== before.run || this.state.view !== before.view) this.timeline.stop();
    return this.refresh();
  }

  // Bring the page up to date; while that goes on, a further wish waits and is done once.
  async refresh() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    do {
      this.again = false;
      try {
        await this.show();
      } catch (error) {
        console.error(error);
        this.trouble(`This view could not be drawn: ${error.message}`);
      }
    } while (this.again);
    this.busy = false;
  }

  async show() {
    this.choose();
    const { view } = this.state;
    this.problem = "";
    if (this.mounted !== view) this.mount(view);
    this.paintTabs();
    if (!this.runs.size) return this.paintEmpty();
    await this.load();
    this.paintHeading();
    this.paintTimeline();
    if (this.run || view === "sweep") await this.view.update();
    else this.trouble(this.runs.get(this.state.run)?.problem ?? "There is no such run here.");
    this.notice.hidden = !this.problem;
    this.notice.textContent = this.problem;
    this.main.dataset.shown = view;
  }

  // Fill in what the address leaves open: the run that changed last, the view that fits it.
  choose() {
    if (!this.runs.has(this.state.run) && this.runs.size) {
      const whole = [...this.runs.values()].filter((run) => !run.problem);
      const active = (run) => (run.status === "running" ? 1e12 : 0) + (run.changed ?? 0);
      const last = (whole.length ? whole : [...this.runs.values()]).reduce((best, run) =>
        active(run) > active(best) ? run : best,
      );
      this.state = { ...this.state, run: last.id };
    }
    if (!(this.state.view in VIEWS)) {
      this.state = { ...this.state, view: this.runs.get(this.state.run)?.kind === "peer" ? "peer" : "federation" };
    }
    write(this.state, false);
  }

  mount(view) {
    this.view?.close();
    this.view = VIEWS[view].create(this);
    this.mounted = view;
    fill(this.place, this.view.element);
    document.title = `${TITLES[view]} · SureFED`;
  }

  async load() {
    const id = this.state.run,
      stamp = this.stampOf(id);
    const [run, table] = await Promise.all([ask("/api/run", { id }, stamp), ask("/api/curves", { id: [id] }, stamp)]);
    if (run.problem || !run.names) {
      this.run = this.run?.id === id ? this.run : null;
      this.trouble(run.problem);
    } else this.run = run;
    if (!table.problem) this.curves = table.runs[0];
  }

  // The snapshot of the chosen round, or of the last one.
  async snapshot() {
    const there = this.run.snapshots;
    if (!there.length) {
      fill(this.place, this.view.element);
      this.trouble(
        this.run.status === "finished"
          ? "This record keeps no snapshots of trust (evaluate.trust = false)."
          : "No round has been evaluated yet; the picture comes by itself.",
      );
      return null;
    }
    const round = this.round();
    const table = await ask(
      "/api/trust",
      { id: this.run.id, round },
      round === there.at(-1) ? this.stampOf(this.run.id) : "",
    );
    if (table.problem) {
      this.trouble(table.problem);
      return null;
    }
    const next = there[there.indexOf(round) + 1];
    if (next && this.timeline.timer)
      ask("/api/trust", { id: this.run.id, round: next }, next === there.at(-1) ? this.stampOf(this.run.id) : "");
    if (!table.unpacked) table.unpacked = unpack(table);
    return table.unpacked;
  }

  // The round that is shown: the chosen one or the nearest before it with a snapshot.
  round() {
    const there = this.run.snapshots,
      wanted = Number(this.state.round);
    if (!this.state.round || !Number.isFinite(wanted)) return there.at(-1);
    return there.findLast((round) => round <= wanted) ?? there[0];
  }

  figuresAt(round) {
    const found = {};
    for (const [name, series] of Object.entries(this.curves?.series ?? {})) found[name] = valueAt(series, round);
    return found;
  }

  client(text) {
    const at = Number(text);
    return text !== "" && Number.isInteger(at) && at >= 0 && at < (this.run?.names.length ?? 0) ? at : null;
  }

  stampOf(id) {
    return this.runs.get(id)?.stamp ?? "";
  }

  // A name for a run, its folder where rule and attack do not tell it from others.
  label(id) {
    const run = this.runs.get(id);
    if (!run) return id;
    if (run.problem) return `${run.id} (damaged)`;
    if (run.kind === "peer") return `${run.site} · ${run.name}`;
    const name = `${title(run.rule)} · ${run.attack}`;
    const alike = [...this.runs.values()].filter((other) => other.rule === run.rule && other.attack === run.attack);
    return alike.length > 1 ? `${name} · ${run.id}` : name;
  }

  trouble(text) {
    this.problem = text ?? "";
  }

  paintEmpty() {
    fill(this.heading);
    byId("timeline").hidden = true;
    fill(
      this.place,
      el(
        "div",
        { class: "empty" },
        el("h2", { text: "No run here yet" }),
        "This page shows runs as they appear. Start one:",
        el("code", { text: "surefed run" }),
      ),
    );
    this.mounted = null;
  }

  paintTabs() {
    const tabs = byId("tabs"),
      { view } = this.state;
    const peers = [...this.runs.values()].some((run) => run.kind === "peer");
    const shown = Object.keys(VIEWS).filter((name) => name !== "peer" || peers || view === "peer");
    renew(
      tabs,
      ...shown.map((name) =>
        el("a", {
          href: hash({ ...this.state, view: name }),
          "aria-current": name === view ? "page" : undefined,
          text: TITLES[name],
        }),
      ),
    );
    const now = tabs.querySelector("[aria-current]");
    if (now) tabs.scrollLeft = now.offsetLeft - tabs.clientWidth / 3;
  }

  paintRuns() {
    const mark = { running: " (running)", damaged: " (damaged)", stopped: " (stopped)" };
    renew(
      byId("run"),
      ...[...this.runs.values()].map((run) =>
        el("option", {
          value: run.id,
          selected: run.id === this.state.run,
          text: `${cut(run.id, 60)}${mark[run.status] ?? ""}`,
        }),
      ),
    );
  }

  paintHeading() {
    const run = this.runs.get(this.state.run);
    byId("run").value = this.state.run;
    const words = [];
    if (run && !run.problem && this.state.view !== "sweep") {
      if (run.kind !== "peer") {
        words.push(`${title(run.rule)} under ${run.attack === "none" ? "no attack" : run.attack}`);
        words.push(run.malicious ? `${run.malicious} of ${run.clients} clients malicious` : `${run.clients} clients`);
      }
      words.push(`round ${run.round} of ${run.rounds ?? "?"}, ${run.status}`);
    }
    const tool = (text, help, onclick) => el("button", { type: "button", title: help, onclick, text });
    renew(
      this.heading,
      el("h2", { text: this.view.title() }),
      el("span", { class: "soft", text: words.join(" · ") }),
      el(
        "span",
        { class: "tools" },
        tool("Link", "Copy a link that shows this view again", () => this.link()),
        tool("PNG", "Save this picture as PNG", () => save(this.view.figure.png(), this.file("png"))),
        tool("SVG", "Save this picture as SVG", () => save(this.view.figure.svg(), this.file("svg"))),
        tool("CSV", "Save this view's data as CSV, every round", () => this.table()),
      ),
      ...(this.run?.notices ?? []).map((notice) => el("p", { class: "soft", text: `Note: ${notice}` })),
    );
  }

  paintTimeline() {
    const timed = TIMED.includes(this.state.view) && this.run?.snapshots.length;
    this.timeline.update({
      rounds: timed ? this.run.snapshots : [],
      round: timed ? this.round() : 0,
      planned: this.run?.rounds,
      curves: this.curves,
      follows: !this.state.round,
    });
  }

  file(kind) {
    return `surefed-${this.state.view}-${this.state.run.replace(/[^\w.-]+/g, "-")}.${kind}`;
  }

  table() {
    const found = this.view.csv();
    if (!found) return say("this view has no table");
    el("a", { href: address(`/csv/${found[0]}`, found[1]), download: this.file("csv") }).click();
  }

  async link() {
    const fixed = { ...this.state };
    if (TIMED.includes(fixed.view) && this.run?.snapshots.length) fixed.round = String(this.round());
    const where = `${location.origin}${location.pathname}${hash(fixed)}`;
    try {
      await navigator.clipboard.writeText(where);
      this.toast("The link is copied.");
    } catch {
      prompt("A link that shows this view again:", where);
    }
  }

  toast(text) {
    const live = byId("live"),
      before = live.textContent;
    live.textContent = text;
    say(text);
    setTimeout(() => (live.textContent = before), 1800);
  }

  async reload() {
    const table = await runs();
    if (table.problem) return this.connection("lost");
    this.runs = new Map(table.runs.map((run) => [run.id, run]));
    this.groups = table.groups;
    this.paintRuns();
    await this.refresh();
    byId("run").value = this.state.run;
  }

  // Something changed on the disk: look again, at most once a second.
  news({ changed, gone }) {
    const known = Object.entries(changed).every(
      ([id, stamp]) =>
        (id.endsWith("/") ? this.groups.find((group) => `${group.id}/` === id)?.stamp : this.stampOf(id)) === stamp,
    );
    if ((known && !gone.length) || this.soon) return;
    this.soon = setTimeout(async () => {
      await this.reload();
      this.soon = null;
    }, 250);
  }

  connection(state) {
    const live = byId("live");
    live.dataset.state = state;
    live.textContent = state === "live" ? "live" : "connection lost, trying again";
    live.title = live.textContent;
  }
}
