/** The projects: the policy in force, where it comes from, and what is refused of its file. */
import { html } from '../vendor/htm-preact.js';
import { valueText, wordsOf } from '../core/figures.js';
import { whyNot } from '../core/identity.js';
import { moment } from '../core/past.js';
import { usePresentQuery, useQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { useSignal } from '../core/use_signal.js';
import { Answer, Commands, Empty } from '../parts/notice.js';
import { Facts, Rows } from '../parts/rows.js';
import { Age, EventLink } from '../parts/status.js';

/** What the cards of the project will miss, as git has it now: no event says when that changes. @param {{name: string}} props */
function Missing({ name }) {
  const isPast = useSignal(moment) !== null;
  const why = isPast ? 'How the repository was at that moment isn’t in the log.' : whyNot('project.check');
  const answer = usePresentQuery(why ? null : 'project.check', { name });
  if (why) return html`<section aria-label="What its cards will miss"><h2>What its cards will miss</h2><p class="faint">${why}</p></section>`;
  return html`<section aria-label="What its cards will miss"><h2>What its cards will miss</h2>
    <${Answer} answer=${answer}>${({ warnings, not_checked: unknown = [] }) => html`
      ${warnings.length + unknown.length === 0 && html`<p class="faint">Nothing is missing.</p>`}
      ${unknown.length > 0 && html`<p class="tone-wait">Not checked, since git failed or didn’t answer in time: ${unknown.map(wordsOf).join(', ')}.</p>`}
      ${warnings.length > 0 && html`<ul class="missing">${warnings.map((/** @type {any} */ { code, text, next_commands: commands }) => html`<li key=${text}>
        <b class="tone-wait">${wordsOf(code)}</b> ${text}<${Commands} commands=${commands} /></li>`)}</ul>`}`}<//>
    <p class="actions"><button class="small" onClick=${answer.refresh}>Look again</button></p></section>`;
}

/** @type {Record<string, string>} */
const holdTexts = { gone: 'is gone', unreadable: 'couldn’t be read', never_understood: 'was never understood' };

function ProjectDetail(/** @type {{name: string}} */ { name }) {
  const answer = useQuery('project.get', { name });
  return html`<${Answer} answer=${answer}>${({ project }) => html`
    <div class="head"><div class="run-title"><span class="faint"><a href=${hrefOf('projects')}>Projects</a></span><h1>${project.name}</h1></div>
      <a class="button" href=${hrefOf('board', { project: name })}>Board</a></div>
    ${project.refused && html`<div class="problem" role="alert"><b>${project.policy_file} line ${project.refused.line}</b> ${project.refused.message}
      <p class="faint">The policy before stays in force. <${EventLink} position=${project.refused.position} /> <${Age} time=${project.refused.recorded_at} /> ago</p></div>`}
    ${project.policy_hold && html`<div class="problem" role="alert">Nothing of this project is started or merged: its policy file ${holdTexts[project.policy_hold] ?? project.policy_hold}.
      <${Commands} commands=${[`signalbox project get ${name}`]} /></div>`}
    <${Facts} of=${[['repository', html`<code>${project.repository}</code>`], ['base', project.base], ['remote', project.remote],
      ...Object.entries(project.cards).map(([status, count]) => [wordsOf(status), count])]} />
    <${Missing} name=${name} />
    <section aria-label="Policy"><h2>Policy in force</h2><${Rows} label="Policy keys" heads=${['key', 'value']} isHeadUnseen=${true}>
      <tbody>${Object.entries(project.policy ?? {}).map(([key, value]) => html`<tr key=${key}><td class="mono">${key}</td><td class="wide">${valueText(value)}</td></tr>`)}</tbody><//></section>
    <section aria-label="Pipeline"><h2>Pipeline</h2><pre tabindex="0" aria-label="Pipeline">${JSON.stringify(project.pipeline, null, 2)}</pre></section>`}<//>`;
}

function ProjectList() {
  const answer = useQuery('project.list', { limit: 500 });
  return html`<h1>Projects</h1><${Answer} answer=${answer}>${(data) => data.projects.length === 0
    ? html`<${Empty} text="There is no project yet." command="signalbox project put NAME --repository PATH" />`
    : html`<${Rows} label="All projects" heads=${['project', 'repository', 'base', 'cards', 'policy']}><tbody>${data.projects.map((/** @type {any} */ project) => html`<tr key=${project.name}>
      <td><a href=${hrefOf('projects', { name: project.name })}>${project.name}</a></td><td class="cut wide mono faint">${project.repository}</td><td>${project.base}</td>
      <td class="faint">${Object.entries(project.cards).filter(([, count]) => count).map(([status, count]) => `${count} ${wordsOf(status)}`).join(', ')}</td>
      <td>${project.policy_hold ? html`<span class="tone-bad">held</span>` : project.policy_digest ? 'its file' : html`<span class="faint">${project.policy_read ? 'defaults' : 'not read yet'}</span>`}</td></tr>`)}</tbody><//>`}<//>`;
}

export const Projects = (/** @type {{params: Record<string, string>}} */ { params: { name } }) =>
  html`<div class="page projects">${name ? html`<${ProjectDetail} name=${name} />` : html`<${ProjectList} />`}</div>`;
