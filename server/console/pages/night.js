/** What happened over some hours: figures, what failed, and the runs as bars over time. */
import { html } from '../vendor/htm-preact.js';
import { wordsOf } from '../core/figures.js';
import { has } from '../core/identity.js';
import { lastVisit } from '../core/last_visit.js';
import { useQuery } from '../core/query.js';
import { change } from '../core/route.js';
import { clockText } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { Choice } from '../parts/choice.js';
import { Answer } from '../parts/notice.js';
import { reportSentence } from '../parts/report_sentence.js';
import { Rows } from '../parts/rows.js';
import { EventLink, RunLink } from '../parts/status.js';
import { NightCharts } from './night_charts.js';
import { Timeline } from './night_timeline.js';

const PERIODS = ['1h', '8h', '12h', '24h', '168h'];
/** A span is some pixels of the charts. */
const SPANS = 240;
const GROUPS = ['run', 'project', 'pipeline', 'worker'];

/** @param {{since: string}} props */
function Report({ since }) {
  const answer = useQuery('report.get', { since, spans: SPANS });
  return html`<${Answer} answer=${answer}>${(/** @type {any} */ report) => html`<p class="sentence">${reportSentence(report)}</p>
    ${report.failures.length > 0 && html`<${Rows} label="Failures" heads=${['code', 'runs', 'attempts', 'latest']} kind="failures"><tbody>${report.failures.map((/** @type {any} */ failure) => html`<tr key=${failure.code}>
      <td class="tone-bad">${wordsOf(failure.code)}</td><td class="number">${failure.runs}</td><td class="number">${failure.attempts}</td>
      <td class="wide cut">${failure.latest && html`<${RunLink} id=${failure.latest.run_id} text=${failure.latest.goal} /> <span class="faint">${failure.latest.station}</span> <${EventLink} position=${failure.latest.position} />`}</td></tr>`)}</tbody><//>`}
    <${NightCharts} report=${report} />`}<//>`;
}

/** @param {{params: Record<string, string>}} props */
export function Night({ params: { since = '12h', group = 'run', from = '', to = '' } }) {
  const before = useSignal(lastVisit);
  return html`<div class="page night filled"><div class="head"><h1>Night</h1></div>
    <div class="filters"><${Choice} name="since" values=${PERIODS} chosen=${since} others=${{ from: undefined, to: undefined }} />${before && html`<button class="chip" aria-pressed=${since === before ? 'true' : 'false'} title=${clockText(before)}
        onClick=${() => change({ from: undefined, to: undefined, since: before })}>since you were here last</button>`}<${Choice} name="group" values=${GROUPS} chosen=${group} /></div>
    ${has('report.get') && html`<${Report} since=${since} />`}<${Timeline} from=${from && to ? from : since} to=${from && to ? to : undefined} group=${group} /></div>`;
}
