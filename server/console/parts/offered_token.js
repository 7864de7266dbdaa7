/**
 * An access token in the address, while this browser has another one. Whoever makes a link to the console
 * may put one in, so none that the service accepts is given up for it unless the user says so.
 */
import { html } from '../vendor/htm-preact.js';
import { call } from '../core/rpc.js';
import { keepToken, token } from '../core/session.js';
import { closeDialog, openDialog } from './dialog.js';

/** Returns who has this token, or what the service says to it. @param {string} secret @returns {Promise<any>} */
const bearerOf = (secret) => call('server.whoami', {}, undefined, secret).catch((error) => error);

/** All that is here is of the one before. @param {string} secret */
function signInWith(secret) {
  keepToken(secret, false);
  location.reload();
}

/** @param {{now: Identity, offered: Identity, secret: string}} props */
function Question({ now, offered, secret }) {
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    signInWith(secret);
  };
  return html`<form class="action" onSubmit=${submit}><h2 id="dialog-title">Sign in with the token of the address?</h2>
    <p>It is one of ${offered.actor}, ${offered.role}. You are ${now.actor}, ${now.role}: your token would be forgotten in this tab and on this device.</p>
    <p>If you didn’t ask for this, such as by <code>signalbox console</code>, stay who you are: any page may have such a link.</p>
    <div class="buttons"><button type="button" autofocus onClick=${closeDialog}>Stay ${now.actor}</button>
      <button class="primary">Sign in as ${offered.actor}</button></div></form>`;
}

/** Tries the token, and asks the user about one that is accepted. @param {string} secret */
export async function tryToken(secret) {
  const [now, offered] = await Promise.all([token(), secret].map(bearerOf));
  if (!offered.actor) return;
  if (now.actor) openDialog(() => html`<${Question} now=${now} offered=${offered} secret=${secret} />`);
  else if (now.code === 'UNAUTHENTICATED') signInWith(secret);
}
