/** The runs at work, each with the latest line of its job, and those that make no progress. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { has } from '../core/identity.js';
import { lastLine } from '../core/job_output.js';
import { moment } from '../core/past.js';
import { parsePlain } from '../core/plain_text.js';
import { useQuery } from '../core/query.js';
import { hrefOf } from '../core/route.js';
import { useSignal } from '../core/use_signal.js';
import { actionsFor, ActionButtons, runTarget } from '../parts/actions.js';
import { plainLine } from '../parts/ansi.js';
import { Answer, Empty } from '../parts/notice.js';
import { Rows } from '../parts/rows.js';
import { Age, RunLink, RunState, StationBoxes } from '../parts/status.js';

const RUNS_SHOWN = 50;
/** So many lines are asked for, each so often: output is no event. */
const LINES_SHOWN = 8;
const LINE_MS = 5000;
const LINE_LENGTH_MAX = 300;

/** Fields of an agent's messages that have text for people. */
const TEXTS = ['text', 'result', 'message', 'command', 'content', 'item', 'name'];

/** Returns the first text in an agent's message, or an empty one. @param {any} value @returns {string} */
function textIn(value) {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textIn).find(Boolean) ?? '';
  if (value === null || typeof value !== 'object') return '';
  return TEXTS.map((name) => textIn(value[name])).find(Boolean) ?? '';
}

/** Returns what a line says to a person: that of an agent is a message in JSON, whose escapes may be any character. @param {string} line */
function readable(line) {
  const plain = plainLine(line);
  try {
    return (textIn(parsePlain(plain)) || plain).replaceAll('\n', ' ');
  } catch {
    return plain;
  }
}

/** @param {{id: string, state: string}} props `state`: of the run; there is nothing to ask for until it changes, after a refusal */
function LastLine({ id, state }) {
  const at = useSignal(moment);
  const [line, setLine] = useState('');
  useEffect(() => {
    if (at !== null || !has('run.log')) return undefined;
    const ended = new AbortController();
    let timer = 0;
    const look = async () => {
      let isRefused = false;
      if (!document.hidden) {
        // Where there is no output to read there is no line either; the run's page says why.
        setLine(await lastLine(id, ended.signal).catch(({ code }) => {
          isRefused = code !== 'UNREACHABLE';
          return '';
        }));
      }
      if (!ended.signal.aborted && !isRefused) timer = setTimeout(look, LINE_MS);
    };
    look();
    return () => {
      ended.abort();
      clearTimeout(timer);
    };
  }, [id, state, at]);
  if (!line || at !== null) return null;
  return html`<div class="faint mono cut">${readable(line).slice(0, LINE_LENGTH_MAX)}</div>`;
}

function AtWork() {
  const answer = useQuery('run.list', { status: 'running', limit: RUNS_SHOWN });
  return html`<section aria-label="At work"><h2>At work ${answer.data && html`<span class="faint">${answer.data.runs.length}${answer.data.next_cursor ? '+' : ''}</span>`}</h2>
    <${Answer} answer=${answer}>${(data) => data.runs.length === 0
      ? html`<${Empty} text="No run is at work." command=${'signalbox run start "fix the failing test"'} />`
      : html`<${Rows} label="Runs at work" heads=${['run', 'goal', 'project', 'stations', 'state', 'since']} isHeadUnseen=${true}>
        <tbody>${data.runs.map((/** @type {any} */ run, /** @type {number} */ index) => html`<tr key=${run.run_id}>
          <td><${RunLink} id=${run.run_id} /></td><td class="cut wide"><a href=${hrefOf('run', { id: run.run_id })}>${run.goal}</a>${index < LINES_SHOWN && html`<${LastLine} id=${run.run_id} state=${run.updated_at} />`}</td>
          <td class="faint cut">${run.project}</td><td><${StationBoxes} run=${run} /></td>
          <td class="cut"><${RunState} run=${run} /></td><td class="number"><${Age} time=${run.started_at} /></td></tr>`)}</tbody><//>`}<//>
    </section>`;
}

/** Attempts that say they live, and make no progress. */
function Wedged() {
  const { data } = useQuery('run.list', { waiting_for: 'stalled', limit: RUNS_SHOWN });
  if (!data || data.runs.length === 0) return null;
  return html`<section aria-label="Wedged"><h2>Wedged <span class="faint">${data.runs.length}${data.next_cursor ? '+' : ''}</span></h2>
    <${Rows} label="Wedged runs" heads=${['run', 'goal', 'station', 'without progress', 'actions']} isHeadUnseen=${true}>
      <tbody>${data.runs.map((/** @type {any} */ run) => html`<tr key=${run.run_id}>
        <td><${RunLink} id=${run.run_id} /></td><td class="cut wide"><a href=${hrefOf('run', { id: run.run_id, tab: 'why' })}>${run.goal}</a></td>
        <td class="tone-wait">${run.station}</td><td class="number">stalled for <${Age} time=${run.last_progress_at} /></td>
        <td><${ActionButtons} actions=${actionsFor('run', run)} targets=${[runTarget(run)]} small=${true} /></td></tr>`)}</tbody><//></section>`;
}

export const Working = () => html`<${Wedged} /><${AtWork} />`;
