/** The forms that start a run, and put a card on the board. */
import { html } from '../vendor/htm-preact.js';
import { useQuery } from '../core/query.js';
import { go } from '../core/route.js';
import { call } from '../core/rpc.js';
import { BUDGET } from '../parts/actions.js';
import { Form, isEmpty, paramsOf } from '../parts/form.js';

/** @typedef {{isShown: () => boolean, close: () => void}} OwnDialog */

export function SubmitCard(/** @type {{project?: string}} */ { project }) {
  const { data } = useQuery('project.list', { limit: 500 });
  const names = (data?.projects ?? []).map((/** @type {any} */ each) => each.name);
  /** @type {Field[]} */
  const fields = [
    { label: 'Project', param: 'project', option: '--project', value: project ?? names[0], isRequired: true, choices: names },
    { label: 'Title', param: 'title', option: '', isRequired: true, autofocus: true },
    { label: 'Brief (optional)', param: 'brief', option: '--brief', tag: 'textarea', rows: 5 },
    { label: 'Key (optional): cards with one are worked on one after the other', param: 'key', option: '--key' },
    { label: 'Priority (optional): higher ones come first', param: 'priority', option: '--priority', of: Number, type: 'number', min: 0 },
  ];
  const submit = async (/** @type {Given} */ given, /** @type {string} */ id, /** @type {OwnDialog} */ dialog) => {
    await call('card.submit', { ...paramsOf(fields, given), command_id: id });
    dialog.close();
  };
  return html`<${Form} title="Submit a card" verb="Submit" fields=${fields} command="signalbox card submit" send=${submit} />`;
}

function pipelineOf(/** @type {string} */ text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw { code: 'PIPELINE_INVALID', message: `it isn’t JSON: ${/** @type {Error} */ (error).message}` };
  }
}

/** @type {Field[]} */
const FIELDS = [
  { label: 'Goal', param: 'goal', option: '', isRequired: true, tag: 'textarea', rows: 3, autofocus: true },
  { label: 'Project (optional)', param: 'project', option: '--project' },
  { label: 'Repository (optional)', param: 'repository', option: '--repository', placeholder: 'a path on the machine of the service' },
  { label: 'Pipeline (optional): as JSON, such as the page of a project shows it', param: 'pipeline', of: pipelineOf, tag: 'textarea', rows: 3, class: 'mono' },
];

async function start(/** @type {Given} */ given, /** @type {string} */ key, /** @type {OwnDialog} */ dialog) {
  const budget = isEmpty(BUDGET, given) ? {} : { budget: paramsOf(BUDGET, given) };
  const { run_id: id } = await call('run.start', { ...paramsOf(FIELDS, given), ...budget, idempotency_key: key });
  if (!dialog.isShown()) return; // they do something else by now
  dialog.close();
  go('run', { id });
}

export const StartRun = () => html`<${Form} title="Start a run" verb="Start" fields=${FIELDS} budget=${BUDGET} command="signalbox run start"
  where=${html`, where <code>--pipeline FILE</code> gives the pipeline`} send=${start} />`;
