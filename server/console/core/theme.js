/** Light or dark, as the system has it unless the user chose. */
import { signal } from '../vendor/signals-core.js';

const KEY = 'signalbox.theme';
const THEMES = ['system', 'light', 'dark'];

export const theme = signal(localStorage.getItem(KEY) ?? 'system');

theme.subscribe((chosen) => {
  if (chosen === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  document.documentElement.dataset.theme = chosen;
});

export function nextTheme() {
  theme.value = THEMES[(THEMES.indexOf(theme.peek()) + 1) % THEMES.length];
}
