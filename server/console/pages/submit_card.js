/** The form that puts a card on the board. */
import { html, useState } from '../vendor/htm-preact.js';
import { useQuery } from '../core/query.js';
import { call, commandId } from '../core/rpc.js';
import { closeDialog } from '../parts/dialog.js';
import { Problem } from '../parts/notice.js';

/** @param {{project?: string}} props */
export function SubmitCard({ project = '' }) {
  const { data } = useQuery('project.list', { limit: 500 });
  const names = (data?.projects ?? []).map((/** @type {any} */ each) => each.name);
  const [fields, setFields] = useState(/** @type {Record<string, string>} */ ({ project, title: '', brief: '', key: '', priority: '' }));
  const [error, setError] = useState(/** @type {any} */ (null));
  const [id] = useState(() => commandId('card'));
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setFields({ ...fields, [name]: event.target.value });
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const params = Object.fromEntries(Object.entries({ ...fields, project: fields.project || names[0] }).filter(([, value]) => value));
    try {
      await call('card.submit', { ...params, command_id: id });
      closeDialog();
    } catch (refused) {
      setError(refused);
    }
  };
  return html`<form class="action" onSubmit=${submit}><h2 id="dialog-title">Submit a card</h2>
    <label>Project<select required value=${fields.project || names[0]} onChange=${set('project')}>${names.map((/** @type {string} */ name) => html`<option key=${name}>${name}</option>`)}</select></label>
    <label>Title<input type="text" required autofocus value=${fields.title} onInput=${set('title')} /></label>
    <label>Brief (optional)<textarea rows="5" value=${fields.brief} onInput=${set('brief')}></textarea></label>
    <label>Key (optional): cards with one are worked on one after the other<input type="text" value=${fields.key} onInput=${set('key')} /></label>
    <label>Priority (optional): higher ones come first<input type="number" min="0" value=${fields.priority} onInput=${set('priority')} /></label>
    <${Problem} error=${error} />
    <div class="buttons"><button type="button" onClick=${closeDialog}>Leave it</button><button class="primary">Submit</button></div></form>`;
}
