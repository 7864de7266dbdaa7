// Numbers on the pages: what they say is what the service has said, no more and no less.
import { moneyText } from '../../../server/console/core/figures.js';
import { check } from '../stage.mjs';

/** An amount is never shown as more than it is, and below a cent with all its digits. */
export async function amounts_of_money() {
  const wanted = [[0, '$0.00'], [1, '$0.000001'], [400, '$0.0004'], [10_000, '$0.01'], [187_999, '$0.187'], [500_000, '$0.50'], [1_999_999, '$1.99'], [12_340_000, '$12.34']];
  for (const [microusd, text] of wanted) check(moneyText(microusd) === text, `${microusd} is ${moneyText(microusd)}, not ${text}`);
}
