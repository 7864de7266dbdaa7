// Every page as a screen reader has it, of a log that is the same each time: live, and as of a moment.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { fillLog } from '../night.mjs';
import { check, hadNoComplaint } from '../stage.mjs';

const TEXTS = fileURLToPath(new URL('../texts/', import.meta.url));

/** The pages by the names of their texts. @returns {Record<string, string>} */
const pagesOf = ({ succeeded, failed, asking, paused, card }) => ({
  inbox: '?page=inbox', board: '?page=board', 'board-of-a-project': '?page=board&project=parser',
  runs: '?page=runs', 'runs-of-a-status': '?page=runs&status=paused', 'runs-with-a-text': '?page=runs&text=parser',
  run: `?page=run&id=${succeeded}`, 'run-that-waits': `?page=run&id=${asking}`,
  'run-output': `?page=run&id=${failed}&tab=output&stream=stderr`, 'run-change': `?page=run&id=${asking}&tab=change`,
  'run-artifacts': `?page=run&id=${succeeded}&tab=artifacts`, 'run-events': `?page=run&id=${paused}&tab=events`,
  'run-why': `?page=run&id=${paused}&tab=why`, card: `?page=card&id=${card}`, loops: '?page=loops', night: '?page=night', 'night-of-locks': '?page=night&group=lock',
  events: '?page=events&types=CardSubmitted,CardBlocked,RunPaused', 'events-of-a-stream': '?page=events&stream=lock/deploy/prod',
  'events-from-a-position': '?page=events&from=1&types=RunStarted', projects: '?page=projects', project: '?page=projects&name=parser',
  audit: '?page=audit', 'what-if': '?page=whatif', server: '?page=server', nothing: '?page=nothing',
  'kiosk-now': '?kiosk=now', 'kiosk-board': '?kiosk=board', 'kiosk-night': '?kiosk=night',
});

/** What differs each time, by what stands for it. @type {[RegExp, string][]} */
const VARIABLE = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}\b/g, 'ID'], [/\/\S*\/console-[^/\s]+\/\w+/g, 'DIR'], [/\b[0-9a-f]{12,64}\b/g, 'DIGEST'], [/\b(\d+\.\d+\.\d+)\+DIGEST(\.modified)?/g, '$1'],
  [/\b(?=[0-9a-f]*\d)[0-9a-f]{8}\b/g, 'TAIL'], [/#\d[\d,]*/g, '#N'], [/\b(at|from)=\d+/g, '$1=N'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'], [/\b((Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d+ \w+,? )?\d\d:\d\d:\d\d\b/g, 'TIME'],
  [/\b\d+ (d|h|min|s|ms)\b( \d+ (h|min|s|ms)\b)?/g, 'SPAN'], [/(?<!Tick )\bnow\b/g, 'SPAN'], [/\bdue\b/g, 'in SPAN'],
  [/\b[\d.]+ (B|KiB|MiB)\b/g, 'SIZE'], [/--(asked|seen) \d+/g, '--$1 N'], [/(subscriptions\n.*definition:) "\d+"/g, '$1 N'],
  [/\b(events per second|stations that wait|attempts at work|memory|processors) (SIZE|[\d.,]+( \w+)?|…)/g, '$1 N'],
  [/SPAN( SPAN)+/g, 'SPAN'],
  // A loop may tick meanwhile.
  [/the latest \d+ ticks/g, 'the latest N ticks'], [/( +- time: in SPAN\n +- cell) "SPAN":\n +- time: SPAN/g, '$1'],
  // A sweep of the watchdog may be under way.
  [/^( *)- '?row "watchdog running [^\n]*\n(?:\1 +[^\n]*\n?)*/gm, ''],
  // A loop may tick before the moment as well, of which the log has no schedules.
  [/(row "(heartbeat|synthesizer|prune)) SPAN the/g, '$1 the'],
  [/( +- cell "(?:heartbeat|synthesizer|prune)"\n +- cell\n +- cell\n +- cell) "SPAN":\n +- time: SPAN/g, '$1'],
  // A heartbeat may have read the project's policy, or not yet.
  [/\b(not read yet|defaults)(?=")/g, 'POLICY'],
  // On a busy machine a run waits until others wait as well.
  [/\b(runs that wait|attempts at work) at most \d+/g, '$1 at most N'],
  [/127\.0\.0\.1:\d+/g, 'ADDRESS'], [/\buid:\d+/g, 'uid:N'], [/\bversion: \S+/g, 'version: VERSION'],
];

/** Returns the text of a page. Of `tails`, the ends of ids, some have no digit. */
async function textOf(page, tails) {
  const text = VARIABLE.reduce((before, [what, name]) => before.replace(what, name), await page.locator('main').ariaSnapshot());
  return tails.reduce((before, tail) => before.replaceAll(tail, 'TAIL'), text);
}

/** Returns where a text isn't the one that is kept, after keeping it if that is wanted. */
function difference([name, text]) {
  const file = path.join(TEXTS, `${name}.txt`);
  if (process.env.SIGNALBOX_REWRITE_TEXTS) fs.writeFileSync(file, text);
  const kept = fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
  if (kept === text) return '';
  const [before, now] = [kept.split('\n'), text.split('\n')];
  const at = now.findIndex((line, index) => line !== before[index]);
  return `${name}.txt, line ${at + 1}:\n  kept: ${before[at]}\n  now:  ${now[at]}`;
}

export async function every_page_as_text(stage) {  // C1
  const ids = await fillLog(stage, path.dirname(stage.service.data));
  const tails = Object.values(ids).map((id) => id.slice(-8));
  const { events } = await stage.service.call('events.read', { types: ['CardSubmitted'] });
  const moment = events[0].position;
  const pages = Object.entries(pagesOf(ids));
  const look = async (list, query) => {
    const texts = new Map();
    const page = await stage.open(query);
    for (let next = list.shift(); next; next = list.shift()) {
      const [name, address] = next;
      // From another page, so that nothing of an earlier question is left.
      await stage.turn(page, `?page=blank${query.replace('?', '&')}`, 'no such page');
      await stage.turn(page, `${address}${query.replace('?', '&')}`);
      texts.set(name, await textOf(page, tails));
    }
    hadNoComplaint(page);
    return texts;
  };
  const [live, past] = await Promise.all([look([...pages], ''), look(pages.filter(([name]) => !name.startsWith('kiosk')), `?at=${moment}`)]);
  const whole = [...live].map(([name, text]) => [name, `== live\n${text}\n${past.has(name) ? `== before the card is blocked and a run is paused\n${past.get(name)}\n` : ''}`]);
  const differences = whole.map(difference).filter(Boolean);
  check(differences.length === 0, `these aren't as they were (SIGNALBOX_REWRITE_TEXTS=1 keeps what is now):\n${differences.join('\n')}`);
}
every_page_as_text.isLong = true;
