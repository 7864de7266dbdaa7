// What the console shows of a recorded log at each position, without a browser:
//
//   node tests/console/prefixes.mjs build/signalbox DATA
//
// For each prefix: the state's digest is that of `replay`; a query is answered alike by a state that came there
// event by event and by one that was computed for it; an event that no query is asked again for changes no answer;
// and the list of runs, brought up to date by events, is the list asked for anew. What takes long is tried in turns.
import { StoppedLog } from './stopped_log.mjs';
import { inTurn, triesAll, turn } from './turns.mjs';

const PAGE_ROWS = 3;
const STEPS = [1, 2, 5, 13, 55];
const LISTED = 500;
/** Each prefix is asked some of the queries, and of a long log not each prefix: other ones in each run. */
const COMPARED_MAX = 750;
const COMPARED_PREFIXES_MAX = 300;
const COMPARED_MS_MAX = triesAll ? 30_000 : 15_000;
/** Each of so many queries is asked again at its events, other ones in each run. */
const FOLLOWED_STRIDE = 5;
/** They follow from the moment that is asked about, also if nothing happened. */
const OF_THE_MOMENT = ['position', 'as_of', 'until', 'from', 'to', 'next_from', 'resolution_ms', 'ms', 'worked_ms'];

const textOf = (answer) => JSON.stringify(answer, (name, value) => (OF_THE_MOMENT.includes(name) ? undefined : value));

/** Runs some things at once, as a browser does. */
async function each(list, work) {
  const rest = [...list];
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) await work(next);
  }));
}

const complaints = [];
const complain = (text) => complaints.push(text);

/** Returns the queries of all pages, about everything that the log is about. */
async function queriesOf(log) {
  const runs = (await log.ask('run.list', { limit: LISTED })).runs.map(({ run_id: id }) => id);
  const cards = (await log.ask('card.list', { limit: LISTED })).cards.map(({ card_id: id }) => id);
  const projects = (await log.ask('project.list', { limit: LISTED })).projects.map(({ name }) => name);
  const loops = (await log.ask('loop.list')).loops.map(({ loop }) => loop);
  // A clock that was set moves what they are about, with any event.
  const { marks } = await log.ask('log.marks', { limit: LISTED });
  const ofTimes = marks.some(({ kind }) => kind === 'clock_jump') ? [] : [['report.get', { since: '12h' }], ...['run', 'lock'].map((group) => ['timeline.get', { from: '12h', group, max_rows: LISTED }])];
  return [
    ['attention.list', { limit: 200 }], ['board.get', { limit: 50 }], ['server.crash_report', {}], ['loop.list', {}],
    ['run.list', { limit: LISTED }], ['run.list', { status: 'running', limit: 50 }], ['lock.list', { limit: 200 }],
    ['project.list', { limit: LISTED }], ['tick.list', { limit: 1 }], ['server.limits', {}],
    ...ofTimes,
    ...runs.flatMap((id) => [['run.get', { run_id: id }], ['run.trace', { run_id: id }], ['run.why', { run_id: id }], ['events.read', { run_id: id, from: 1, limit: LISTED }]]),
    ...cards.flatMap((id) => [['card.get', { card_id: id }], ['card.why', { card_id: id }]]),
    ...projects.map((name) => ['project.get', { name }]), ...loops.map((loop) => ['tick.list', { loop, limit: 100 }]),
  ];
}

/** Answers of states that moved on to each prefix, and of those that were computed anew, from the log's end backwards. */
async function answersAreThoseOfReplay(moved, queries) {
  const end = Date.now() + COMPARED_MS_MAX;
  const every = Math.ceil(moved.tail / COMPARED_PREFIXES_MAX);
  const prefixes = moved.events.map(({ position }) => position).filter((position) => (position + turn) % every === 0);
  const share = Math.max(1, Math.ceil((queries.length * prefixes.length) / COMPARED_MAX));
  const given = [];
  for (const at of prefixes) {
    // Half of the time is for the other states.
    if (Date.now() > end - COMPARED_MS_MAX / 2) break;
    await each(queries.filter((_, index) => (index + at + turn) % share === 0), async ([method, params]) => {
      given.push({ at, method, params, answer: await moved.ask(method, { ...params, at }) });
    });
  }
  const anew = new StoppedLog(moved.binary, moved.data);
  let compared = 0;
  try {
    await anew.open();
    for (const { at, method, params, answer } of given.reverse()) {
      if (Date.now() > end && compared > 0) break;
      const other = await anew.ask(method, { ...params, at });
      if (answer.position !== other.position || textOf(answer) !== textOf(other)) complain(`${method} ${JSON.stringify(params)} at ${at} depends on how the state came there`);
      compared += 1;
    }
  } finally {
    await anew.close();
  }
  if (compared === 0) complain('no answer was compared with that of a state computed anew');
  return compared;
}

