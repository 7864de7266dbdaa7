/** Bytes of proofs: digests, base64 that has one encoding only, comparison. */

const encoder = new TextEncoder();

/** Returns the bytes of a text. */
export const utf8 = (/** @type {string} */ text) => encoder.encode(text);

/** Returns the parts in one piece. @param {Uint8Array[]} parts @returns {Uint8Array<ArrayBuffer>} */
export function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** @param {Uint8Array[]} parts */
export const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest('SHA-256', joined(...parts)));

export const base64Of = (/** @type {Uint8Array} */ bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

/** Returns null unless the text is the one encoding of its bytes. */
export function fromBase64(/** @type {string} */ text) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return null;
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return base64Of(bytes) === text ? bytes : null;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export const isEqual = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);
