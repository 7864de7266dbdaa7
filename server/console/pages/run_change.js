/** What the run changed in its repository, and the decision about it. */
import { html } from '../vendor/htm-preact.js';
import { useQuery } from '../core/query.js';
import { actionsFor, ActionButtons, Findings, findingsOf, runTarget } from '../parts/actions.js';
import { DiffView } from '../parts/diff_view.js';
import { Answer } from '../parts/notice.js';

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
      <p class="faint">${SOURCES[data.source] ?? data.source}${data.files !== undefined && data.files !== null ? html`: ${data.files} files, <span class="tone-good">+${data.added}</span> <span class="tone-bad">−${data.removed}</span>` : ''}
        ${data.base && html` since <code>${data.base.slice(0, 12)}</code>`}${data.is_cut ? ', the beginning of it' : ''}</p>
      <${DiffView} text=${data.text} />`}<//>`;
}
