/** Light or dark, as the system has it unless the user chose. */
import { signal } from '../vendor/signals-core.js';

const KEY = 'signalbox.theme';
const THEMES = ['system', 'light', 'dark'];

export const theme = signal(localStorage.getItem(KEY) ?? 'system');

const darkness = matchMedia('(prefers-color-scheme: dark)');

/** Whether the system is dark now, which it may become in the evening under a page that is open. */
export const isSystemDark = signal(darkness.matches);
darkness.addEventListener('change', () => { isSystemDark.value = darkness.matches; });

theme.subscribe((chosen) => {
  if (chosen === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  document.documentElement.dataset.theme = chosen;
});

export function nextTheme() {
  theme.value = THEMES[(THEMES.indexOf(theme.peek()) + 1) % THEMES.length];
}
