/** A plot over time, on a canvas: a few lines, with or without axes. */
import { html, useEffect, useRef } from '../vendor/htm-preact.js';
import { isSystemDark, theme } from '../core/theme.js';
import { useSignal } from '../core/use_signal.js';

const AXIS = { left: 40, bottom: 20, font: '11px sans-serif', everyXPx: 70, everyYPx: 24 };
const TOP_PX = 5;

/** Returns round numbers from 0 to `most`, at most `count` and one more. @param {number} most @param {number} count */
function roundNumbers(most, count) {
  const rough = most / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = ([1, 2, 5].find((each) => each * power >= rough) ?? 10) * power;
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

/** @param {HTMLCanvasElement} canvas @param {{data: (number | null)[][], strokes: Stroke[], heightPx: number, axes?: Axes}} plot */
function draw(canvas, { data: [times, ...lines], strokes, heightPx, axes }) {
  const pen = canvas.getContext('2d');
  const widthPx = canvas.parentElement?.clientWidth ?? 0;
  if (!pen || !widthPx) return;
  canvas.width = Math.round(widthPx * devicePixelRatio);
  canvas.height = Math.round(heightPx * devicePixelRatio);
  pen.scale(devicePixelRatio, devicePixelRatio);
  // A pen takes a colour as it is in the present theme, and not the pair of which it is one.
  const colourOf = (/** @type {string} */ name) => {
    canvas.style.color = `var(${name})`;
    return getComputedStyle(canvas).color;
  };
  const [left, bottom] = axes ? [AXIS.left, heightPx - AXIS.bottom] : [0, heightPx - TOP_PX];
  const first = times[0] ?? 0;
  const spanX = Math.max(Number.MIN_VALUE, (times.at(-1) ?? 0) - first);
  const most = Math.max(...lines.flat().map(Number)) || 1;
  const x = (/** @type {number} */ time) => left + ((time - first) / spanX) * (widthPx - left - 1);
  const y = (/** @type {number} */ value) => bottom - (value / most) * (bottom - TOP_PX);
  if (axes) {
    pen.strokeStyle = colourOf('--line');
    pen.fillStyle = colourOf('--faint');
    pen.font = AXIS.font;
    pen.beginPath();
    for (const value of roundNumbers(most, (bottom - TOP_PX) / AXIS.everyYPx)) {
      pen.moveTo(left, y(value));
      pen.lineTo(widthPx, y(value));
      pen.textAlign = 'right';
      pen.fillText(axes.textY(value), left - 5, y(value) + 4);
    }
    const places = (widthPx - left) / AXIS.everyXPx;
    for (const value of axes.ticksX?.(first, spanX, places) ?? roundNumbers(spanX, places)) {
      pen.moveTo(x(first + value), TOP_PX);
      pen.lineTo(x(first + value), bottom);
      const text = axes.textX(value);
      const half = pen.measureText(text).width / 2;
      pen.textAlign = 'center';
      pen.fillText(text, Math.min(widthPx - half, x(first + value)), heightPx - 5);
    }
    pen.stroke();
  }
  strokes.forEach(({ colour, width = 1.5, dash = [] }, number) => {
    pen.strokeStyle = colourOf(colour);
    pen.lineWidth = width;
    pen.setLineDash(dash);
    pen.beginPath();
    let before = /** @type {number | null} */ (null);
    times.forEach((time, at) => {
      const value = lines[number][at];
      // A sparkline has a gap where nothing is known.
      if (value === null && !axes) before = null;
      if (time === null || value === null) return;
      // With axes a value holds until the next one.
      if (axes && before !== null) pen.lineTo(x(time), y(before));
      pen[before === null ? 'moveTo' : 'lineTo'](x(time), y(value));
      before = value;
    });
    pen.stroke();
  });
}

/**
 * Its text is beside it: the canvas itself is hidden from who doesn't see it.
 * @param {{data: (number | null)[][], strokes: Stroke[], heightPx: number, axes?: Axes}} props `data` has the times first
 */
export function Plot(props) {
  const place = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const colours = `${useSignal(theme)} ${useSignal(isSystemDark)}`;
  useEffect(() => {
    const canvas = place.current;
    if (!canvas?.parentElement) return undefined;
    const observer = new ResizeObserver(() => draw(canvas, props));
    observer.observe(canvas.parentElement);
    return () => observer.disconnect();
  }, [colours, props.data]);
  return html`<div class="plot" aria-hidden="true" style=${{ height: `${props.heightPx}px` }}><canvas ref=${place}></canvas></div>`;
}
