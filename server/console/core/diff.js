/** What `git diff` prints, file by file. Nothing of it is left out: who approves decides by it. This module needs no browser. */
import { markedText } from './plain_text.js';

/** Where text is that comes before the first file, such as the message of a commit. */
export const BEFORE_FILES = 'before the first file';

/** Returns a name as it is, which git may print in quotes with its bytes in octal. @param {string} name */
function unquoted(name) {
  const quoted = /^"(.*)"$/.exec(name);
  if (!quoted) return name;
  const bytes = [];
  for (const [whole, octal, other] of quoted[1].matchAll(/\\([0-7]{3})|\\(.)|[^\\]/g)) {
    if (octal) bytes.push(parseInt(octal, 8));
    else bytes.push(...new TextEncoder().encode(other ? ({ n: '\n', t: '\t' })[other] ?? other : whole));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

/** @param {string} path as it is behind "--- " or "+++ ", with git's prefix */
const nameOf = (path) => markedText(unquoted(path.replace(/\t$/, '')).replace(/^[ab]\//, ''));

/** Returns the name in "diff --git a/NAME b/NAME", for a file without lines. @param {string} pair */
function nameOfPair(pair) {
  const half = (pair.length - 1) / 2;
  const [first, second] = [pair.slice(0, half), pair.slice(half + 1)];
  return pair[half] === ' ' && nameOf(first) === nameOf(second) ? nameOf(first) : markedText(pair);
}

/** @param {string | undefined} lines of a range such as "-1,2"; one that names no number has one line */
const linesOf = (lines) => (lines === undefined ? 1 : Number(lines));

/** @param {string} text as `git diff` prints it @returns {{name: string, added: number, removed: number, lines: string[]}[]} */
export function filesOfDiff(text) {
  const files = /** @type {ReturnType<typeof filesOfDiff>} */ ([]);
  let [before, after] = [0, 0]; // lines of the hunk that are still to come
  const begin = (/** @type {string} */ name) => files.push({ name, added: 0, removed: 0, lines: [] });
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const kind = line[0];
    if (before > 0 || after > 0) {
      const file = files[files.length - 1];
      file.lines.push(line);
      if (kind === '\\') continue; // "\ No newline at end of file"
      if (kind === '+') file.added += 1;
      else before -= 1;
      if (kind === '-') file.removed += 1;
      else after -= 1;
      continue;
    }
    if (line.startsWith('diff --git ')) {
      begin(nameOfPair(line.slice(11)));
      continue;
    }
    if (files.length === 0) begin(BEFORE_FILES);
    const file = files[files.length - 1];
    const isOfFile = file.name !== BEFORE_FILES;
    const header = isOfFile && /^(?:---|\+\+\+) (.*)$/.exec(line);
    if (header) {
      if (header[1] !== '/dev/null') file.name = nameOf(header[1]);
      continue;
    }
    if (isOfFile && line.startsWith('index ')) continue;
    const hunk = isOfFile && /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk) [before, after] = [linesOf(hunk[1]), linesOf(hunk[2])];
    file.lines.push(line);
  }
  return files.filter(({ name, lines }) => name !== BEFORE_FILES || lines.some((line) => line !== ''));
}
