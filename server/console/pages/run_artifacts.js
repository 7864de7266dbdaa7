/** What the attempts of a run left. Its digest is checked here, against that of the event. */
import { html, useState } from '../vendor/htm-preact.js';
import { bytesText, hexOf } from '../core/figures.js';
import { identity } from '../core/identity.js';
import { markedText } from '../core/plain_text.js';
import { artifact } from '../core/rpc.js';
import { useSignal } from '../core/use_signal.js';
import { Empty, Problem } from '../parts/notice.js';

const PREVIEW_BYTES_MAX = 512 * 1024;
const TEXT = /^(text\/|application\/(json|xml|toml|yaml|x-sh|javascript))/;
const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

const KEPT_MS = 60_000;

/** Saves a blob as a file of the user's. @param {Blob} blob @param {string} name its last part is the file's name */
export function saveFile(blob, name) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name.split('/').at(-1) ?? 'file';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

/** @param {Blob} blob @returns {Promise<string | null>} null where the browser has no digests: on plain HTTP */
async function digestOf(blob) {
  if (!globalThis.crypto.subtle) return null;
  return hexOf(new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer())));
}

function Artifact(/** @type {{run: any, item: any, hasContent: boolean}} */ { run, item, hasContent }) {
  const [state, setState] = useState(/** @type {any} */ ({}));
  const load = async (/** @type {boolean} */ isSaved) => {
    try {
      const blob = await artifact(run.run_id, item.name);
      const digest = await digestOf(blob);
      const isSame = digest === null ? null : digest === item.sha256;
      if (isSaved && isSame !== false) saveFile(blob, item.name);
      const text = !isSaved && TEXT.test(item.media_type) ? await blob.slice(0, PREVIEW_BYTES_MAX).text() : undefined;
      const image = !isSaved && IMAGE.test(item.media_type) ? URL.createObjectURL(blob) : undefined;
      setState({ isSame, text, image });
    } catch (error) {
      setState({ error });
    }
  };
  const isShown = TEXT.test(item.media_type) || IMAGE.test(item.media_type);
  return html`<li><div class="artifact"><b class="cut">${item.name}</b> <span class="faint">${item.station} ${item.attempt} · ${item.media_type} · ${bytesText(item.bytes)}</span>
      ${state.isSame === true && html`<span class="tone-good" title=${item.sha256}>✔ as recorded</span>`}
      ${state.isSame === false && html`<span class="tone-bad" role="alert">✖ not what was recorded</span>`}
      ${isShown && item.current && hasContent && html`<button class="small" onClick=${() => load(false)}>show</button>`}
      ${item.current && hasContent && html`<button class="small" onClick=${() => load(true)}>save</button>`}${!item.current && html`<span class="faint">of an earlier attempt</span>`}</div>
    <${Problem} error=${state.error} />
    ${state.text !== undefined && html`<pre tabindex="0" aria-label=${item.name}>${markedText(state.text)}</pre>`}
    ${state.image && html`<img src=${state.image} alt=${item.name} />`}</li>`;
}

export function RunArtifacts(/** @type {{run: any}} */ { run }) {
  const capsule = useSignal(identity)?.capsule;
  const hasContent = !capsule || capsule.artifacts > 0;
  const items = run.stations.flatMap((/** @type {any} */ station) => station.attempts.flatMap((/** @type {any} */ attempt) =>
    attempt.artifacts.map((/** @type {any} */ each) => ({ ...each, station: station.station, attempt: attempt.attempt }))));
  if (items.length === 0) return html`<${Empty} text="No attempt has left an artifact." command=${capsule ? undefined : `signalbox run get ${run.run_id}`} />`;
  return html`${!hasContent && html`<${Empty} text="This capsule has the digests of the artifacts and not their content." command=${`signalbox run export ${run.run_id} --artifacts --signing-key audit.key -o run.capsule`} />`}
    <ul class="artifacts">${items.map((/** @type {any} */ item) => html`<${Artifact} key=${`${item.station} ${item.attempt} ${item.name}`} run=${run} item=${item} hasContent=${hasContent} />`)}</ul>`;
}
