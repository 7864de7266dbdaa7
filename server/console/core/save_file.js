/** Saves a blob as a file of the user's. */

const KEPT_MS = 60_000;

/** @param {Blob} blob @param {string} name its last part is the file's name */
export function saveFile(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name.split('/').at(-1) ?? 'file';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
