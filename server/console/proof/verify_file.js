/**
 * Verifies a file of an audit in the browser: a checkpoint, a `.tlog-proof`, a run's `.capsule`
 * (tools/AUDIT.md). The file isn't sent anywhere.
 */
import { base64Of, fromBase64, isEqual, joined, sha256, utf8 } from './bytes.js';
import { proof } from './proof.js';
import { readHeader } from './record_header.js';
import { auditTile } from '../core/rpc.js';
import { readCheckpoint, readVerifier, signatureBy } from './signed_note.js';
import { leafOf, splitOf, TileTree } from './tile_tree.js';

const PROOF_TITLE = 'c2sp.org/tlog-proof@v1\n';
const SMALLEST_CAPSULE_LINES = 3;

class NotVerified extends Error {}

/** @param {any} condition @param {string} what @returns {asserts condition} */
function require(condition, what) {
  if (!condition) throw new NotVerified(what);
}

/** Returns the root to which a proof of inclusion leads (RFC 6962, 2.1.1). @param {number} index @param {number} size @param {Uint8Array} leaf @param {Uint8Array[]} hashes */
async function rootOfProof(index, size, leaf, hashes) {
  const isRight = [];
  let [begin, end] = [0, size];
  while (end - begin > 1) {
    const middle = begin + splitOf(end - begin);
    isRight.unshift(index < middle);
    if (index < middle) end = middle;
    else begin = middle;
  }
  require(index < size && isRight.length === hashes.length, 'the proof has a wrong length');
  let root = leaf;
  for (const [at, hash] of hashes.entries()) root = await sha256(Uint8Array.of(1), ...(isRight[at] ? [root, hash] : [hash, root]));
  return root;
}

/** Returns the checkpoint of a note that the key signed. @param {string} note @param {string} key @returns {Promise<Checkpoint>} */
async function signedCheckpoint(note, key) {
  const [checkpoint, verifier] = [readCheckpoint(note), await readVerifier(key)];
  require(checkpoint, 'it has no checkpoint');
  require(verifier, 'there is no key to verify it with');
  const signature = await signatureBy(checkpoint, verifier);
  require(signature !== 'other', 'the key didn’t sign it');
  require(signature === 'signed', 'its signature is wrong');
  return checkpoint;
}

const hash = (/** @type {string} */ text) => {
  const bytes = fromBase64(text);
  require(bytes, 'it isn’t of this format');
  return bytes;
};

/** @param {string} note @param {string} key */
async function verifyCheckpoint(note, key) {
  const { origin, size, root } = await signedCheckpoint(note, key);
  const signed = `a checkpoint of ${origin} at #${size}, signed by the key`;
  const present = proof.peek();
  if ((present.verdict !== 'proven' && present.verdict !== 'new') || size > (present.size ?? 0)) return `${signed}; the present log isn’t compared with it`;
  const roots = await new TileTree(present.size ?? 0, auditTile).roots(size);
  require(base64Of(roots.whole) === present.root, 'the service’s tiles aren’t those of the present log');
  require(isEqual(roots.part, root), `it is ${signed}, but the present log isn’t the one that it was made of`);
  return `${signed}; the present log goes on from it unchanged`;
}

/** @param {string} text @param {string} key */
async function verifyProof(text, key) {
  const end = text.indexOf('\n\n');
  const lines = text.slice(PROOF_TITLE.length, end).split('\n');
  const [, extra] = /^extra (\S+)$/.exec(lines[0]) ?? [];
  const [, index] = /^index (\d+)$/.exec(lines[1] ?? '') ?? [];
  require(end > 0 && extra && index, 'it isn’t a whole .tlog-proof with its entry');
  const { origin, size, root } = await signedCheckpoint(text.slice(end + 2), key);
  const entry = hash(extra);
  const header = readHeader(entry);
  require(header && header.position === Number(index) + 1, 'its entry is of another position');
  const computed = await rootOfProof(Number(index), size, await leafOf(entry), lines.slice(2).map(hash));
  require(isEqual(computed, root), 'its record isn’t in the tree that was signed');
  return `record #${header.position} (${header.stream}, by ${header.actor || 'the service'}) is in the log ${origin}`;
}

/** The entry of a record of a capsule. @param {any} event */
async function entryOf(event) {
  const header = hash(event.recordheader);
  if (event.recorddigest !== undefined) return joined(header, hash(event.recorddigest));
  return joined(header, await sha256(hash(event.recordsalt), hash(event.recordpayload)));
}

/** @param {string} text @param {string} key */
async function verifyCapsule(text, key) {
  const lines = text.split('\n');
  require(lines.length > SMALLEST_CAPSULE_LINES && lines.at(-1) === '', 'it isn’t a whole capsule');
  const [first, last] = [JSON.parse(lines[0]), JSON.parse(lines[lines.length - 2])];
  const { origin, size, root } = await signedCheckpoint(last.checkpoint, key);
  const manifest = await signedManifest(last.manifest, key);
  const digest = base64Of(await sha256(utf8(`${lines.slice(0, -2).join('\n')}\n`)));
  require(manifest.lines === digest, 'its lines aren’t those that were signed');
  require(manifest['signalbox run capsule'] === '1' && manifest.origin === origin && first.origin === origin && manifest.run === first.run_id
    && manifest.size === String(size) && manifest.root === base64Of(root), 'its two notes are of different capsules');
  let records = 0;
  for (const line of lines.slice(1, -2)) {
    const { proof: hashes, event } = JSON.parse(line);
    if (!event) continue;
    const entry = await entryOf(event);
    const header = readHeader(entry);
    require(header, 'a record is of a later version of the service');
    const computed = await rootOfProof(header.position - 1, size, await leafOf(entry), hashes.map(hash));
    require(isEqual(computed, root), `record #${header.position} isn’t in the tree that was signed`);
    records += 1;
  }
  return `the capsule of run ${first.run_id} has ${records} records of the log ${origin}, all as they were recorded`;
}

/** Returns the words of a manifest by their names. @param {string} note @param {string} key @returns {Promise<Record<string, string>>} */
async function signedManifest(note, key) {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const words = Object.fromEntries(text.trimEnd().split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
  const verifier = await readVerifier(key);
  require(end > 0 && verifier, 'it has no manifest');
  // A manifest is a note as a checkpoint is, of another text.
  const signatures = readCheckpoint(`${words.origin}\n0\n${base64Of(new Uint8Array(32))}\n\n${note.slice(end + 2)}`)?.signatures ?? [];
  require(await signatureBy({ text, origin: words.origin, size: 0, root: new Uint8Array(), signatures }, verifier) === 'signed', 'its manifest isn’t signed by the key');
  return words;
}

/**
 * Returns whether a file is what the key signed, and what that says.
 * @param {string} text @param {string} key a verifier key @returns {Promise<{isGood: boolean, text: string}>}
 */
export async function verifyFile(text, key) {
  try {
    if (text.startsWith(PROOF_TITLE)) return { isGood: true, text: await verifyProof(text, key) };
    if (text.startsWith('{"capsule"')) return { isGood: true, text: await verifyCapsule(text, key) };
    return { isGood: true, text: await verifyCheckpoint(text, key) };
  } catch (/** @type {any} */ error) {
    return { isGood: false, text: error instanceof NotVerified ? error.message : `it can’t be read: ${error.message}` };
  }
}
