/** A run as a file that Perfetto and chrome://tracing open. */

const MS_US = 1000;

/**
 * Returns the trace of a run in Chrome's format: each span a slice, each event of it an instant. Steps
 * and attempts have rows of their own, for they may overlap.
 * @param {any} trace the result of run.trace
 */
export function chromeTrace({ run_id: id, as_of: asOf, spans }) {
  const timeOf = (/** @type {string} */ time) => Date.parse(time) * MS_US;
  const rows = ['run', 'attempt', 'step'];
  const events = [{ ph: 'M', pid: 1, name: 'process_name', args: { name: `run ${id}` } },
    ...rows.map((name, row) => ({ ph: 'M', pid: 1, tid: row + 1, name: 'thread_name', args: { name } }))];
  for (const span of spans) {
    const begin = timeOf(span.started_at);
    const place = { pid: 1, tid: rows.indexOf(span.kind === 'usage' ? 'attempt' : span.kind) + 1 };
    events.push(/** @type {any} */ ({
      ph: 'X', ...place, name: span.name, cat: span.kind, ts: begin, dur: timeOf(span.ended_at ?? asOf) - begin,
      args: { status: span.status, ...(span.message ? { message: span.message } : {}), ...span.attributes },
    }));
    for (const event of span.events) {
      events.push(/** @type {any} */ ({ ph: 'i', s: 't', ...place, name: event.name, ts: timeOf(event.at), args: event.attributes }));
    }
  }
  return { displayTimeUnit: 'ms', traceEvents: events };
}
