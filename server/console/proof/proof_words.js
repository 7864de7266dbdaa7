/** What each verdict about the log is called, what it means, and what to do about it. */
import { countText } from '../core/figures.js';
import { clockText } from '../core/time_text.js';

/** Returns `on Fri 5 Jun 18:02:11`, or `at 18:02:11` of today. */
function when(/** @type {number | undefined} */ at) {
  if (!at) return 'earlier';
  const text = clockText(at);
  return `${text.includes(' ') ? 'on' : 'at'} ${text}`;
}
const place = (/** @type {number | undefined} */ position) => `#${countText(position ?? 0)}`;

/**
 * @typedef {{mark: string, tone: string, short: (proof: Proof) => string, sentence: (proof: Proof) => string,
 *   todo?: string, commands?: string[]}} Words
 * @type {Record<Verdict, Words>}
 */
export const WORDS = {
  checking: { mark: '…', tone: 'faint', short: () => 'checking', sentence: () => 'The signed checkpoint is being checked.' },
  proven: {
    mark: '✔', tone: 'tone-good', short: ({ size }) => `proven to ${place(size)}`,
    sentence: ({ size, since }) => `The log up to ${place(size)} is what its key signed${since ? `, and unchanged since you looked ${when(since)}` : ''}.`,
  },
  new: {
    mark: '◐', tone: 'tone-wait', short: () => 'key is new here',
    sentence: ({ size }) => `The log up to ${place(size)} is what the key signed, but this browser sees that key for the first time: it has only the service’s word for it.`,
    todo: 'Compare the key with the one that you were given by whoever runs the service. From the next visit on, this browser notices any change of what it has seen today.',
  },
  unseen: {
    mark: '◐', tone: 'tone-wait', short: () => 'signed by another key',
    sentence: ({ kept }) => `The checkpoint is signed by a key that this browser hasn’t seen; what it saw ${when(kept?.at)} was signed by another one. Nothing is proven.`,
    todo: 'Ask whoever runs the service whether the key was replaced; the log records that as AuditKeyAdopted. If it was, trust the new key: what you have seen before must still be in the log.',
    commands: ['signalbox events --type AuditKeyAdopted'],
  },
  unsigned: {
    mark: '○', tone: 'faint', short: () => 'no audit key',
    sentence: () => 'This service has no key to sign its log with, so nothing of it can be proven here.',
    todo: 'Make a key, name it in the configuration file, and restart the service.',
    commands: ['signalbox audit keygen -o audit.key --name example.com/box --adopt', 'audit_key = "audit.key"'],
  },
  silent: {
    mark: '◐', tone: 'tone-wait', short: () => 'not signed any more',
    sentence: ({ kept }) => `The service signs no checkpoints any more; ${when(kept?.at)} it signed ${place(kept?.size)}. Nothing is proven.`,
    todo: 'Ask whoever runs the service why its audit_key is gone.',
  },
  insecure: {
    mark: '○', tone: 'faint', short: () => 'needs TLS',
    sentence: () => 'A browser checks signatures only on pages that came by TLS, or from this machine. Nothing is proven.',
    todo: 'Open the console by https, or by signalbox console.',
    commands: ['signalbox console'],
  },
  unchecked: {
    mark: '◌', tone: 'faint', short: ({ proven }) => (proven ? `not checked since ${place(proven)}` : 'not checked'),
    sentence: ({ why, checkedAt }) => `The log couldn’t be checked: ${why}. ${checkedAt ? `It was proven ${when(checkedAt)}. ` : ''}It is tried again.`,
  },
  missing: {
    mark: '◐', tone: 'tone-wait', short: () => 'can’t be checked',
    sentence: ({ why }) => `A part of the tree that the proof needs is missing (${why}), so nothing is proven.`,
    todo: 'If old records were moved to an archive since you looked, check the log from the archive on; else the log is damaged.',
    commands: ['signalbox audit verify ARCHIVE --key @audit.vkey', 'signalbox replay --verify'],
  },
  forged: {
    mark: '✖', tone: 'tone-bad', short: () => 'doesn’t verify',
    sentence: ({ why, key }) => `The checkpoint isn’t what the key ${nameOf(key)} signed: ${why}. Believe nothing on this page.`,
    todo: 'Somebody between you and the service may change what you see. Look at the log on its own machine.',
    commands: ['signalbox audit checkpoint --signing-key audit.key'],
  },
  tiles: {
    mark: '✖', tone: 'tone-bad', short: () => 'doesn’t verify',
    sentence: ({ size }) => `The hashes of the log up to ${place(size)} aren’t those that were signed. Believe nothing on this page.`,
    todo: 'The log was changed after it was signed, or somebody changes what you see. Check it on its own machine.',
    commands: ['signalbox replay --verify', 'signalbox audit export --signing-key audit.key -o ./export'],
  },
  older: {
    mark: '✖', tone: 'tone-bad', short: ({ size }) => `ends at ${place(size)}`,
    sentence: ({ size, kept }) => `The log ends at ${place(size)}, but ${when(kept?.at)} this browser has seen it signed up to ${place(kept?.size)}. What came after is gone.`,
    todo: 'An older copy was put in place of the log, or an old checkpoint is shown to you. Ask whoever runs the service.',
    commands: ['signalbox server crash-report'],
  },
  fork: {
    mark: '✖', tone: 'tone-bad', short: () => 'another log',
    sentence: ({ kept }) => `The log up to ${place(kept?.size)} isn’t the one that this browser has seen ${when(kept?.at)}: it was rewritten and signed anew.`,
    todo: 'Whoever has the key has changed what was recorded, or this is another log at the same address. Compare it with a checkpoint or an export that is kept elsewhere.',
    commands: ['signalbox audit verify ./export --key @audit.vkey --old-checkpoint monday.checkpoint'],
  },
  mixed: {
    mark: '✖', tone: 'tone-bad', short: () => 'doesn’t verify',
    sentence: ({ why }) => `The service shows an event otherwise than it was recorded: ${why}. Believe nothing on this page.`,
    todo: 'Somebody between you and the service may change what you see. Look at the log on its own machine.',
    commands: ['signalbox events --from 1'],
  },
};

/** `NAME+ID` of a verifier key, by which people know it. */
export const nameOf = (/** @type {string | undefined} */ key = '') => key.split('+').slice(0, 2).join('+');
