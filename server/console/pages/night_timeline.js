/** Runs as bars over a span of time, of which a part is chosen with the pointer or with buttons. */
import { html, useRef } from '../vendor/htm-preact.js';
import { countText, percentText, plural, wordsOf } from '../core/figures.js';
import { useQuery } from '../core/query.js';
import { change, hrefOf } from '../core/route.js';
import { between, STEP_NAMES, stepped } from '../core/time_range.js';
import { clockText, durationText, now } from '../core/time_text.js';
import { Brush } from '../parts/brush.js';
import { linesOf, MarkWords, useMarks } from '../parts/marks.js';
import { Answer, Empty } from '../parts/notice.js';
import { VirtualList } from '../parts/virtual_list.js';

const ROW_PX = 24;
const ROWS_SHOWN = 500;
const TONES = /** @type {Record<string, string>} */ ({ succeeded: 'good', failed: 'bad', running: 'busy', paused: 'wait', queued: 'idle', canceled: 'idle' });

/** Shows a part of the time; the address has it. @param {import('../core/time_range.js').Range} range */
const choose = ({ from, to }) => change({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });

/** @typedef {{style: string, title: string, kind: string, href?: string}} Drawn */
/**
 * What is drawn of the bars of a row, of one answer: a scroll shows rows again and again, and texts and
 * places are made of a row when it is first seen.
 * @type {WeakMap<any[], Drawn[]>}
 */
const drawn = new WeakMap();

/** @param {any} row @param {number} from @param {number} whole @returns {Drawn[]} */
function drawnOf({ bars }, from, whole) {
  const known = drawn.get(bars);
  if (known) return known;
  const made = bars.map((/** @type {any} */ bar) => {
    const [began, ended] = [Date.parse(bar.from), Date.parse(bar.to)];
    // What reaches beyond the time on screen is cut.
    const begin = Math.max(0, (began - from) / whole);
    const width = Math.min(1, (ended - from) / whole) - begin;
    return {
      style: `left: ${percentText(begin)}; width: max(2px, ${percentText(width)})`,
      title: `${bar.runs > 1 ? plural(bar.runs, 'run') : wordsOf(bar.status)} ${clockText(bar.from)}, ${durationText(ended - began)}`,
      kind: `fall-bar tone-${TONES[bar.status] ?? 'idle'}`,
      href: bar.run_id && hrefOf('run', { id: bar.run_id }),
    };
  });
  drawn.set(bars, made);
  return made;
}

/** The bars of one row. A link's title is its name too. @param {{row: any, from: number, whole: number}} props */
function Bars({ row, from, whole }) {
  return html`<span class="fall-track" role="cell">${drawnOf(row, from, whole).map(({ style, title, kind, href }) =>
    (href ? html`<a class=${kind} style=${style} title=${title} draggable=${false} href=${href}></a>` : html`<i class=${kind} style=${style} title=${title}></i>`))}</span>`;
}

/** @param {{from: string, to?: string, group: string}} props */
export function Timeline({ from: asked, to: until, group }) {
  const answer = useQuery('timeline.get', { from: asked, ...(until ? { to: until } : {}), group, max_rows: ROWS_SHOWN });
  // What was there stays until the next part is: who goes on by keys keeps the focus.
  const kept = useRef(/** @type {any} */ (undefined));
  if (answer.data) kept.current = answer.data;
  const marks = useMarks(kept.current?.from, kept.current?.to);
  return html`<${Answer} answer=${{ error: answer.error, data: kept.current }}>${(/** @type {any} */ data) => {
    const range = { from: Date.parse(data.from), to: Date.parse(data.to) };
    const wanted = { from: Date.parse(asked), to: Date.parse(until ?? '') };
    const next = (/** @type {string} */ step) => stepped(Number.isFinite(wanted.to - wanted.from) ? wanted : range, step, now.peek());
    const rows = data.rows.map((/** @type {any} */ row) => ({ key: row.name, ...row }));
    return html`<p class="kinds" aria-busy=${answer.data || answer.error ? null : 'true'}><span>${plural(data.runs_total, 'run')}</span><span>${clockText(data.from)} to ${clockText(data.to)}</span> <${MarkWords} marks=${marks} />
        ${data.rows_total > data.rows.length && html`<span>the latest ${countText(data.rows.length)} of ${countText(data.rows_total)} rows</span>`}</p>
      <div class="filters"><span class="choice" role="group" aria-label="time on screen">${STEP_NAMES.map((step) => html`<button class="chip" key=${step} onClick=${() => choose(next(step))}>${step}</button>`)}
          ${until && html`<button class="chip" onClick=${() => change({ from: undefined, to: undefined })}>all of it</button>`}</span></div>
      ${rows.length === 0 ? html`<${Empty} text="No run was there in this time." command="signalbox run list" />`
    : html`<${Brush} class="timeline" style=${{ '--marks': linesOf(marks, (ms) => (ms - range.from) / Math.max(1, range.to - range.from)) }} onChoose=${(/** @type {number} */ one, /** @type {number} */ other) => choose(between(range, one, other, now.peek()))}><${VirtualList} rows=${rows} rowPx=${ROW_PX} isReused=${true} label="Runs over time" row=${(/** @type {any} */ row) => html`
        <span class="timeline-name cut" role="cell" title=${row.goal ?? row.name}>${row.goal ?? row.name}</span><${Bars} row=${row} from=${range.from} whole=${Math.max(1, range.to - range.from)} />`} /><//>`}`;
  }}<//>`;
}
