/** A list of equally high rows, of which only those on screen are elements. */
import { html, useLayoutEffect, useRef, useState } from '../vendor/htm-preact.js';

export const ROW_PX = 28;
const EXTRA_ROWS = 6;
/** A scroll by less than so many rows renders nothing. */
const STEP_ROWS = 6;

/**
 * Returns a key for each row of the window. A row that was there before has its own again, and one that comes
 * takes that of one that has left: its elements are changed, which is cheaper than making new ones.
 * @param {Map<any, number>} places of the rows that were there; those of these rows afterwards @param {any[]} keys of the rows, none twice
 */
function takePlaces(places, keys) {
  const staying = new Set(keys);
  const free = [...places].filter(([key]) => !staying.has(key)).map(([, place]) => place);
  let next = Math.max(-1, ...places.values()) + 1;
  const taken = keys.map((key) => /** @type {[any, number]} */ ([key, places.get(key) ?? free.shift() ?? next++]));
  places.clear();
  taken.forEach(([key, place]) => places.set(key, place));
  return taken.map(([, place]) => place);
}

/**
 * @param {{rows: any[], row: (row: any, index: number) => any, label: string, onEnd?: () => void,
 *   selected?: number, moves?: number, isAtEnd?: boolean, isBusy?: boolean, rowPx?: number, isReused?: boolean}} props
 * `onEnd` is called when the last row comes near. The row `selected` comes into view when it moves, or with `moves` when
 * that does; or the end is kept in view.
 * `isBusy`: other rows are about to come. `isReused`: the elements of a row that leaves become those of
 * another one, which isn't for rows with fields that have a state of their own.
 */
export function VirtualList({ rows, row, label, onEnd, selected = -1, moves = selected, isAtEnd = false, isBusy = false, rowPx = ROW_PX, isReused = false }) {
  const places = useRef(/** @type {Map<any, number>} */ (new Map()));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [view, setView] = useState({ top: 0, height: 800 });
  const look = () => {
    const { scrollTop = 0, clientHeight = 800 } = box.current ?? {};
    const top = scrollTop - (scrollTop % (STEP_ROWS * rowPx));
    setView((old) => (old.top === top && old.height === clientHeight ? old : { top, height: clientHeight }));
  };
  useLayoutEffect(() => {
    look();
    const observer = new ResizeObserver(look);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || selected < 0) return;
    const top = selected * rowPx;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowPx > element.scrollTop + element.clientHeight) element.scrollTop = top + rowPx - element.clientHeight;
  }, [moves]);
  useLayoutEffect(() => {
    if (isAtEnd && box.current) box.current.scrollTop = rows.length * rowPx;
  }, [isAtEnd, rows.length]);
  const first = Math.max(0, Math.floor(view.top / rowPx) - EXTRA_ROWS);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / rowPx) + STEP_ROWS + EXTRA_ROWS);
  useLayoutEffect(() => {
    if (onEnd && last >= rows.length - EXTRA_ROWS) onEnd();
  }, [last, rows.length]);
  const shown = rows.slice(first, last);
  const keys = shown.map((each, offset) => each.key ?? first + offset);
  const elements = isReused ? takePlaces(places.current, keys) : keys;
  return html`<div class="virtual" ref=${box} onScroll=${look} tabindex="0" role="table" aria-label=${label} aria-rowcount=${rows.length} aria-busy=${isBusy ? 'true' : null}>
    <div class="virtual-all" role="rowgroup" style=${{ height: `${rows.length * rowPx}px` }}>
      ${shown.map((each, offset) => html`<div class="virtual-row ${first + offset === selected ? 'selected' : ''}"
        role="row" aria-rowindex=${first + offset + 1} key=${elements[offset]}
        style=${{ top: `${(first + offset) * rowPx}px`, height: `${rowPx}px` }}>${row(each, first + offset)}</div>`)}
    </div></div>`;
}
