/** What the run changed in its repository, and the decision about it. */
import { html, useState } from '../vendor/htm-preact.js';
import { filesOfDiff } from '../core/diff.js';
import { plural } from '../core/figures.js';
import { useQuery } from '../core/query.js';
import { actionsFor, ActionButtons, Findings, findingsOf, runTarget } from '../parts/actions.js';
import { Answer } from '../parts/notice.js';

const FILE_LINES_MAX = 400;

const KINDS = /** @type {Record<string, string>} */ ({ '+': 'added', '-': 'removed', '@': 'hunk' });

function DiffFile(/** @type {{file: ReturnType<typeof filesOfDiff>[number], isOpen: boolean}} */ { file, isOpen }) {
  const [isWhole, setWhole] = useState(false);
  const lines = isWhole ? file.lines : file.lines.slice(0, FILE_LINES_MAX);
  return html`<details class="diff-file" open=${isOpen}>
    <summary><span class="mono">${file.name}</span> <span class="tone-good">+${file.added}</span> <span class="tone-bad">−${file.removed}</span></summary>
    <pre tabindex="0" aria-label="Change of ${file.name}">${lines.map((line) => html`<span class="diff-${KINDS[line[0]] ?? 'same'}">${line}${'\n'}</span>`)}</pre>
    ${lines.length < file.lines.length && html`<button class="small" onClick=${() => setWhole(true)}>all ${file.lines.length} lines</button>`}
  </details>`;
}

const OPEN_FILES_MAX = 8;

const DiffView = (/** @type {{text: string}} */ { text }) =>
  html`<div class="diff">${filesOfDiff(text).map((file, index) => html`<${DiffFile} key=${`${index} ${file.name}`} file=${file} isOpen=${index < OPEN_FILES_MAX} />`)}</div>`;

const SOURCES = /** @type {Record<string, string>} */ ({
  worktree: 'in its worktree now', rescue: 'as it was rescued of its worktree', branch: 'on its branch',
  artifact: 'in its change.patch',
});

export function RunChange(/** @type {{run: any}} */ { run }) {
  const answer = useQuery('run.diff', { run_id: run.run_id });
  const decisions = actionsFor('run', run).filter(({ params }) => params?.decision);
  const station = run.stations.find((/** @type {any} */ each) => each.waiting_for === 'approval');
  return html`${decisions.length > 0 && html`<div class="decision"><p><b>${station?.station}</b> waits for your decision${station?.waiting_note ? `: ${station.waiting_note}` : '.'}</p>
      <${ActionButtons} actions=${decisions} targets=${[runTarget(run)]} /></div>`}
    <${Findings} of=${findingsOf(run)} />
    <${Answer} answer=${answer}>${(data) => html`
      <p class="faint">${SOURCES[data.source] ?? data.source}${data.files !== undefined && data.files !== null ? html`: ${plural(data.files, 'file')}, <span class="tone-good">+${data.added}</span> <span class="tone-bad">−${data.removed}</span>` : ''}
        ${data.base && html` since <code>${data.base.slice(0, 12)}</code>`}${data.is_cut ? ', the beginning of it' : ''}</p>
      <${DiffView} text=${data.text} />`}<//>`;
}
