// A phone that is paired with the console of a service with TLS.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { check, hadNoComplaint } from '../stage.mjs';

/** Starts the service again, with TLS for localhost. Returns its address. */
async function encrypt(service) {
  await service.kill();
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => path.join(service.data, name));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2',
    '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  fs.chmodSync(key, 0o600);
  fs.writeFileSync(path.join(service.data, 'signalbox.toml'), `tls_certificate = "${certificate}"\ntls_key = "${key}"\n`);
  await service.start();
  return `https://localhost:${service.address.split(':')[1]}`;
}

/** The command that the console shows pairs a phone, which decides an approval and nothing else, until its token is revoked. */
export async function a_phone_is_paired(stage) {  // C8
  const { service } = stage;
  const plain = await stage.open('?page=server', { role: 'admin' });
  await plain.getByText('signalbox access issue NAME --role operator').waitFor();
  check(await plain.getByText('--pair').count() === 0, 'a phone is paired without TLS');
  await plain.close();
  const origin = await encrypt(service);
  const id = await service.startRun('to be seen from afar', [['review'], ['ship', 'true']]);
  // The certificate is no authority's that the browser knows.
  const admin = await (await stage.visitor({ ignoreHTTPSErrors: true })).newPage();
  await admin.goto(`${origin}/console/?page=server#t=${await stage.token('admin')}`);
  const command = await admin.getByText('--pair').textContent();
  check(command === `signalbox access issue NAME --pair ${origin}`, command);

  const signalbox = (words) => execFileSync(service.binary, [...words, '--data', service.data], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const address = signalbox(command.replace('NAME', 'phone').split(' ').slice(1)).trim();
  const phone = await (await stage.visitor({ width: 390, height: 844, isMobile: true, hasTouch: true, ignoreHTTPSErrors: true })).newPage();
  await phone.goto(address);
  await phone.getByText('to be seen from afar').first().waitFor();
  check(phone.url() === `${origin}/console/`, `the token is in the address: ${phone.url().replace(/sbx_.*/, 'sbx_…')}`);
  await phone.getByRole('button', { name: 'Approve', exact: true }).first().tap();
  await phone.locator('dialog[open] button[type=submit]:not([aria-disabled])').tap();
  await service.runIs(id, 'succeeded');
  const { decided } = (await service.run(id)).stations[0];
  check(decided.decision === 'approve' && decided.actor === 'token:phone', JSON.stringify(decided));
  const refused = await phone.evaluate(async () => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${sessionStorage.getItem('signalbox.token')}` };
    const call = { jsonrpc: '2.0', id: 1, method: 'run.start', params: { goal: 'from a phone' } };
    return (await (await fetch('/rpc', { method: 'POST', headers, body: JSON.stringify(call) })).json()).error?.data.code;
  });
  check(refused === 'FORBIDDEN', `a phone may start runs: ${refused}`);
  hadNoComplaint(admin);

  signalbox(['access', 'revoke', 'phone', '--reason', 'the phone is gone']);
  await phone.reload();
  await phone.getByText('The access token is revoked.').waitFor();
}
