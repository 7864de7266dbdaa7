/** What is proven of the log, by which key and since when; files of an audit; who was refused, and what was erased. */
import { html, useState } from '../vendor/htm-preact.js';
import { useQuery } from '../core/query.js';
import { check, confirmKey, forgetProof, isAlarm, proof, trustKey } from '../proof/proof.js';
import { nameOf, WORDS } from '../proof/proof_words.js';
import { clockText } from '../core/time_text.js';
import { useSignal } from '../core/use_signal.js';
import { verifyFile } from '../proof/verify_file.js';
import { closeDialog, openDialog } from '../parts/dialog.js';
import { EventList } from '../parts/event_list.js';
import { Facts } from '../parts/rows.js';
import { Answer, Command, Commands } from '../parts/notice.js';

const FILE_BYTES_MAX = 64 * 1024 * 1024;
const EVENTS_SHOWN = 200;
const TYPES = [
  'AccessDenied', 'PayloadRedacted', 'AuditKeyAdopted', 'HistoryDropped', 'AccessTokenIssued', 'AccessTokenRevoked',
  'RunnerDrained', 'RunnerUndrained', 'RunnerEvicted', 'RunnerReadmitted',
];

function Forget() {
  const forget = () => {
    closeDialog();
    forgetProof();
  };
  return html`<div class="action"><h2 id="dialog-title">Forget what this browser has seen?</h2>
    <p>The key and the checkpoint that this browser keeps are its only means to notice that the log was rewritten. The next look is as a first visit, whatever the log is then.</p>
    <div class="buttons"><button onClick=${closeDialog}>Keep it</button><button class="danger" onClick=${forget}>Forget it</button></div></div>`;
}

function OtherKey(/** @type {{found: Proof}} */ { found }) {
  const [text, setText] = useState('');
  const [error, setError] = useState('');
  const trust = (/** @type {string} */ key) => trustKey(key).then(() => setError(''), (why) => setError(why.message));
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    trust(text);
  };
  return html`<form class="actions" onSubmit=${submit}>
      ${found.verdict === 'new' && html`<button type="button" class="primary" onClick=${confirmKey}>It is the key that I was given</button>`}
      ${found.verdict === 'unseen' && html`<button type="button" class="primary" onClick=${() => trust(found.other ?? '')}>Trust ${nameOf(found.other)}</button>`}
      <input class="filter wide" aria-label="Verifier key" placeholder="NAME+ID+KEY, as you were given it" value=${text} onInput=${(event) => setText(event.target.value)} />
      <button class="small">Trust this key</button></form>
    ${error && html`<p class="tone-bad" role="alert">${error}</p>`}`;
}

function Present() {
  const found = useSignal(proof);
  const words = WORDS[found.verdict];
  const { kept } = found;
  return html`<section aria-label="The proof"><p class="verdict ${words.tone}"><b>${words.mark} ${words.short(found)}</b></p>
    <p>${words.sentence(found)}</p>
    ${words.todo && html`<p>${words.todo}</p>`}<${Commands} commands=${words.commands} />
    <${Facts} of=${[
      ['checkpoint', found.size !== undefined && `#${found.size}`], ['checked', found.checkedAt && clockText(found.checkedAt)],
      ['known here since', kept && clockText(kept.first)], ['last proven', kept && `#${kept.size}, ${clockText(kept.at)}`],
    ]} />
    ${found.key && html`<h2>Key</h2><${Command} command=${found.key} />`}
    ${found.other && html`<h2>The other key</h2><${Command} command=${found.other} />`}
    ${found.key && html`<${OtherKey} found=${found} />`}
    <p class="actions"><button class="small" onClick=${check}>Check now</button>
      ${(kept || isAlarm(found.verdict)) && html`<button class="small" onClick=${() => openDialog(Forget)}>Forget what this browser has seen …</button>`}</p>
    ${found.note && html`<details><summary>The signed checkpoint</summary><pre tabindex="0">${found.note}</pre>
      <p class="faint">Keep it elsewhere: whoever has it can show later that the log goes on from it.</p></details>`}</section>`;
}

function Files() {
  const { key = '' } = useSignal(proof);
  const [found, setFound] = useState(/** @type {{name: string, isGood: boolean, text: string}[]} */ ([]));
  const [own, setOwn] = useState('');
  const take = async (/** @type {FileList | null | undefined} */ files) => {
    for (const file of files ?? []) {
      const result = file.size > FILE_BYTES_MAX ? { isGood: false, text: 'it is too large for a browser; signalbox audit verify takes it' } : await verifyFile(await file.text(), own.trim() || key);
      setFound((before) => [{ name: file.name, ...result }, ...before]);
    }
  };
  const onDrop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    take(event.dataTransfer?.files);
  };
  return html`<section aria-label="Files"><h2>Verify a file</h2>
    <div class="drop" onDragOver=${(/** @type {Event} */ event) => event.preventDefault()} onDrop=${onDrop}>
      <label>A checkpoint, a .tlog-proof or a .capsule: drop it here, or choose it. It stays in this browser.
        <input type="file" multiple onChange=${(event) => take(event.target.files)} /></label>
      <input class="filter wide" aria-label="Key for files" placeholder=${key ? 'another key than the one above' : 'NAME+ID+KEY that verifies them'} value=${own} onInput=${(event) => setOwn(event.target.value)} /></div>
    <div role="status"><ul class="verified">${found.map(({ name, isGood, text }, at) => html`<li key=${found.length - at} class=${isGood ? 'tone-good' : 'tone-bad'}>${isGood ? '✔' : '✖'} <b>${name}</b>: ${text}.</li>`)}</ul></div></section>`;
}

function Conduct() {
  const answer = useQuery('events.read', { types: TYPES, backwards: true, limit: EVENTS_SHOWN });
  return html`<section aria-label="Refused, erased, adopted"><h2>Refused, erased, adopted</h2>
    <${Answer} answer=${answer}>${(data) => (data.events.length ? html`<${EventList} events=${data.events} />` : html`<p class="faint">Nobody was refused anything, nothing was erased, no key was adopted, and no runner was drained or evicted.</p>`)}<//></section>`;
}

export const Audit = () => html`<div class="page audit"><h1>Audit</h1><${Present} /><${Files} /><${Conduct} /></div>`;
