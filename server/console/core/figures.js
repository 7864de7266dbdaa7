/** Numbers, sizes, money and other values as text. */

const thousands = new Intl.NumberFormat('en-US');

export const countText = (/** @type {number} */ count) => thousands.format(count);

export function bytesText(/** @type {number} */ bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** Returns an amount in dollars, never as more than it is: below a cent it has all its digits. */
export function moneyText(/** @type {number} */ amount) {
  const microusd = Math.max(0, Math.floor(amount || 0));
  const decimals = String(microusd % 1e6).padStart(6, '0').slice(0, microusd >= 1e6 ? 2 : microusd >= 1e4 ? 3 : 6);
  return `$${Math.floor(microusd / 1e6)}.${decimals.replace(/0+$/, '').padEnd(2, '0')}`;
}

/** The last part of an id, by which people tell runs apart. */
export const tailOf = (/** @type {string} */ id) => id.slice(-8);

/** `waiting_for` as words: `WAITING_FOR` becomes `waiting for`. */
export const wordsOf = (/** @type {string} */ name) => name.replaceAll('_', ' ').toLowerCase();

export const plural = (/** @type {number} */ count, /** @type {string} */ noun) =>
  `${countText(count)} ${noun}${count === 1 ? '' : /(s|sh|ch|x)$/.test(noun) ? 'es' : 's'}`;

/** A part of a whole, as a style has it. */
export const percentText = (/** @type {number} */ part) => `${(100 * part).toFixed(3)}%`;

/** Returns a value of any kind as text. @param {any} value */
export const valueText = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

export const hexOf = (/** @type {Uint8Array} */ bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Returns a word as a shell takes it. @param {string} word */
export const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
