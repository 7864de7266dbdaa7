export type VNode = any;
/** What a template takes: a function of it, such as a handler, may leave the types of its parameters out. */
type Value = ((...args: any[]) => any) | object | string | number | boolean | null | undefined;
export function html(strings: TemplateStringsArray, ...values: Value[]): VNode;
export function h(type: any, props: any, ...children: any[]): VNode;
export function render(tree: VNode, parent: Element): void;
export class Component<P = any, S = any> {
  props: P;
  state: S;
  setState(change: Partial<S>): void;
  render(props: P, state: S): VNode;
}
export function createContext<T>(value: T): any;
export function useState<T>(initial: T | (() => T)): [T, (value: T | ((old: T) => T)) => void];
export function useReducer<S, A>(reduce: (state: S, action: A) => S, initial: S): [S, (action: A) => void];
export function useEffect(effect: () => void | (() => void), dependsOn?: any[]): void;
export function useLayoutEffect(effect: () => void | (() => void), dependsOn?: any[]): void;
export function useRef<T>(initial: T): { current: T };
export function useMemo<T>(make: () => T, dependsOn: any[]): T;
export function useCallback<T>(callback: T, dependsOn: any[]): T;
export function useContext(context: any): any;
export function useErrorBoundary(onError?: (error: any) => void): [any, () => void];
