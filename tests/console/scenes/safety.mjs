// What others wrote is text, whatever they wrote; and who may not, can't.
import path from 'node:path';
import { BEFORE_FILES, filesOfDiff } from '../../../server/console/core/diff.js';
import { markedText } from '../../../server/console/core/plain_text.js';
import { allPages, fillLog } from '../night.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

const HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>"\'><svg onload=window.hacked=1> javascript:window.hacked=1 ${window.hacked=1} \u202egnorw\u2066';

/** Hostile text in every field stays text, on every page. */
export async function hostile_text_in_every_field(stage) {  // C3
  const ids = await fillLog(stage, path.dirname(stage.service.data), HOSTILE);
  const page = await stage.open();
  for (const [query, text] of await allPages(stage, ids)) {
    await stage.turn(page, query, text);
    const found = await page.evaluate(() => ({
      hacked: 'hacked' in window,
      elements: document.querySelectorAll('#app img[src="x"], #app script, #app svg, #app iframe, #app [onerror], #app [onload]').length,
      links: [...document.querySelectorAll('#app a')].filter(({ protocol }) => !/^https?:$/.test(protocol)).length,
      turned: /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText),
    }));
    check(!found.hacked && found.elements === 0 && found.links === 0 && !found.turned, `${query}: ${JSON.stringify(found)}`);
  }
  await page.goto(stage.address(`?page=run&id=${ids.succeeded}`));
  await page.locator('h1').getByText('<img src=x onerror="window.hacked=1">').waitFor();
  hadNoComplaint(page);
}

/** Who approves a change has seen all of it, whatever its lines and its files are called. */
export async function a_change_hides_nothing() {  // C3
  const shown = (...lines) => filesOfDiff(`${lines.join('\n')}\n`).map(({ name, added, removed, lines: own }) => [name, added, removed, ...own]);
  const is = (got, wanted) => check(JSON.stringify(got) === JSON.stringify(wanted), `${JSON.stringify(got)} for ${JSON.stringify(wanted)}`);
  const hunk = ['@@ -1,2 +1,3 @@', '--- a note', '+++ x, evil()', '+more', ' same'];
  is(shown('diff --git a/x.js b/x.js', 'index 1..2 100644', '--- a/x.js', '+++ b/x.js', ...hunk), [['x.js', 2, 1, ...hunk]]);
  const quoted = '"b/docs/\\303\\251\\033[2J.md"';
  is(shown(`diff --git ${quoted.replace('b/', 'a/')} ${quoted}`, 'new file mode 100644', '--- /dev/null', `+++ ${quoted}`, '@@ -0,0 +1 @@', '+a'),
    [['docs/\u00e9\ufffd[2J.md', 1, 0, 'new file mode 100644', '@@ -0,0 +1 @@', '+a']]);
  is(shown('diff --git a/x b/f b/x b/f', 'old mode 100644', 'new mode 100755', 'diff --git a/y b/y', '--- a/y', '+++ b/y', '@@ -1 +1 @@', '-diff --git a/z b/z', '+b', '\\ No newline at end of file'),
    [['x b/f', 0, 0, 'old mode 100644', 'new mode 100755'], ['y', 1, 1, '@@ -1 +1 @@', '-diff --git a/z b/z', '+b', '\\ No newline at end of file']]);
  is(shown('Subject: a', '', 'diff --git a/y b/y', 'index 1..2'), [[BEFORE_FILES, 0, 0, 'Subject: a', ''], ['y', 0, 0]]);
  // A sequence of a terminal may go over several lines, and ends nothing here.
  check(markedText('# \x1b]\nevil()\n# \x07\u202e') === '# \ufffd]\nevil()\n# \ufffd\ufffd', 'a line is left out');
}

/** What the address says may be the name of something that every object has. */
export async function names_that_every_object_has(stage) {
  const page = await stage.open('?page=constructor');
  await page.getByText('The console has no such page.').waitFor();
  await stage.turn(page, '?page=runs&since=constructor', 'No run matches.');
  await stage.turn(page, '?kiosk=constructor', 'Needs you');
  await page.getByRole('button', { name: 'Search or command' }).waitFor();
  hadNoComplaint(page);
}

/** The policy stops what a defect of the page could do: markup from text, code from text, other hosts. */
export async function the_policy_stops_scripts(stage) {  // C3
  const page = await stage.open();
  const outcomes = await page.evaluate(async () => {
    // In a task of the page's own: what the test's evaluate() calls directly may use eval.
    const attempt = (what) => new Promise((resolve) => {
      setTimeout(async () => {
        try {
          await what();
          resolve('allowed');
        } catch (error) {
          resolve(error.name);
        }
      });
    });
    return {
      markup: await attempt(() => { document.body.innerHTML += '<b>x</b>'; }),
      code: await attempt(() => new Function('return 1')()),
      policy: await attempt(() => globalThis.trustedTypes.createPolicy('mine', {})),
      elsewhere: await attempt(() => fetch('http://127.0.0.1:9/')),
    };
  });
  check(outcomes.markup === 'TypeError' && outcomes.policy === 'TypeError' && outcomes.elsewhere === 'TypeError'
    && ['EvalError', 'TypeError'].includes(outcomes.code), JSON.stringify(outcomes));
  const [cookies, hasFrame] = [await page.context().cookies(), await page.evaluate(() => document.cookie)];
  check(cookies.length === 0 && hasFrame === '', 'there are cookies');
}

