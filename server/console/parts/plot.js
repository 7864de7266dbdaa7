/** A plot over time, on a canvas. The library for it is loaded with the first one. */
import { html, useEffect, useRef } from '../vendor/htm-preact.js';
import { theme } from '../core/theme.js';
import { useSignal } from '../core/use_signal.js';

/**
 * @typedef {{colour: string, width?: number, dash?: number[]}} Stroke `colour` is a custom property of the style
 * @typedef {{valuesX: (_: any, all: number[]) => string[], valuesY: (_: any, all: number[]) => string[]}} Axes
 */

/**
 * Its text is beside it: the canvas itself is hidden from who doesn't see it.
 * With axes, x is no time, and each value holds until the next one.
 * @param {{data: any[], strokes: Stroke[], heightPx: number, axes?: Axes}} props
 */
export function Plot({ data, strokes, heightPx, axes }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const chosen = useSignal(theme);
  useEffect(() => {
    let isGone = false;
    /** @type {ResizeObserver | undefined} */
    let observer;
    import('../vendor/uplot.js').then(({ default: Library }) => {
      const at = place.current;
      if (isGone || !at) return;
      const colourOf = (/** @type {string} */ name) => getComputedStyle(at).getPropertyValue(name);
      const hidden = { show: false };
      const shape = axes ? { paths: Library.paths.stepped({ align: 1 }) } : {};
      const axis = { stroke: colourOf('--faint'), grid: { stroke: colourOf('--line'), width: 1 }, ticks: hidden, font: '11px sans-serif' };
      plot.current = new Library({
        width: at.clientWidth, height: heightPx, padding: [4, 0, axes ? 0 : 4, 0], legend: hidden, cursor: hidden,
        scales: { x: { time: !axes }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ most) => [0, most || 1] } },
        axes: axes ? [{ ...axis, size: 22, values: axes.valuesX }, { ...axis, size: 40, values: axes.valuesY }] : [hidden, hidden],
        series: [{}, ...strokes.map(({ colour, width = 1.5, dash }) => ({ stroke: colourOf(colour), width, dash, points: hidden, ...shape }))],
      }, data, at);
      observer = new ResizeObserver(() => plot.current?.setSize({ width: at.clientWidth, height: heightPx }));
      observer.observe(at);
    });
    return () => {
      isGone = true;
      observer?.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [chosen]);
  useEffect(() => plot.current?.setData(data), [data]);
  return html`<div ref=${place} class="plot" aria-hidden="true"></div>`;
}
