/** Light, dark, or as the system says; remembered by this browser, set before the first paint by index.html. */
import { Observable } from '../observable.ts';

export type Theme = 'system' | 'light' | 'dark';
const STORED = 'agent.theme';

const stored = (): Theme => {
  const value = localStorage.getItem(STORED);
  return value === 'light' || value === 'dark' ? value : 'system';
};

export const theme = new Observable<Theme>(stored());

export function setTheme(value: Theme): void {
  if (value === 'system') {
    localStorage.removeItem(STORED);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(STORED, value);
    document.documentElement.dataset.theme = value;
  }
  theme.set(value);
}

/** What is on the screen now. */
export function isDark(value: Theme = theme.get()): boolean {
  return value === 'dark' || (value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
}
