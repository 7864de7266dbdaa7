/** The output of a job with its colours: each piece is a text in an element, never HTML. */
import { html } from '../vendor/htm-preact.js';
import { plainText, SEQUENCE } from '../core/plain_text.js';

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];

/** @param {{colour: string, bold: boolean}} style @param {string} codes */
function styled(style, codes) {
  let { colour, bold } = style;
  for (const code of codes.split(';').map(Number)) {
    if (code === 0) [colour, bold] = ['', false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code >= 30 && code <= 37) colour = COLOURS[code - 30];
    else if (code >= 90 && code <= 97) colour = COLOURS[code - 90];
    else if (code === 39) colour = '';
  }
  return { colour, bold };
}

/** Returns the pieces of one line. @param {string} line */
function ansiPieces(line) {
  const pieces = /** @type {{text: string, colour: string, bold: boolean}[]} */ ([]);
  let style = { colour: '', bold: false };
  let from = 0;
  const add = (/** @type {string} */ text) => {
    const clean = plainText(text);
    if (clean) pieces.push({ ...style, text: clean });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    add(line.slice(from, match.index));
    if (match[1] !== undefined) style = styled(style, match[1]);
    from = match.index + match[0].length;
  }
  add(line.slice(from));
  return pieces;
}

/** Returns the text of one line, without colours. @param {string} line */
export const plainLine = (line) => ansiPieces(line).map(({ text }) => text).join('');

export function AnsiLine(/** @type {{line: string}} */ { line }) {
  return html`${ansiPieces(line.replace(/\r$/, '')).map(({ text, colour, bold }) =>
    colour || bold ? html`<span class="${colour ? `ansi-${colour}` : ''} ${bold ? 'ansi-bold' : ''}">${text}</span>` : text)}`;
}
