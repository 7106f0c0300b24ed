// One way to draw, onto the screen or into an SVG file: what is exported is what is seen.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
const SVG = "http://www.w3.org/2000/svg";

export class CanvasPen {
  constructor(context) {
    this.context = context;
  }

  stroke_({ stroke, width = 1, dash, opacity = 1, fill }) {
    const at = this.context;
    at.globalAlpha = opacity;
    if (fill) {
      at.fillStyle = fill;
      at.fill();
    }
    if (stroke) {
      at.strokeStyle = stroke;
      at.lineWidth = width;
      at.setLineDash(dash ?? []);
      at.stroke();
    }
    at.globalAlpha = 1;
  }

  rect(x, y, width, height, { fill, stroke, opacity = 1, line = 1 }) {
    const at = this.context;
    at.globalAlpha = opacity;
    if (fill) {
      at.fillStyle = fill;
      at.fillRect(x, y, width, height);
    }
    if (stroke) {
      at.strokeStyle = stroke;
      at.lineWidth = line;
      at.setLineDash([]);
      at.strokeRect(x, y, width, height);
    }
    at.globalAlpha = 1;
  }

  path(points, look) {
    if (!points.length) return;
    const at = this.context;
    at.lineJoin = "round";
    at.beginPath();
    at.moveTo(points[0][0], points[0][1]);
    for (let place = 1; place < points.length; place++) at.lineTo(points[place][0], points[place][1]);
    if (look.close) at.closePath();
    this.stroke_(look);
  }

  line(x1, y1, x2, y2, look) {
    this.path(
      [
        [x1, y1],
        [x2, y2],
      ],
      look,
    );
  }

  circle(x, y, radius, look) {
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.stroke_(look);
  }

  text(x, y, text, { fill, size = 12, anchor = "start", weight = 400, middle = false, turn = 0 }) {
    const at = this.context;
    at.save();
    at.font = `${weight} ${size}px ${FONT}`;
    at.fillStyle = fill;
    at.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
    at.textBaseline = middle ? "middle" : "alphabetic";
    at.translate(x, y);
    at.rotate((turn * Math.PI) / 180);
    at.fillText(text, 0, 0);
    at.restore();
  }
}

export class SvgPen {
  constructor(width, height) {
    this.root = document.createElementNS(SVG, "svg");
    for (const [name, value] of [
      ["width", width],
      ["height", height],
      ["viewBox", `0 0 ${width} ${height}`],
      ["font-family", FONT],
    ]) {
      this.root.setAttribute(name, value);
    }
  }

  add_(tag, values, look, text) {
    const made = document.createElementNS(SVG, tag);
    const round = (value) => (typeof value === "number" ? Math.round(value * 100) / 100 : value);
    const all = {
      ...values,
      fill: look.fill ?? "none",
      stroke: look.stroke,
      "stroke-width": look.stroke && (look.width ?? look.line ?? 1),
    };
    all["stroke-dasharray"] = look.stroke && look.dash?.length ? look.dash.join(" ") : undefined;
    all.opacity = look.opacity !== undefined && look.opacity < 1 ? look.opacity : undefined;
    for (const [name, value] of Object.entries(all)) if (value !== undefined) made.setAttribute(name, round(value));
    if (text !== undefined) made.textContent = text;
    this.root.append(made);
  }

  rect(x, y, width, height, look) {
    this.add_("rect", { x, y, width, height }, look);
  }

  path(points, look) {
    if (!points.length) return;
    const steps = points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    this.add_("path", { d: steps + (look.close ? "Z" : ""), "stroke-linejoin": "round" }, look);
  }

  line(x1, y1, x2, y2, look) {
    this.add_("line", { x1, y1, x2, y2 }, look);
  }

  circle(cx, cy, r, look) {
    this.add_("circle", { cx, cy, r }, look);
  }

  text(x, y, text, { fill, size = 12, anchor = "start", weight = 400, middle = false, turn = 0 }) {
    const values = { x, y, "font-size": size, "text-anchor": anchor, "font-weight": weight };
    if (middle) values["dominant-baseline"] = "central";
    if (turn) values.transform = `rotate(${turn} ${x} ${y})`;
    this.add_("text", values, { fill }, text);
  }

  source() {
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(this.root);
  }
}
