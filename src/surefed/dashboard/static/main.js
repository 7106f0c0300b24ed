// Where the page begins: keys, theme and help, then the runs and news of them.
import { listen } from "./api.js";
import { App } from "./app.js";
import { setTheme } from "./colours.js";
import { byId, el, fill } from "./dom.js";
import { hash, read } from "./state.js";

const KEYS = [
  ["1 - 6", "go to a view"],
  ["Space", "play or pause"],
  [", .", "one step back or on"],
  ["Home End", "first or last round, on the slider"],
  ["arrows, Enter", "in a picture: choose, then look why"],
  ["Escape", "choose nothing"],
  ["t", "light, dark or as the system"],
  ["?", "this list"],
];

function keyboard(app) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("dialog, select, input[type=text]"))
      return;
    const names = [...document.querySelectorAll("#tabs a")];
    if (event.key >= "1" && event.key <= "9" && names[event.key - 1]) names[event.key - 1].click();
    else if (event.key === " " && !event.target.closest("button, a, input")) app.timeline.play();
    else if (event.key === ",") app.timeline.step(-1);
    else if (event.key === ".") app.timeline.step(1);
    else if (event.key === "t") byId("theme").click();
    else if (event.key === "?") byId("help").click();
    else return;
    event.preventDefault();
  });
}

function themes(app) {
  const order = ["auto", "light", "dark"],
    button = byId("theme");
  let chosen = "auto";
  try {
    chosen = localStorage.getItem("theme") ?? "auto";
  } catch {
    /* storage may be forbidden; then the choice lasts as long as the page */
  }
  const apply = () => {
    setTheme(chosen);
    button.textContent = `Theme: ${chosen}`;
    app.refresh().then(() => app.view?.figure?.render());
  };
  button.addEventListener("click", () => {
    chosen = order[(order.indexOf(chosen) + 1) % order.length];
    try {
      localStorage.setItem("theme", chosen);
    } catch {
      /* as above */
    }
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  setTheme(chosen);
  button.textContent = `Theme: ${chosen}`;
}

function help() {
  const dialog = byId("keys");
  fill(
    dialog,
    el("h2", { text: "Keys" }),
    el(
      "div",
      { class: "keys" },
      ...KEYS.flatMap(([key, text]) => [el("span", {}, el("kbd", { text: key })), el("span", { text })]),
    ),
    el("p", {
      class: "soft",
      text: "The page only reads. Long runs are drawn from fewer points, and say so; the CSV is always whole. Colours keep apart for people with any colour vision, and roles have shapes as well.",
    }),
    el("p", {}, el("button", { type: "button", onclick: () => dialog.close(), text: "Close" })),
  );
  byId("help").addEventListener("click", () => dialog.showModal());
}

const app = new App();
themes(app);
help();
keyboard(app);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the part after # is what is looked at, not a place on the page
  byId("view").focus();
});
byId("run").addEventListener("change", (event) =>
  app.go({ run: event.target.value, round: "", receiver: "", sender: "" }, true),
);
addEventListener("popstate", () => {
  app.state = read();
  app.refresh();
});
addEventListener("hashchange", () => {
  if (hash(app.state) !== location.hash) {
    app.state = read();
    app.refresh();
  }
});
await app.reload();
listen(
  (news) => app.news(news),
  (state) => app.connection(state),
);
