/** Calls methods of the service. All of them go through POST /rpc. */
import { signal } from '../vendor/signals-core.js';
import { hexOf } from './figures.js';
import { markedText, parsePlain, plainText, terminalText } from './plain_text.js';
import { authorization, refusal } from './session.js';

/** A refusal by the service, as server/PROTOCOL.md describes it. */
export class Refusal extends Error {
  /**
   * @param {string} code such as RUN_NOT_FOUND @param {string} message @param {Record<string, any>} details
   * @param {string[]} nextCommands commands that would be taken now
   */
  constructor(code, message, details = {}, nextCommands = []) {
    super(message);
    this.code = code;
    this.details = details;
    this.nextCommands = nextCommands;
  }
}

/** The newest position of the log that an answer was as of. */
export const answeredPosition = signal(0);

/** When the user last called what changes something, as performance.now() has it. */
export const ownCommand = { at: -Infinity };

/** How long the quickest answer took, which is the way to the service and back. */
export const quickest = { ms: Infinity };

/** The address of `path` beside the console, also behind a proxy that serves it below a prefix. */
export const serviceAddress = (/** @type {string} */ path) => new URL(`../${path}`, document.baseURI).href;

/** The methods whose texts aren't only read. */
const CLEANED = /** @type {Record<string, (text: string) => string>} */ ({ 'run.log': terminalText, 'run.diff': markedText });

/** @returns {never} */
function failUnreachable() {
  throw new Refusal('UNREACHABLE', 'the service doesn’t answer', {}, ['signalbox status']);
}

/** @returns {Promise<Refusal>} */
async function refusalOf(/** @type {Response} */ response) {
  try {
    const problem = parsePlain(await response.text());
    if (problem.code) return new Refusal(problem.code, problem.detail, problem.details, problem.next_commands);
  } catch {
    // It is no answer of the service.
  }
  return new Refusal(`HTTP ${response.status}`, response.statusText);
}

/**
 * Returns the result of a method.
 * @param {string} method @param {Record<string, any>} params @param {AbortSignal} [abort]
 * @param {string} [secret] a token that is only tried @returns {Promise<any>} @throws {Refusal}
 */
export async function call(method, params = {}, abort, secret) {
  const request = {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...authorization(secret) },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: abort,
  };
  const began = performance.now();
  if (params.command_id) ownCommand.at = began;
  /** @type {Response} */
  let response;
  try {
    response = await fetch(serviceAddress('rpc'), request);
  } catch (error) {
    if (abort?.aborted) throw error;
    failUnreachable();
  }
  if (!response.ok) {
    const why = await refusalOf(response);
    if (response.status === 401 && secret === undefined) refusal.value = why;
    throw why;
  }
  const clean = CLEANED[method] ?? plainText;
  const text = await response.text().catch(failUnreachable);
  quickest.ms = Math.min(quickest.ms, performance.now() - began);
  const answer = parsePlain(text, clean);
  if (!answer.error) {
    answeredPosition.value = Math.max(answeredPosition.peek(), answer.result.position ?? 0);
    return answer.result;
  }
  const { code, details, next_commands: commands } = answer.error.data;
  throw new Refusal(code, answer.error.message, details, commands);
}

/** Returns what is at a path beside the console. @param {string} path @param {RequestInit} [more] @throws {Refusal} */
async function read(path, more) {
  const response = await fetch(serviceAddress(path), { headers: authorization(), ...more }).catch(failUnreachable);
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** Returns the bytes of an artifact. @param {string} runId @param {string} name @throws {Refusal} */
export const artifact = async (runId, name) => (await read(`v1/runs/${runId}/artifacts/${encodeURIComponent(name)}`)).blob();

/** Returns a tile of the log's tree, as it is now: none that the browser kept. @param {string} path @throws {Refusal} */
export async function auditTile(path) {
  const response = await read(`audit/${path}`, { cache: 'no-store' });
  return new Uint8Array(await response.arrayBuffer());
}

/** Returns an id for a command about `subject`, so that a repeated request isn't carried out twice. */
export function commandId(/** @type {string} */ subject) {
  // randomUUID is missing on plain HTTP to another name than localhost.
  return `console-${hexOf(crypto.getRandomValues(new Uint8Array(16)))}-${subject}`.slice(0, 128);
}

/**
 * Returns the event with its data: the stream comes without, as it has thousands that nobody opens. Throws the
 * service's refusal. @param {LogEvent} event @returns {Promise<LogEvent>}
 */
export async function wholeEvent(event) {
  if (event.data !== undefined) return event;
  const { events: [found] } = await call('events.read', { from: event.position, limit: 1 });
  if (found?.position !== event.position) throw new Refusal('HISTORY_DROPPED', 'this event isn’t in the log any more');
  return found;
}
