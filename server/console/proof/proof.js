/**
 * Whether the log is what was signed, and goes on from what this browser has seen before. The service is asked for the newest
 * signed checkpoint and for tiles; everything is computed here. `proven` is said only if the signature is right, the tree's
 * hashes lead to the signed root, and so to the root that was kept at the visit before.
 */
import { signal } from '../vendor/signals-core.js';
import { base64Of, fromBase64, isEqual } from './bytes.js';
import { differences, readHeader } from './record_header.js';
import { auditTile, call } from '../core/rpc.js';
import { keptJson } from '../core/session.js';
import { readCheckpoint, readVerifier, signatureBy } from './signed_note.js';
import { isIncluded, MissingTile, TileTree } from './tile_tree.js';

const KEY = 'signalbox.proof';
/** What a signed checkpoint, or its lack, is refused with: not a reason to doubt the log. */
const PASSING = ['UNREACHABLE', 'OVERLOADED', 'SHUTTING_DOWN', 'READ_MODELS_REBUILDING'];

export const proof = signal(/** @type {Proof} */ ({ verdict: 'checking' }));

/** @returns {Kept | null} */
function readKept() {
  const kept = keptJson(KEY);
  const isWhole = typeof kept?.key === 'string' && typeof kept.root === 'string' && fromBase64(kept.root) && Number.isSafeInteger(kept.size);
  return isWhole ? kept : null;
}

const keep = (/** @type {Kept} */ kept) => localStorage.setItem(KEY, JSON.stringify(kept));

/** Whether this browser has seen a signed checkpoint of this service. */
export const hasKept = () => readKept() !== null;

/** As of when this page was loaded: what the user has seen before. */
let lastVisit = readKept();
/** Whether the user has compared the key. */
let isCompared = false;

async function readTile(/** @type {string} */ path) {
  try {
    return await auditTile(path);
  } catch (/** @type {any} */ error) {
    if (PASSING.includes(error.code)) throw error;
    throw new MissingTile(path, error.message);
  }
}

/** @returns {Promise<Proof>} */
async function look() {
  if (!globalThis.crypto?.subtle) return { verdict: 'insecure' };
  const kept = readKept();
  let answer;
  try {
    answer = await call('audit.checkpoint');
  } catch (/** @type {any} */ error) {
    if (PASSING.includes(error.code)) throw error;
    if (error.details?.setting === 'audit_key') return { verdict: kept ? 'silent' : 'unsigned', kept };
    return { verdict: 'missing', why: error.message, kept };
  }
  const note = String(answer.checkpoint);
  const key = kept?.key ?? String(answer.verifier_key);
  const [checkpoint, verifier] = [readCheckpoint(note), await readVerifier(key)];
  if (!checkpoint) return { verdict: 'forged', why: 'it isn’t a signed checkpoint', key, note, kept };
  if (!verifier) return { verdict: 'forged', why: 'its key isn’t an Ed25519 key', key, note, kept };
  const { size } = checkpoint;
  const about = { size, root: base64Of(checkpoint.root), key, note, kept };
  const signature = await signatureBy(checkpoint, verifier);
  if (signature === 'other') return { ...about, verdict: 'unseen', other: String(answer.verifier_key) };
  if (signature === 'forged') return { ...about, verdict: 'forged', why: 'the signature isn’t that of the key' };
  if (kept && size < kept.size) return { ...about, verdict: 'older' };
  const tree = new TileTree(size, readTile);
  const { whole, part } = await tree.roots(kept?.size ?? 0);
  if (kept && size === kept.size && about.root !== kept.root) return { ...about, verdict: 'fork' };
  if (!isEqual(whole, checkpoint.root)) return { ...about, verdict: 'tiles' };
  if (kept && base64Of(part) !== kept.root) return { ...about, verdict: 'fork' };
  const at = Date.now();
  const now = { key, size, root: about.root, at, first: kept?.first ?? at };
  keep(now);
  return { ...about, verdict: lastVisit || isCompared ? 'proven' : 'new', proven: size, checkedAt: at, kept: now, since: lastVisit?.size ? lastVisit.at : undefined };
}

