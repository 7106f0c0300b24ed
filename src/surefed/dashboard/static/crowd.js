// Very many clients as two groups.
import { diamond } from "./marks.js";
import { percent } from "./words.js";

// Each group, and how much of what each could trust it does.
export function groups(pen, width, height, look, snap) {
  const { roles, sizes, edges, trusted } = snap.blocks;
  const sum = (table, one, other) =>
    roles.reduce(
      (all, a, i) => all + (a === one ? roles.reduce((inner, b, j) => inner + (b === other ? table[i][j] : 0), 0) : 0),
      0,
    );
  const many = (role) => sizes.reduce((all, size, at) => all + (roles[at] === role ? size : 0), 0);
  const share = (one, other) => (sum(edges, one, other) ? sum(trusted, one, other) / sum(edges, one, other) : null);
  const y = height * 0.36,
    spots = many(1)
      ? [
          [width * 0.27, y],
          [width * 0.73, y],
        ]
      : [[width * 0.5, y]];
  const kinds = ["honest", "malicious"];
  if (spots.length > 1) {
    for (const [one, other, shift] of [
      [0, 1, -16],
      [1, 0, 16],
    ]) {
      const part = share(one, other);
      const danger = one === 0;
      pen.line(spots[0][0], y + shift, spots[1][0], y + shift, {
        stroke: part ? (danger ? look.danger : look.trusted) : look.distrusted,
        width: 2 + 12 * (part ?? 0),
        dash: part ? undefined : [5, 5],
        opacity: 0.8,
      });
      pen.text(width / 2, y + shift + (one === 0 ? -16 : 26), `${kinds[one]} trust ${kinds[other]}: ${percent(part)}`, {
        fill: look.ink,
        size: 13,
        anchor: "middle",
      });
    }
  }
  spots.forEach(([x], role) => {
    const radius = Math.max(34, Math.min(width, height) * 0.24 * Math.sqrt(many(role) / snap.clients));
    const style = { fill: look.ground, stroke: look.ink, width: 2.5 };
    if (role) diamond(pen, x, y, radius * 1.2, style);
    else pen.circle(x, y, radius, style);
    pen.text(x, y - 4, String(many(role)), { fill: look.ink, size: 20, weight: 650, anchor: "middle" });
    pen.text(x, y + 15, kinds[role], { fill: look.soft, size: 12, anchor: "middle" });
    pen.text(x, y + radius * 1.2 + 24, `trust each other: ${percent(share(role, role))}`, {
      fill: look.ink,
      size: 13,
      anchor: "middle",
    });
  });
  spread(pen, width, height, look, snap.blocks.histogram);
}

function spread(pen, width, height, look, histogram) {
  if (!histogram) return;
  const most = Math.max(1, ...histogram.honest, ...histogram.malicious);
  const [left, wide, floor, tall] = [width * 0.1, width * 0.8, height - 24, height * 0.16];
  histogram.honest.forEach((count, at) => {
    const step = wide / histogram.honest.length;
    pen.rect(left + at * step, floor - (tall * count) / most, step * 0.45, (tall * count) / most, {
      fill: look.trusted,
    });
    const bad = histogram.malicious[at];
    pen.rect(left + at * step + step * 0.45, floor - (tall * bad) / most, step * 0.45, (tall * bad) / most, {
      fill: look.danger,
    });
  });
  pen.line(left, floor, left + wide, floor, { stroke: look.line });
  [
    ["honest clients by score", look.trusted, 0],
    ["malicious ones", look.danger, 170],
  ].forEach(([text, colour, right]) => {
    pen.rect(left + right, floor - tall - 22, 10, 10, { fill: colour });
    pen.text(left + right + 16, floor - tall - 17, text, { fill: look.soft, size: 11.5, middle: true });
  });
  pen.text(left, floor + 15, "score 0 %", { fill: look.soft, size: 11 });
  pen.text(left + wide, floor + 15, "100 %", { fill: look.soft, size: 11, anchor: "end" });
}
