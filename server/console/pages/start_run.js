/** The form that starts a run. */
import { html, useState } from '../vendor/htm-preact.js';
import { shellWord } from '../core/figures.js';
import { call, commandId } from '../core/rpc.js';
import { go } from '../core/route.js';
import { BUDGET, budgetOf } from '../parts/actions.js';
import { closeDialog } from '../parts/dialog.js';
import { Command, Problem } from '../parts/notice.js';

/** Fields with the option of the command line that says the same. */
const OPTIONS = [['project', '--project'], ['repository', '--repository'], ['cost_microusd', '--max-cost-usd'], ['tokens', '--max-tokens'], ['turns', '--max-turns']];

export function StartRun() {
  const [fields, setFields] = useState(/** @type {Record<string, string>} */ ({}));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [key] = useState(() => commandId('start'));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields({ ...fields, [name]: event.target.value });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const { goal, project, repository, pipeline, ...figures } = fields;
    const budget = budgetOf(BUDGET, figures);
    try {
      const { run_id: id } = await call('run.start', {
        goal, ...(project ? { project } : {}), ...(repository ? { repository } : {}), ...(pipeline ? { pipeline: JSON.parse(pipeline) } : {}),
        ...(Object.keys(budget).length ? { budget } : {}), idempotency_key: key,
      });
      closeDialog();
      go('run', { id });
    } catch (refused) {
      setError(refused instanceof SyntaxError ? { code: 'PIPELINE_INVALID', message: `it isn’t JSON: ${refused.message}` } : refused);
    }
  };
  const options = OPTIONS.map(([name, option]) => fields[name] && `${option} ${shellWord(fields[name])}`);
  const command = ['signalbox run start', shellWord(fields.goal || 'GOAL'), ...options.filter(Boolean)].join(' ');
  return html`<form class="action" onSubmit=${submit}>
    <h2 id="dialog-title">Start a run</h2>
    <label>Goal<textarea rows="3" required autofocus value=${fields.goal} onInput=${set('goal')}></textarea></label>
    <label>Project (optional)<input type="text" value=${fields.project} onInput=${set('project')} /></label>
    <label>Repository (optional)<input type="text" value=${fields.repository} placeholder="a path on the machine of the service" onInput=${set('repository')} /></label>
    <label>Pipeline (optional): as JSON, such as the page of a project shows it<textarea rows="3" class="mono" value=${fields.pipeline} onInput=${set('pipeline')}></textarea></label>
    <fieldset class="budget"><legend>Budget (optional)</legend>${BUDGET.map(({ label, param }) => html`<label key=${param}>${label}<input type="number" min="0" step="any" value=${fields[param]} onInput=${set(param)} /></label>`)}</fieldset>
    <${Problem} error=${error} />
    <p class="faint">The same from a terminal, where <code>--pipeline FILE</code> gives the pipeline: <${Command} command=${command} /></p>
    <div class="buttons"><button type="button" onClick=${closeDialog}>Leave it</button><button class="primary">Start</button></div></form>`;
}