/** One look after the other, also of several tabs: each goes on from what the one before has kept. */
const lookInTurn = async () => navigator.locks ? navigator.locks.request(KEY, look) : look();

let looking = /** @type {Promise<void> | null} */ (null);
/** An event that the service showed otherwise than it was recorded: that stays, whatever is found later. */
let mixed = /** @type {Proof | null} */ (null);

/** Checks the newest checkpoint. A look that is under way is waited for. */
export function check() {
  looking ??= lookInTurn().then((found) => {
    // What was found wrong stays until a later look finds it right: to be silent doesn't end an alarm.
    if (isAlarm(proof.peek().verdict) && !found.proven && !isAlarm(found.verdict)) return;
    proof.value = mixed ?? found;
  }, (error) => {
    const { proven, checkedAt, verdict } = proof.peek();
    if (isAlarm(verdict)) return;
    proof.value = error instanceof MissingTile
      ? { verdict: 'missing', why: error.message, proven, checkedAt, kept: readKept() }
      : { verdict: 'unchecked', why: error.message, proven, checkedAt, kept: readKept() };
  }).finally(() => { looking = null; });
  return looking;
}

/** Returns whether the log isn't what it should be, which is more than that nothing is proven. */
export const isAlarm = (/** @type {Verdict} */ verdict) => ['forged', 'tiles', 'older', 'fork', 'mixed'].includes(verdict);

/** The user has compared the key with the one that was handed over. */
export function confirmKey() {
  isCompared = true;
  return check();
}

/** Trusts another key from now on; what was seen before still has to be in the log. @param {string} text */
export async function trustKey(text) {
  const verifier = await readVerifier(text);
  if (!verifier) throw new Error('a verifier key is NAME+ID+KEY, as signalbox audit keygen prints it');
  const kept = readKept();
  isCompared = true;
  if (kept) keep({ ...kept, key: verifier.text });
  else keep({ key: verifier.text, size: 0, root: base64Of(await new TileTree(0, readTile).hash(0, 0)), at: Date.now(), first: Date.now() });
  return check();
}

/** Forgets key and checkpoint: the next look is a first visit. */
export function forgetProof() {
  localStorage.removeItem(KEY);
  lastVisit = null;
  proof.value = { verdict: 'checking' };
  isCompared = false;
  mixed = null;
  return check();
}

let numbers = /** @type {Promise<Map<string, number>> | null} */ (null);

/** The numbers of the types of events, by name. */
function typeNumbers() {
  numbers ??= call('events.types').then(({ types }) => new Map(types.map((/** @type {any} */ each) => [each.type, each.number])));
  numbers.catch(() => { numbers = null; });
  return /** @type {Promise<Map<string, number>>} */ (numbers);
}

/** Makes of a wrong event an alarm. @param {any} event @param {EventVerdict} found */
export function alarmAbout(event, found) {
  if (found.verdict !== 'mixed' && found.verdict !== 'tiles') return;
  const why = found.verdict === 'mixed' ? `has another ${found.why}` : 'isn’t in the tree that was signed';
  mixed = { ...proof.peek(), verdict: 'mixed', why: `#${event.position} ${why}` };
  proof.value = mixed;
}

/** Proves that the header of an event on screen is in the proven log; its data isn't in that. @param {any} event @returns {Promise<EventVerdict>} */
export async function proveEvent(event) {
  const { verdict, size = 0, root = '' } = proof.peek();
  if (verdict !== 'proven' && verdict !== 'new') return { verdict: 'missing', why: 'the log isn’t proven' };
  if (event.position > size) return { verdict: 'later' };
  try {
    const tree = new TileTree(size, readTile);
    const index = event.position - 1;
    const entry = await tree.entry(index);
    if (!await isIncluded(tree, index, entry, /** @type {Uint8Array} */ (fromBase64(root)))) return { verdict: 'tiles' };
    const header = readHeader(entry);
    if (!header) return { verdict: 'missing', why: 'its header is of a later version of the service' };
    const other = differences(header, event, (await typeNumbers()).get(event.type));
    return other.length ? { verdict: 'mixed', why: other.join(', ') } : { verdict: 'proven' };
  } catch (/** @type {any} */ error) {
    return { verdict: 'missing', why: error.message };
  }
}
