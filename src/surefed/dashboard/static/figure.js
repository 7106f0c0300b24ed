// A picture on the page: redrawn when its place changes, saved as PNG or SVG, usable with keys.
import { theme } from "./colours.js";
import { el } from "./dom.js";
import { CanvasPen, SvgPen } from "./pen.js";

export class Figure {
  // draw(pen, width, height, look); height(width) gives the height that a width asks for.
  constructor({ label, draw, height, pointer, key }) {
    this.draw_ = draw;
    this.height_ = height;
    this.canvas = el("canvas", { tabindex: key ? 0 : undefined, role: "img", "aria-label": label });
    this.element = el("div", { class: "figure" }, this.canvas);
    if (pointer) {
      for (const kind of ["pointermove", "click", "pointerleave"]) {
        this.canvas.addEventListener(kind, (event) => {
          const box = this.canvas.getBoundingClientRect();
          pointer(kind, event.clientX - box.left, event.clientY - box.top);
        });
      }
    }
    if (key) {
      this.canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (key(event.key)) {
          event.preventDefault();
          event.stopPropagation();
        }
      });
    }
    this.watch = new ResizeObserver(() => this.render());
    this.watch.observe(this.element);
  }

  label(text) {
    this.canvas.setAttribute("aria-label", text);
  }

  size() {
    const width = Math.max(280, Math.floor(this.element.clientWidth || 600));
    return [width, Math.round(this.height_(width))];
  }

  render() {
    if (!this.element.isConnected) return;
    const [width, height] = this.size();
    this.paint(this.canvas, width, height, devicePixelRatio || 1);
    this.canvas.style.height = `${height}px`;
  }

  paint(canvas, width, height, scale) {
    const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== across || canvas.height !== down) Object.assign(canvas, { width: across, height: down });
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = theme().ground;
    context.fillRect(0, 0, width, height);
    this.draw_(new CanvasPen(context), width, height, theme());
  }

  // By way of text: a canvas gives its bytes at once only so, and else whenever the browser finds the time.
  png() {
    const [width, height] = this.size();
    const canvas = document.createElement("canvas");
    this.paint(canvas, width, height, 2);
    const text = atob(canvas.toDataURL("image/png").split(",")[1]);
    return new Blob([Uint8Array.from(text, (one) => one.charCodeAt(0))], { type: "image/png" });
  }

  svg() {
    const [width, height] = this.size();
    const pen = new SvgPen(width, height);
    pen.rect(0, 0, width, height, { fill: theme().ground });
    this.draw_(pen, width, height, theme());
    return new Blob([pen.source()], { type: "image/svg+xml" });
  }

  close() {
    this.watch.disconnect();
  }
}

export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
