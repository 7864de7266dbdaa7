/** Signed checkpoints and the keys that verify them: c2sp.org/signed-note, c2sp.org/tlog-checkpoint. */
import { hexOf } from '../core/figures.js';
import { fromBase64, isEqual, joined, sha256, utf8 } from './bytes.js';

const ED25519 = 1;
const KEY_BYTES = 33;
const ID_BYTES = 4;
const SIGNATURE_BYTES = 64;

/** Parses `NAME+ID+KEY`. Returns null unless it is an Ed25519 key with the id that belongs to it. @param {string} text @returns {Promise<Verifier | null>} */
export async function readVerifier(text) {
  const [, name, hex, base64] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text.trim()) ?? [];
  const bytes = base64 ? fromBase64(base64) : null;
  if (!bytes || bytes.length !== KEY_BYTES || bytes[0] !== ED25519) return null;
  const id = (await sha256(utf8(`${name}\n`), bytes)).slice(0, ID_BYTES);
  if (hexOf(id) !== hex) return null;
  const key = await crypto.subtle.importKey('raw', bytes.slice(1), 'Ed25519', false, ['verify']).catch(() => null);
  return key && { text: text.trim(), name, id, key };
}

/** Parses a signed checkpoint, unverified. Returns null for what isn't one. @param {string} note @returns {Checkpoint | null} */
export function readCheckpoint(note) {
  const end = note.lastIndexOf('\n\n');
  if (end < 0 || !note.endsWith('\n')) return null;
  const text = note.slice(0, end + 1);
  const [, origin, size, base64] = /^([^\n]+)\n(0|[1-9]\d{0,15})\n([^\n]+)\n$/.exec(text) ?? [];
  const root = base64 ? fromBase64(base64) : null;
  if (!root || root.length !== 32 || !Number.isSafeInteger(Number(size))) return null;
  const signatures = [];
  for (const line of note.slice(end + 2, -1).split('\n')) {
    const [, name, value] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
    const bytes = value ? fromBase64(value) : null;
    if (!bytes || bytes.length <= ID_BYTES) return null;
    signatures.push({ name, id: bytes.slice(0, ID_BYTES), bytes: bytes.slice(ID_BYTES) });
  }
  return { text, origin, size: Number(size), root, signatures };
}

/**
 * Returns `signed` if the key signed the checkpoint, `forged` if a signature with the key's name and id
 * isn't its own, `other` if there is none.
 * @param {Checkpoint} checkpoint @param {Verifier} verifier @returns {Promise<'signed' | 'forged' | 'other'>}
 */
export async function signatureBy(checkpoint, verifier) {
  const own = checkpoint.signatures.filter(({ name, id }) => name === verifier.name && isEqual(id, verifier.id));
  if (own.length === 0) return 'other';
  for (const { bytes } of own) {
    const isGood = bytes.length === SIGNATURE_BYTES
      && await crypto.subtle.verify('Ed25519', verifier.key, bytes, joined(utf8(checkpoint.text)));
    if (!isGood) return 'forged';
  }
  return checkpoint.origin === verifier.name ? 'signed' : 'forged';
}
