/** Reads the header of a record, as store/FORMAT.md describes it: the part of an event that the tree covers directly. */
import { hexOf } from '../core/figures.js';
import { plainText } from '../core/plain_text.js';

/** @typedef {{position: number, number: number, recordedAtNs: bigint, stream: string, actor: string, commandId: string, cause: number, spanId: string}} Header */

const FORMAT = 1;
const KINDS = /** @type {Record<number, string>} */ ({ 1: 'server', 2: 'run', 3: 'lock', 4: 'tick', 7: 'project', 8: 'card', 9: 'access' });
const DIGEST_BYTES = 32;

const uuidOf = (/** @type {Uint8Array} */ bytes) => hexOf(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

/** Returns null for an entry that isn't of this format. @param {Uint8Array} entry the header, then the digest of the payload @returns {Header | null} */
export function readHeader(entry) {
  const end = entry.length - DIGEST_BYTES;
  const view = new DataView(entry.buffer, entry.byteOffset, entry.length);
  let at = 23;
  const take = (/** @type {number} */ bytes) => {
    if (at + bytes > end) throw new RangeError('the header ends early');
    at += bytes;
    return entry.subarray(at - bytes, at);
  };
  // As all texts on screen are: what is compared with them has to be cleaned as well.
  const text = () => {
    const length = take(2);
    return plainText(new TextDecoder('utf-8', { fatal: true }).decode(take(length[0] + 256 * length[1])));
  };
  try {
    if (end < at || view.getUint8(0) !== FORMAT) return null;
    const mask = view.getUint8(1);
    const has = (/** @type {number} */ bit) => (mask >> bit) % 2 === 1;
    const kind = KINDS[view.getUint8(2)];
    const id = has(0) ? uuidOf(take(16)) : '';
    const name = has(1) ? text() : '';
    const actor = has(2) ? text() : '';
    const commandId = has(3) ? text() : '';
    if (has(4)) take(32);
    const cause = has(5) ? Number(new DataView(take(8).slice().buffer).getBigUint64(0, true)) : 0;
    const spanId = has(6) ? uuidOf(take(16)) : '';
    if (at !== end || !kind) return null;
    return {
      position: Number(view.getBigUint64(7, true)),
      number: view.getUint16(3, true),
      recordedAtNs: view.getBigInt64(15, true),
      stream: id || name ? `${kind}/${id || name}` : kind,
      actor, commandId, cause, spanId,
    };
  } catch {
    return null;
  }
}

/** The time of an event in ns since 1970. @param {string} time RFC 3339 in UTC, with nanoseconds */
function nsOf(time) {
  const [, whole, fraction = ''] = /^(.{19})(?:\.(\d+))?Z$/.exec(time) ?? [];
  return whole ? BigInt(Date.parse(`${whole}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9)) : null;
}

/**
 * Returns the names of what an event on screen has otherwise than its record.
 * @param {Header} header @param {any} event as `events.read` has it @param {number | undefined} number of its type
 */
export function differences(header, event, number) {
  const pairs = /** @type {[string, any, any][]} */ ([
    ['position', header.position, event.position],
    ['type', header.number, number],
    ['time', header.recordedAtNs, nsOf(event.recorded_at)],
    ['stream', header.stream, event.stream],
    ['actor', header.actor, event.actor],
    ['command id', header.commandId, event.command_id ?? ''],
    ['cause', header.cause, event.cause ?? 0],
  ]);
  return pairs.filter(([, recorded, shown]) => recorded !== shown).map(([name]) => name);
}
