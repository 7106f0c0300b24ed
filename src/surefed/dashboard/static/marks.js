// Small shapes that pictures and legends share.
import { theme } from "./colours.js";
import { el } from "./dom.js";
import { CanvasPen } from "./pen.js";

export function diamond(pen, x, y, radius, style) {
  pen.path(
    [
      [x, y - radius],
      [x + radius, y],
      [x, y + radius],
      [x - radius, y],
    ],
    { ...style, close: true },
  );
}

export function swatch(draw, width = 40, height = 16) {
  const scale = devicePixelRatio || 1;
  const canvas = el("canvas", {
    width: Math.round(width * scale),
    height: Math.round(height * scale),
    "aria-hidden": "true",
    "data-ground": theme().ground,
  });
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  draw(new CanvasPen(context));
  return canvas;
}
