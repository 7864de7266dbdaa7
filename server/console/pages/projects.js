/** The projects: the policy in force, where it comes from, and what is refused of its file. */
import { html } from '../vendor/htm-preact.js';
import { wordsOf } from '../core/figures.js';
import { useQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { Answer, Commands, Empty } from '../parts/notice.js';
import { Rows } from '../parts/rows.js';
import { Age, EventLink } from '../parts/status.js';

const concerns = (/** @type {any} */ event) => /^(project|card)\//.test(event.stream);

/** @param {any} value */
const shown = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

/** @param {{name: string}} props */
function ProjectDetail({ name }) {
  const answer = useQuery('project.get', { name }, concerns);
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ { project }) => html`
    <div class="head"><div class="run-title"><span class="faint"><a href=${hrefOf('projects')}>Projects</a></span><h1>${project.name}</h1></div>
      <a class="button" href=${hrefOf('board', { project: name })}>Board</a></div>
    ${project.refused && html`<div class="problem" role="alert"><b>${project.policy_file} line ${project.refused.line}</b> ${project.refused.message}
      <p class="faint">The policy before stays in force. <${EventLink} position=${project.refused.position} /> <${Age} time=${project.refused.recorded_at} /> ago</p></div>`}
    ${project.policy_hold && html`<div class="problem" role="alert">Nothing of this project is started or merged: its policy file ${project.policy_hold === 'gone' ? 'is gone' : 'was never understood'}.
      <${Commands} commands=${[`signalbox project get ${name}`]} /></div>`}
    <dl class="figures"><div><dt>repository</dt><dd><code>${project.repository}</code></dd></div><div><dt>base</dt><dd>${project.base}</dd></div>
      ${project.remote && html`<div><dt>remote</dt><dd>${project.remote}</dd></div>`}
      ${Object.entries(project.cards).map(([status, count]) => html`<div key=${status}><dt>${wordsOf(status)}</dt><dd>${count}</dd></div>`)}</dl>
    <section aria-label="Policy"><h2>Policy in force</h2><${Rows} label="Policy keys" heads=${['key', 'value']} isHeadUnseen=${true}>
      <tbody>${Object.entries(project.policy ?? {}).map(([key, value]) => html`<tr key=${key}><td class="mono">${key}</td><td class="wide">${shown(value)}</td></tr>`)}</tbody><//></section>
    <section aria-label="Pipeline"><h2>Pipeline</h2><pre tabindex="0" aria-label="Pipeline">${JSON.stringify(project.pipeline, null, 2)}</pre></section>`}<//>`;
}

function ProjectList() {
  const answer = useQuery('project.list', { limit: 500 }, concerns);
  return html`<h1>Projects</h1><${Answer} answer=${answer}>${(/** @type {any} */ data) => data.projects.length === 0
    ? html`<${Empty} text="There is no project yet." command="signalbox project put NAME --repository PATH" />`
    : html`<${Rows} label="All projects" heads=${['project', 'repository', 'base', 'cards', 'policy']}><tbody>${data.projects.map((/** @type {any} */ project) => html`<tr key=${project.name}>
      <td><a href=${hrefOf('projects', { name: project.name })}>${project.name}</a></td><td class="cut wide mono faint">${project.repository}</td><td>${project.base}</td>
      <td class="faint">${Object.entries(project.cards).filter(([, count]) => count).map(([status, count]) => `${count} ${wordsOf(status)}`).join(', ')}</td>
      <td>${project.policy_hold ? html`<span class="tone-bad">held</span>` : project.policy_digest ? 'its file' : html`<span class="faint">defaults</span>`}</td></tr>`)}</tbody><//>`}<//>`;
}

/** @param {{params: Record<string, string>}} props */
export function Projects({ params: { name } }) {
  return html`<div class="page projects">${name ? html`<${ProjectDetail} name=${name} />` : html`<${ProjectList} />`}</div>`;
}
