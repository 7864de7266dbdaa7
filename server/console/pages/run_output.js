/** What the jobs of a run printed: live while they run, and whole afterwards. */
import { html, useEffect, useMemo, useState } from '../vendor/htm-preact.js';
import { bytesText } from '../core/figures.js';
import { useJobOutput } from '../core/job_output.js';
import { change } from '../core/route.js';
import { AnsiLine, plainLine } from '../parts/ansi.js';
import { Asking, Empty, Problem } from '../parts/notice.js';
import { VirtualList } from '../parts/virtual_list.js';

const LINE_PX = 18;
const LINE_CHARACTERS_MAX = 4000;
const ERROR = /\b(error|fatal|panic|failed|exception|traceback)\b/i;

/** Returns the lines of a text that have a word. @param {string} text @param {string} word @returns {{key: number, line: string}[]} */
function linesOf(text, word) {
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  const found = word.toLowerCase();
  return all.map((line, key) => ({ key, line })).filter(({ line }) => !found || plainLine(line).toLowerCase().includes(found))
    .map(({ key, line }) => ({ key, line: line.length > LINE_CHARACTERS_MAX ? `${line.slice(0, LINE_CHARACTERS_MAX)} …` : line }));
}

export function RunOutput(/** @type {{run: any, params: Record<string, string>}} */ { run, params }) {
  const attempts = run.stations.flatMap((/** @type {any} */ station) =>
    station.attempts.filter((/** @type {any} */ each) => each.job_id).map((/** @type {any} */ each) => ({ station: station.station, attempt: each.attempt })));
  const last = attempts.at(-1);
  const chosen = { station: params.station ?? last?.station, attempt: Number(params.attempt ?? last?.attempt) };
  if (!last) return html`<${Empty} text="No job of this machine has worked for this run." command=${`signalbox run why ${run.run_id}`} />`;
  return html`<${Output} key=${JSON.stringify([chosen, params.stream])} run=${run} attempts=${attempts} chosen=${chosen} stream=${params.stream ?? 'stdout'} />`;
}

function Output(/** @type {{run: any, attempts: any[], chosen: any, stream: string}} */ { run, attempts, chosen, stream }) {
  const [word, setWord] = useState('');
  const [isFollowed, setFollowed] = useState(true);
  const [at, setAt] = useState(-1);
  const { output, error, whole } = useJobOutput({ run_id: run.run_id, ...chosen, stream });
  const lines = useMemo(() => linesOf(output?.text ?? '', word), [output?.text, word]);
  const isCut = Boolean(output && output.from > 0);
  // What is looked for may be anywhere in it.
  useEffect(() => {
    if (word && isCut) whole();
  }, [word !== '', isCut]);
  const value = `${chosen.station}/${chosen.attempt}/${stream}`;
  const onChoose = (/** @type {any} */ event) => {
    const [station, attempt, which] = JSON.parse(event.target.value);
    change({ station, attempt: String(attempt), stream: which === 'stdout' ? undefined : which });
  };
  const firstError = async () => {
    setFollowed(false);
    setAt(linesOf(await whole(), word).findIndex(({ line }) => ERROR.test(plainLine(line))));
  };
  return html`<div class="output-head">
      <select aria-label="Output of" onChange=${onChoose}>${attempts.flatMap(({ station, attempt }) => ['stdout', 'stderr'].map((which) => html`
        <option key=${`${station}/${attempt}/${which}`} value=${JSON.stringify([station, attempt, which])} selected=${value === `${station}/${attempt}/${which}`}>${station} ${attempt}${which === 'stderr' ? ' · stderr' : ''}</option>`))}</select>
      <input type="search" class="filter" aria-label="Lines with" placeholder="lines with …" value=${word} onInput=${(event) => { setWord(event.target.value); setAt(-1); }} />
      <button class="small" onClick=${firstError}>first error</button>
      <label class="check"><input type="checkbox" checked=${isFollowed} onChange=${(event) => setFollowed(event.target.checked)} /> follow</label>
      ${output && html`<span class="faint">${bytesText(output.end)} ${output.running ? '· running' : ''}</span>`}
      ${isCut && html`<button class="small" onClick=${whole}>all of it</button>`}</div>
    <${Problem} error=${error} />
    ${!output && !error && html`<${Asking} />`}
    ${output && lines.length === 0 && html`<p class="faint">${word ? (isCut && !error ? 'looking through all of it …' : 'No line has that.') : 'It printed nothing.'}</p>`}
    <div class="output"><${VirtualList} rows=${lines} rowPx=${LINE_PX} label="Output" selected=${at} isAtEnd=${isFollowed}
      row=${({ line }) => html`<span role="cell"><${AnsiLine} line=${line} /></span>`} /></div>`;
}
