/** What happened in a period, in one sentence: what a person wants to know first. */
import { moneyText, plural } from '../core/figures.js';
import { clockText, durationText } from '../core/time_text.js';

/** Returns the sentence about an answer of `report.get`. @param {any} report */
export function reportSentence({ runs, waiting, crash_totals: crashes, usage, since, cut, history_from: oldest }) {
  const parts = [
    `${plural(runs.started, 'run')} started`, `${runs.succeeded} succeeded`, runs.failed && `${runs.failed} failed`, runs.canceled && `${runs.canceled} were canceled`,
    waiting.total && `${waiting.total}${waiting.capped ? '+' : ''} ${waiting.total === 1 ? 'waits' : 'wait'} for you`,
    crashes.crashes && `${plural(crashes.crashes, 'crash')}, down for at most ${durationText(crashes.down_ms_max)}`,
    usage.cost_microusd && moneyText(usage.cost_microusd),
    cut ? `counted since ${clockText(since)} only, before is too much` : oldest && `counted since ${clockText(since)} only, what is older was archived`,
  ];
  return parts.filter(Boolean).join(' · ');
}
