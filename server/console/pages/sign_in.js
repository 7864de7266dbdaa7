/** Asks for an access token when the service wants one. */
import { html, useState } from '../vendor/htm-preact.js';
import { identity } from '../core/identity.js';
import { keepToken, refusal } from '../core/session.js';
import { useSignal } from '../core/use_signal.js';
import { Command } from '../parts/notice.js';

export function SignIn() {
  const why = useSignal(refusal);
  const [secret, setSecret] = useState('');
  const [isKept, setKept] = useState(false);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    identity.value = null;
    keepToken(secret.trim(), isKept);
  };
  const reason = why?.details.reason;
  return html`<main class="alone"><form class="sign-in" onSubmit=${submit}>
    <h1>Signalbox</h1>
    <p>${reason && reason !== 'missing' ? `The access token is ${reason}.` : why?.message}</p>
    <label>Access token <input type="password" name="token" autocomplete="off" spellcheck=${false} required value=${secret}
      placeholder="sbx_…" onInput=${(event) => setSecret(event.target.value)} autofocus /></label>
    <label class="check"><input type="checkbox" checked=${isKept} onChange=${(event) => setKept(event.target.checked)} /> Remember it on this device</label>
    <button class="primary">Sign in</button>
    <div class="faint"><p>On the machine of the service this opens the console with a token of its own:</p><${Command} command="signalbox console" />
    <p>This issues one for somebody else:</p><${Command} command="signalbox access issue NAME --role operator --expires-in 12h" /></div>
  </form></main>`;
}
