// Numbers and names for people.

export const percent = (share, digits = 1) =>
  share === null || share === undefined || Number.isNaN(share) ? "-" : `${(100 * share).toFixed(digits)} %`;

export function short(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "-";
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toFixed(size >= 1e7 ? 0 : 1)} M`;
  if (size >= 1e4) return `${(value / 1e3).toFixed(0)} k`;
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return value.toFixed(size >= 10 ? 1 : 2);
}

export const cut = (text, room) => (text.length <= room ? text : `${text.slice(0, Math.max(1, room - 1))}…`);

const TITLES = { surefed: "SureFED", bayp2pfl: "BayP2PFL", local_only: "local only", fedavg: "FedAvg" };
export const title = (rule) => TITLES[rule] ?? rule;

export const MEASURES = { accuracy: "accuracy", r2: "R2" };

export function ago(seconds) {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

// Where a weight is: its layer and its place there.
export function weight(layers, index) {
  if (index === null || index === undefined) return "-";
  let first = 0;
  for (const [name, size] of layers) {
    if (index < first + size) return `${name}[${index - first}]`;
    first += size;
  }
  return `weight ${index}`;
}

// A name for a sentence: a number alone says little.
export const who = (name) => (/^\d+$/.test(name) ? `client ${name}` : name);

// What became of a federation, from its curves: how deep it fell, whether it recovered, since when the camps are apart.
export function history(series) {
  const score = series["accuracy.mean"] ?? series["r2.mean"],
    trust = series["trusted.malicious"];
  const words = [];
  if (score?.x.length) {
    let best = -Infinity,
      fall = null;
    score.y.forEach((value, at) => {
      if (best - value >= Math.max(0.05, fall ? fall.best - fall.low : 0))
        fall = { best, low: value, round: score.x[at] };
      best = Math.max(best, value);
    });
    if (fall) {
      const back = score.y.at(-1) >= fall.best - 0.01;
      words.push(
        `it fell from ${percent(fall.best)} to ${percent(fall.low)} at round ${fall.round} and ${back ? "recovered" : "has not recovered"}`,
      );
    }
  }
  if (trust?.x.length && trust.y.at(-1) === 0) {
    let at = trust.y.length - 1;
    while (at > 0 && trust.y[at - 1] === 0) at--;
    if (trust.x[at] > 1 && at < trust.y.length - 1)
      words.push(`no honest client trusts a malicious one since round ${trust.x[at]}`);
  }
  return words.length ? `${words.join("; ")}.` : "";
}
