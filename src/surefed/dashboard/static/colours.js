// Colours that people with any colour vision can tell apart (Okabe and Ito 2008), by lightness as well as by hue.

const LIGHT = {
  ground: "#ffffff",
  ink: "#1b222c",
  soft: "#5b6673",
  line: "#e0ddd6",
  grid: "#ecebe6",
  trusted: "#0072B2",
  distrusted: "#F2B48C",
  left: "#E0804A",
  danger: "#8E2C74",
  none: "#f4f3ef",
  accent: "#005f96",
  runs: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7a7a7a", "#9a8700"],
};
const DARK = {
  ground: "#181e26",
  ink: "#e7eaee",
  soft: "#9ba7b4",
  line: "#2b343f",
  grid: "#252d37",
  trusted: "#56B4E9",
  distrusted: "#8a4418",
  left: "#c96c2e",
  danger: "#f08cc8",
  none: "#1f2731",
  accent: "#6cbdee",
  runs: ["#56B4E9", "#E8793A", "#2fc79a", "#e39cc5", "#f0b429", "#8fa6ff", "#a9b0b8", "#d9cc4a"],
};
// Cividis (Nunez, Anderton and Renslow 2018) in ten steps: reads the same with any colour vision and in grey.
const RAMP = [
  "#00224e",
  "#1a386f",
  "#3e4c6b",
  "#575d6d",
  "#707173",
  "#8a8678",
  "#a69d75",
  "#c4b56c",
  "#e4cf5b",
  "#fee838",
];

export const theme = () => (document.documentElement.dataset.theme === "dark" ? DARK : LIGHT);

const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
const hex = (numbers) => "#" + numbers.map((one) => Math.round(one).toString(16).padStart(2, "0")).join("");

export function mix(from, to, share) {
  const [start, end] = [parts(from), parts(to)];
  return hex(start.map((one, at) => one + (end[at] - one) * share));
}

export function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1);
  const low = Math.min(Math.floor(at), RAMP.length - 2);
  return mix(RAMP[low], RAMP[low + 1], at - low);
}

// From never trusted to always trusted.
export function trustRamp(share) {
  const at = theme();
  const middle = at === DARK ? "#434b55" : "#f3efe6";
  return share < 0.5 ? mix(at.distrusted, middle, share * 2) : mix(middle, at.trusted, share * 2 - 1);
}

export function readable(ground) {
  const [red, green, blue] = parts(ground).map((one) => {
    const part = one / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.19 ? "#12161c" : "#ffffff";
}

export function setTheme(choice) {
  const dark = choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}
