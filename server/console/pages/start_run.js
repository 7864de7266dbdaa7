/** The form that starts a run. */
import { html, useState } from '../vendor/htm-preact.js';
import { call, commandId } from '../core/rpc.js';
import { go } from '../core/route.js';
import { shellWord } from '../core/shell_word.js';
import { closeDialog } from '../parts/dialog.js';
import { Command, Problem } from '../parts/notice.js';

export function StartRun() {
  const [fields, setFields] = useState({ goal: '', project: '', repository: '' });
  const [error, setError] = useState(/** @type {any} */ (null));
  const [key] = useState(() => commandId('start'));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields({ ...fields, [name]: event.target.value });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const params = Object.fromEntries(Object.entries(fields).filter(([, value]) => value));
    try {
      const { run_id: id } = await call('run.start', { ...params, idempotency_key: key });
      closeDialog();
      go('run', { id });
    } catch (refused) {
      setError(refused);
    }
  };
  const options = [fields.project && `--project ${shellWord(fields.project)}`, fields.repository && `--repository ${shellWord(fields.repository)}`];
  const command = ['signalbox run start', shellWord(fields.goal || 'GOAL'), ...options.filter(Boolean)].join(' ');
  return html`<form class="action" onSubmit=${submit}>
    <h2 id="dialog-title">Start a run</h2>
    <label>Goal<textarea rows="3" required autofocus value=${fields.goal} onInput=${set('goal')}></textarea></label>
    <label>Project (optional)<input type="text" value=${fields.project} onInput=${set('project')} /></label>
    <label>Repository (optional)<input type="text" value=${fields.repository} placeholder="a path on the machine of the service" onInput=${set('repository')} /></label>
    <${Problem} error=${error} />
    <p class="faint">The same from a terminal, where <code>--pipeline FILE</code> gives another pipeline than the default: <${Command} command=${command} /></p>
    <div class="buttons"><button type="button" onClick=${closeDialog}>Leave it</button><button class="primary">Start</button></div></form>`;
}
