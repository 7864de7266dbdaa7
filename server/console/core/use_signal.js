import { useEffect, useState } from '../vendor/htm-preact.js';
import { effect } from '../vendor/signals-core.js';

/** Returns the signal's value, and renders the calling component again whenever it changes. @template T @param {{value: T, peek(): T}} signal @returns {T} */
export function useSignal(signal) {
  const [value, setValue] = useState(() => ({ of: signal.peek() }));
  useEffect(() => effect(() => {
    const of = signal.value;
    // What is on the screen already isn't rendered again, as when the component has just begun.
    setValue((old) => (old.of === of ? old : { of }));
  }), [signal]);
  return value.of;
}
