/**
 * Text of others, without what would make it read other than it is: control characters, and those
 * that turn the direction of what follows. Everything that the service answers goes through here, so
 * no page has to think of it. That no text becomes an element is the page's policy.
 */

/** Sequences of terminals: colours (with their codes), movements, titles. */
export const SEQUENCE = /\x1b\[([0-9;]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]/g;
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
const CONTROL_BUT_ESCAPE = /[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g;
/** Shown as a mark, for the eye shall notice that something was there. */
const DIRECTION = /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g;
const MARK = '\ufffd';

const needsCare = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/;
/** The same in JSON, where these characters may be written as escapes. */
const mayNeedCare = new RegExp(`${needsCare.source}|\\\\[ubf]`);

export function plainText(/** @type {string} */ text) {
  if (!needsCare.test(text)) return text;
  return text.replace(SEQUENCE, '').replace(CONTROL, '').replace(DIRECTION, MARK);
}

/**
 * Returns text by which somebody decides, such as a change: nothing of it is left out, and each character that isn't
 * shown has a mark.
 */
export const markedText = (/** @type {string} */ text) => (needsCare.test(text) ? text.replace(CONTROL, MARK).replace(DIRECTION, MARK) : text);

/** Returns text whose sequences of terminals are still there, for the page that shows their colours. */
export const terminalText = (/** @type {string} */ text) => text.replace(CONTROL_BUT_ESCAPE, '').replace(DIRECTION, MARK);

/**
 * Parses JSON; each text in it is cleaned. Nearly all JSON has nothing to clean, and is parsed several
 * times faster without looking at each text.
 * @param {string} text @param {(text: string) => string} [clean]
 */
export function parsePlain(text, clean = plainText) {
  if (!mayNeedCare.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value) => (typeof value === 'string' ? clean(value) : value));
}
