/**
 * Which events may change the answer of a query, so that it is asked for again. An event that changes
 * an answer and isn't told of here would leave the page behind the log: the tests try every query
 * against every event of recorded logs. This module needs no browser.
 */

/** @typedef {Pick<LogEvent, 'type' | 'stream' | 'actor'>} Told */
/** @typedef {(event: Told, params: Record<string, any>) => boolean} Concern */

const nounOf = (/** @type {string} */ stream) => stream.split('/')[0];
/**
 * Those of the server too: when it starts, leases begin anew; when a quota is used up, many runs wait.
 * @param {...string} nouns the first parts of streams @returns {Concern}
 */
const of = (...nouns) => ({ stream }) => stream === 'server' || nouns.includes(nounOf(stream));
/** @type {Concern} */
const ofTheRun = ({ stream }, { run_id: id }) => stream === 'server' || stream === `run/${id}`;
/** A tick of these loops reads the policies of projects. @type {Concern} */
const ofProjects = (event, params) => of('project', 'card')(event, params) || ['tick/heartbeat', 'tick/synthesizer'].includes(event.stream);
const always = () => true;
const never = () => false;

/** @type {Record<string, Concern>} */
const CONCERNS = {
  // Conditions of the service are no events.
  'attention.list': of('run', 'card', 'tick', 'project', 'lock'),
  'run.list': of('run'),
  'run.find': of('run'),
  'run.get': ofTheRun,
  'run.trace': ofTheRun,
  'run.diff': ofTheRun,
  // What it waits for is elsewhere: another run, a lock, its card, a project's limit, a worker.
  'run.why': always,
  'card.why': always,
  'card.get': of('card', 'run', 'project', 'lock'),
  'board.get': of('card', 'run', 'project', 'lock'),
  'project.list': ofProjects,
  'project.get': ofProjects,
  // How the repository is now, of which only the project's own events tell.
  'project.check': ({ stream }, { name }) => stream === `project/${name}`,
  // The end of a lease that nobody renews is no event: the next one, whatever it is, shows it.
  'lock.list': always,
  'loop.list': of('tick'),
  'tick.list': ({ stream }, { loop }) => stream === 'server' || (loop ? stream === `tick/${loop}` : nounOf(stream) === 'tick'),
  // It tells what became of each thing that was in flight.
  'server.crash_report': of('run', 'card', 'lock', 'tick'),
  'server.in_flight': of('run'),
  'server.limits': never,
  'access.list': of('access'),
  // It has what waits for a person too.
  'report.get': of('run', 'card', 'tick', 'project', 'lock'),
  'timeline.get': (event, { group }) => (group === 'lock' ? of('lock') : of('run', 'card'))(event, {}) && event.type !== 'LockRefreshed',
  'events.read': ({ type, stream, actor }, { types, stream: wanted, run_id: run, actor: who }) =>
    (!types || types.includes(type)) && (!wanted || stream === wanted) && (!run || stream === `run/${run}`) && (!who || actor === who),
  // Of two moments, neither of which changes.
  'state.diff': never,
  // The bar of the log is asked for by a timer.
  'events.histogram': never,
  'log.marks': never,
};

/**
 * Returns whether an event may change the answer of a query with these params.
 * @param {string} method @param {Record<string, any>} params @returns {(event: Told) => boolean}
 */
export function concernsOf(method, params) {
  const concern = CONCERNS[method] ?? always;
  return (event) => concern(event, params);
}

/** Their answers are of a repository, a file or a report as it was found, at no moment of the log. */
const OF_NO_POSITION = ['run.diff', 'run.log', 'project.check', 'server.crash_report'];

/** Returns whether an answer has everything up to the position that it names. @param {string} method */
export const isOfItsPosition = (method) => !OF_NO_POSITION.includes(method);