/** What a role doesn't allow can't be pressed, and says why. */
export async function a_viewer_looks(stage) {
  const ids = await fillLog(stage, path.dirname(stage.service.data));
  const page = await stage.open(`?page=run&id=${ids.failed}`, { role: 'viewer' });
  const retry = page.getByRole('button', { name: 'Retry' });
  await retry.waitFor();
  check(await retry.getAttribute('aria-disabled') === 'true', 'a viewer is offered a retry');
  check(/viewer.*run\.retry/.test(await retry.getAttribute('title')), 'it doesn’t say why');
  await retry.click({ force: true });
  await page.keyboard.press('R');
  check(await page.locator('dialog[open]').count() === 0, 'a dialog is open');
  const denied = await stage.service.call('events.read', { types: ['AccessDenied'] });
  check(denied.events.length === 0, 'the console asked for what it may not');
  hadNoComplaint(page);
}

/** The token leaves the address at once, and ends with its revocation; another one can be pasted. */
export async function a_token_is_revoked_under_the_page(stage) {
  const { id, secret } = await stage.newToken('operator');
  const visitor = await stage.visitor();
  const page = await visitor.newPage();
  await page.goto(`${stage.address('?page=runs')}#t=${secret}`);
  await page.getByText('● live').waitFor();
  check(!page.url().includes(secret), `the token is in the address: ${page.url()}`);
  await stage.service.call('access.revoke', { id, reason: 'a scene' });
  await page.reload();
  await page.getByText('The access token is revoked.').waitFor();
  await page.getByLabel('Access token').fill(await stage.token('operator'));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('● live').waitFor();
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
  await page.getByRole('button', { name: 'sign out' }).click();
  await page.getByLabel('Access token').waitFor();
  const kept = await page.evaluate(() => Object.entries({ ...sessionStorage, ...localStorage }));
  check(kept.every(([key]) => key === 'signalbox.visit'), `more than the time of the visit is still there: ${kept}`);
}

/** Any page may have a link to the console with a token in it: who is signed in stays who they are, unless they say otherwise. */
export async function a_link_with_a_token_takes_nobodys_place(stage) {
  const own = await stage.newToken('operator');
  const other = await stage.newToken('viewer');
  const visitor = await stage.visitor({ hasAxe: true });
  const page = await visitor.newPage();
  const kept = () => page.evaluate(() => sessionStorage.getItem('signalbox.token'));
  // Only another path or query loads the page anew.
  let links = 0;
  const follow = async (fragment) => {
    links += 1;
    await page.goto(`${stage.address(`?page=runs&link=${links}`)}#t=${fragment}`);
    await page.getByText('● live').waitFor();
  };
  const askedIn = async () => {
    const dialog = page.getByRole('dialog', { name: 'Sign in with the token of the address?' });
    await dialog.waitFor();
    return dialog;
  };
  await follow(own.secret);
  for (const nobodys of ['anything', '%', '%E2%82%AC', '%0A', 'sbx_unknown']) {
    await follow(nobodys);
    check(!page.url().includes('#'), `the address keeps its token: ${page.url()}`);
    check(await kept() === own.secret, `a link with ${nobodys} has taken the token`);
  }
  // By the keyboard alone: what was asked last has the focus, and staying is what needs no look.
  await follow(other.secret);
  await askedIn();
  const found = await stage.violations(page);
  check(found.length === 0, found.join('; '));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await follow(other.secret);
  await askedIn();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  check(await kept() === own.secret, 'another token was taken without a yes');
  await follow(other.secret);
  await (await askedIn()).getByRole('button', { name: /^Sign in as / }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await page.getByText('● live').waitFor();
  check(await kept() === other.secret, 'the token wasn’t taken after a yes');
  // One that isn't accepted any more is nobody's to lose. The page's own question with it is answered last of all:
  // after the token of the link was taken, before the page is loaded anew with that.
  await stage.service.call('access.revoke', { id: other.id, reason: 'a scene' });
  const moments = Object.fromEntries(['asked', 'taken', 'refused'].map((name) => {
    let come = () => {};
    const comes = new Promise((resolve) => { come = resolve; });
    return [name, { come, comes }];
  }));
  let documents = 0;
  await page.route(/offered_token\.js/, (route) => moments.asked.comes.then(() => route.continue()));
  await page.route(/console\/\?page=runs/, async (route) => {
    documents += 1;
    if (documents === 2) moments.taken.come();
    if (documents === 2) await moments.refused.comes;
    await route.continue();
  });
  await page.route(/\/rpc$/, async (route) => {
    const isFirst = !moments.isAsked && route.request().headers().authorization === `Bearer ${other.secret}`;
    if (!isFirst) return route.continue();
    moments.isAsked = true;
    moments.asked.come();
    await moments.taken.comes;
    const answered = page.waitForResponse((response) => response.request() === route.request());
    await route.continue();
    await (await answered).finished();
    moments.refused.come();
    return undefined;
  });
  links += 1;
  await page.goto(`${stage.address(`?page=runs&link=${links}`)}#t=${own.secret}`);
  await page.getByText('● live').waitFor();
  check(documents === 2, `the page was loaded ${documents} times`);
  check(await kept() === own.secret, 'a revoked token was kept');
}
