/** A part that the first look does without: its modules are loaded once it is there. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';

let resolve = () => {};
/** When the first page is on the screen. */
export const firstPage = new Promise((/** @type {(value?: any) => void} */ done) => { resolve = done; });
export const firstPageIsThere = () => resolve();

/**
 * @param {{load: () => Promise<(props: any) => any>, isAfterPage?: boolean, meanwhile?: any, [prop: string]: any}} props
 * `isAfterPage`: it is beside the page, whose modules come first. All but these and what stands there `meanwhile` are the part's
 */
export function Later({ load, isAfterPage = false, meanwhile = null, ...props }) {
  const [shown, setShown] = useState(/** @type {{part: any}} */ ({ part: null }));
  useEffect(() => {
    (isAfterPage ? firstPage : Promise.resolve()).then(load).then((part) => setShown({ part }), () => {});
  }, []);
  return shown.part ? html`<${shown.part} ...${props} />` : meanwhile;
}
