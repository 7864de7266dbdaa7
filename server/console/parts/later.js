/** A part that the first look does without: its modules are loaded once it is there. */
import { html, useEffect, useState } from '../vendor/htm-preact.js';

/**
 * @param {{load: () => Promise<(props: any) => any>, meanwhile?: any, [prop: string]: any}} props
 * all but `load` and what stands there `meanwhile` are the part's
 */
export function Later({ load, meanwhile = null, ...props }) {
  const [shown, setShown] = useState(/** @type {{part: any}} */ ({ part: null }));
  useEffect(() => {
    load().then((part) => setShown({ part }), () => {});
  }, []);
  return shown.part ? html`<${shown.part} ...${props} />` : meanwhile;
}