/** Finds the event until `to` with which the answer at `from` isn't right any more. */
async function firstChange(log, method, params, from, to) {
  const before = textOf(await log.ask(method, { ...params, at: from }));
  let [same, other] = [from, to];
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (textOf(await log.ask(method, { ...params, at: middle })) === before) same = middle;
    else other = middle;
  }
  return log.events.find(({ position }) => position === other);
}

/** An answer stays as it is while no event comes that the query is asked again for. */
async function followsItsEvents(log, [method, params]) {
  const { concernsOf } = await import('../../server/console/core/concerns.js');
  const concerns = concernsOf(method, params);
  let from = 1;
  for (const { position } of [...log.events.filter(concerns), { position: log.tail + 1 }]) {
    if (position - 1 > from) {
      const [first, last] = [await log.ask(method, { ...params, at: from }), await log.ask(method, { ...params, at: position - 1 })];
      if (textOf(first) !== textOf(last)) {
        const { position: at, type } = await firstChange(log, method, params, from, position - 1);
        complain(`${type} at ${at} changes ${method} ${JSON.stringify(params)}, which isn't asked again for it`);
        return;
      }
    }
    from = Math.max(1, position);
  }
}

/** The console's list of runs in pages, that events bring from one position to the next. */
async function listFollows(log, step) {
  const { RunPages } = await import('../../server/console/core/run_pages.js');
  const pages = new RunPages({ at: 1 }, PAGE_ROWS);
  await pages.load();
  for (let at = 1; at < log.tail;) {
    const next = Math.min(log.tail, at + step);
    pages.filter.at = next;
    const noted = log.events.filter(({ position }) => position > at && position <= next).map((event) => pages.note(event));
    if (noted.includes(true)) {
      const { position } = await pages.load();
      if (position !== next) complain(`by ${step}: the runs with the events until ${next} say that they are those at ${position}`);
    }
    while (await pages.more());
    const wanted = textOf((await log.ask('run.list', { limit: LISTED, at: next })).runs);
    if (textOf(pages.result().rows) !== wanted) {
      complain(`by ${step}: the runs at ${at} with the events until ${next} aren't the runs at ${next}`);
      return;
    }
    at = next;
  }
}

/** Gives the console's modules what they take of a browser when they are loaded. */
function standInForABrowser({ address, secret }) {
  const nothing = () => {};
  const storage = { getItem: (name) => (name === 'signalbox.token' ? secret : null), setItem: nothing, removeItem: nothing };
  Object.assign(globalThis, {
    addEventListener: nothing, location: new URL(address), sessionStorage: storage, localStorage: storage,
    document: { baseURI: address, hidden: false, addEventListener: nothing },
  });
}

const log = new StoppedLog(process.argv[2], process.argv[3]);
try {
  await log.open();
  standInForABrowser(log);
  const digests = log.digests();
  await each(log.events, async ({ position }) => {
    const { state_digest: digest, durable_position: end } = await log.ask('server.status', { at: position });
    if (digest !== digests.get(position) || end !== position) complain(`the state at ${position} isn't that of replay`);
  });
  const queries = await queriesOf(log);
  const compared = await answersAreThoseOfReplay(log, queries);
  await each(inTurn(queries, FOLLOWED_STRIDE), (query) => followsItsEvents(log, query));
  await each(STEPS, (step) => listFollows(log, step));
  console.log(`${log.tail} events, ${queries.length} queries, ${compared} answers compared`);
} finally {
  await log.close();
}
for (const complaint of complaints.slice(0, 20)) console.log(complaint);
process.exit(complaints.length ? 1 : 0);
