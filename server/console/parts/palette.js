/**
 * Search and commands in one box. Each entry shows the command line that does the same, so that the console teaches it.
 */
import { html, useEffect, useState } from '../vendor/htm-preact.js';
import { call } from '../core/rpc.js';
import { shellWord, tailOf } from '../core/figures.js';
import { go } from '../core/route.js';
import { nextRuns } from '../core/run_pages.js';
import { has } from '../core/identity.js';
import { ACTIONS, THE_SERVICE, actionsFor, cardTarget, commandLine, confirmAction, runTarget } from './actions.js';
import { closeDialog, openDialog } from './dialog.js';
import { placesHere } from './places.js';
import { selectedThing } from './selected.js';

/** @typedef {{text: string, about: string, command: string, run: () => void}} Entry */

const FOUND_MAX = 12;
/** The service looks through all goals for a word that is as long as this. */
const WORD_MIN = 3;

/** @returns {Entry[]} */
function fixedEntries() {
  const selected = selectedThing.peek();
  const thing = selected?.thing;
  const id = thing?.run_id ?? thing?.card_id ?? '';
  const target = selected?.subject === 'card' ? cardTarget(thing) : runTarget(thing ?? {});
  const actions = selected ? actionsFor(selected.subject, thing) : [];
  return [
    ...actions.map((action) => ({
      text: `${action.name} this ${action.subject}`, about: target.text, command: commandLine(action, { ...target, id }),
      run: () => confirmAction(action, [target]),
    })),
    ...[ACTIONS.pauseAll, ACTIONS.resumeAll].filter(({ method }) => has(method)).map((action) => ({
      text: action.name, about: THE_SERVICE.text, command: commandLine(action, THE_SERVICE),
      run: () => confirmAction(action, [THE_SERVICE]),
    })),
    ...placesHere().map(({ page, name, command }) => ({ text: name, about: 'page', command, run: () => go(page) })),
  ];
}

/** @param {any} found @returns {Entry[]} */
function foundEntries({ runs, cards, projects, locks }) {
  const entryOf = (/** @type {string} */ text, /** @type {string} */ about, /** @type {string} */ command, /** @type {Parameters<typeof go>} */ ...page) =>
    ({ text, about, command: `signalbox ${command}`, run: () => go(...page) });
  return [
    ...runs.map((/** @type {any} */ { goal, run_id: id, status }) => entryOf(goal, `run ${tailOf(id)} · ${status}`, `run get ${id}`, 'run', { id })),
    ...cards.map((/** @type {any} */ { title, card_id: id, status }) => entryOf(title, `card · ${status}`, `card get ${id}`, 'card', { id })),
    ...projects.map((/** @type {any} */ { name }) => entryOf(name, 'project', `project get ${shellWord(name)}`, 'projects', { name })),
    ...locks.map((/** @type {any} */ { key }) => entryOf(key, 'lock', `lock get ${shellWord(key)}`, 'events', { stream: `lock/${key}` })),
  ];
}

/** @param {string} word @param {...string} texts */
const matches = (word, ...texts) => texts.some((text) => text.toLowerCase().includes(word.toLowerCase()));

/** Returns runs of any age with this word in their goal; those of a shorter word are none. @param {string} word @returns {{runs: any[], isWhole: boolean}} */
function useOlderRuns(word) {
  const [found, setFound] = useState({ word: '', runs: /** @type {any[]} */ ([]), isWhole: true });
  useEffect(() => {
    if (word.length < WORD_MIN) return undefined;
    const abort = new AbortController();
    nextRuns({ text: word, limit: FOUND_MAX }, abort.signal)
      .then(({ runs, next_cursor: next }) => setFound({ word, runs, isWhole: next === null }), () => {});  // the latest runs are searched all the same
    return () => abort.abort();
  }, [word]);
  return found.word === word ? found : { runs: [], isWhole: true };
}

function Palette() {
  const [word, setWord] = useState('');
  const [at, setAt] = useState(0);
  const [known, setKnown] = useState({ runs: [], cards: [], projects: [], locks: [] });
  useEffect(() => {
    // What can't be asked for isn't found; the pages are there all the same.
    for (const noun of ['run', 'card', 'project', 'lock']) {
      call(`${noun}.list`, { limit: 500 }).then((page) => setKnown((old) => ({ ...old, [`${noun}s`]: page[`${noun}s`] })), () => {});
    }
  }, []);
  const older = useOlderRuns(word);
  const latest = /** @type {any[]} */ (known.runs).filter((run) => matches(word, run.goal, run.run_id, run.project, ...Object.values(run.labels)));
  const ids = new Set(latest.map(({ run_id: id }) => id));
  const found = word ? foundEntries({
    runs: [...latest, ...older.runs.filter(({ run_id: id }) => !ids.has(id))],
    cards: known.cards.filter((/** @type {any} */ card) => matches(word, card.title, card.card_id, card.project, card.key ?? '')),
    projects: known.projects.filter((/** @type {any} */ { name }) => matches(word, name)),
    locks: known.locks.filter((/** @type {any} */ { key, owner }) => matches(word, key, owner ?? '')),
  }) : [];
  const entries = [...fixedEntries().filter(({ text }) => matches(word, text)), ...found].slice(0, FOUND_MAX);
  useEffect(() => document.getElementById(`palette-${at}`)?.scrollIntoView({ block: 'nearest' }), [at]);
  const choose = (/** @type {Entry | undefined} */ entry) => {
    if (!entry) return;
    closeDialog();
    entry.run();
  };
  const onKeyDown = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') choose(entries[at]);
    else if (step) setAt(Math.max(0, Math.min(entries.length - 1, at + step)));
    else return;
    event.preventDefault();
  };
  return html`<div class="palette">
    <h2 id="dialog-title" class="unseen">Search or command</h2>
    <input type="text" autofocus placeholder="a page, a run, a card, a project, a lock, an action" value=${word} onKeyDown=${onKeyDown}
      aria-label="Search or command" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant="palette-${at}"
      onInput=${(event) => { setWord(event.target.value); setAt(0); }} />
    <ul id="palette-list" role="listbox" aria-label="Results">${entries.map((entry, index) => html`
      <li id="palette-${index}" role="option" aria-selected=${index === at} onClick=${() => choose(entry)}>
        <span class="cut">${entry.text}</span> <span class="faint">${entry.about}</span><code class="cut">${entry.command}</code></li>`)}</ul>
    ${entries.length === 0 && html`<p class="faint">Nothing matches. ${older.isWhole ? 'All goals of runs are searched' : 'Not all runs were looked at: the goals of the newest are searched'}, and of 500 runs, cards, projects and locks everything else.</p>`}
  </div>`;
}

export const openPalette = () => openDialog(Palette);
