/** The shapes that several modules name. Browsers don't load this file. */

/** An event of the log, without `data`, which no list on screen needs. */
interface LogEvent {
  position: number;
  type: string;
  stream: string;
  recorded_at: string;
  actor: string;
  cause?: number;
  data?: any;
}

/** The stream of events, as it is now. Of a live one, every event after `position` is told. */
interface Connection {
  state: 'connecting' | 'live' | 'away' | 'refused' | 'stopped';
  since: number;
  retryAt?: number;
  position: number;
  /** That of the newest event; null before there is one. */
  lagMs: number | null;
  /** How often events were skipped: answers of before `position` are asked for again. */
  missed: number;
}

/** The result of events.histogram. */
interface Histogram {
  from: string;
  to: string;
  bucket_ms: number;
  buckets: { at: string; events: number; first_position: number; last_position: number; counts: Record<string, number> }[];
}

/** A key that is taken: `j`, or `g r`. */
interface Shortcut {
  keys: string;
  text: string;
  run: () => void;
}

/** Texts that the user has given, by param. */
type Given = Record<string, string>;

/** What the user gives for a param of a method. Others are attributes of the element. */
interface Field {
  label: string;
  param: string;
  /** That of the command line; empty for an argument without a name. */
  option?: string;
  /** Stands in the command line while nothing is given. */
  word?: string;
  /** What the field begins with. */
  value?: string;
  /** Makes the param of the text. */
  of?: (text: string) => any;
  isRequired?: boolean;
  tag?: 'input' | 'textarea';
  choices?: string[];
  /** Stands for no choice. */
  none?: string;
  [attribute: string]: any;
}

/** What a command is about. */
interface Target {
  id: string;
  text: string;
  /** Those of this one alone, such as the question that a decision answers, or the number that the dialog begins with. */
  params?: Record<string, any>;
  /** What a decision answers. */
  question?: string;
  /** What has to be known of its work before a decision; missing where nobody has asked for it. */
  findings?: string[];
}

/** What can be done to a run, a card, a loop or the service. */
interface Action {
  name: string;
  method: string;
  subject: 'run' | 'card' | 'loop' | 'service';
  tone?: string;
  reason: 'optional' | 'required';
  params?: Record<string, any>;
  /** One of them has to be given. */
  fields?: Field[];
  /** The param that has the fields, where it is one. */
  into?: string;
  /** May be given. */
  options?: Field[];
  says: string;
  /** The params of a target that say what is meant: no later question, failure or tick. */
  meant?: string[];
  command: (id: string, params?: Record<string, any>) => string;
  allows: (thing: any) => boolean;
}

/** What is known of the log, or wrong with it (server/console/proof/proof_words.js). */
type Verdict = 'checking' | 'proven' | 'new' | 'unseen' | 'unsigned' | 'silent' | 'insecure' | 'unchecked'
  | 'missing' | 'forged' | 'tiles' | 'older' | 'fork' | 'mixed';

/** What this browser knows of the log. */
interface Kept {
  key: string;
  /** That of the newest tree that was proven, as its root and time. */
  size: number;
  root: string;
  at: number;
  /** The time of the first visit. */
  first: number;
}

interface Proof {
  verdict: Verdict;
  /** That of the checkpoint. */
  size?: number;
  root?: string;
  key?: string;
  /** A key that isn't the kept one. */
  other?: string;
  note?: string;
  why?: string;
  kept?: Kept | null;
  checkedAt?: number;
  /** The position up to which it was proven before. */
  proven?: number;
  /** When the user has seen what is unchanged now. */
  since?: number;
}

/** What is found of one event. */
interface EventVerdict {
  verdict: 'proven' | 'tiles' | 'mixed' | 'later' | 'missing';
  why?: string;
}

/** A key that verifies: `NAME+ID+KEY` as text. */
interface Verifier {
  text: string;
  name: string;
  id: Uint8Array;
  key: CryptoKey;
}

/** A signed checkpoint, unverified. */
interface Checkpoint {
  text: string;
  origin: string;
  size: number;
  root: Uint8Array;
  signatures: { name: string; id: Uint8Array; bytes: Uint8Array<ArrayBuffer> }[];
}

/** The file that is shown instead of a service: one run, whose proofs were checked. */
interface Capsule {
  run_id: string;
  origin: string;
  size: number;
  records: number;
  artifacts: number;
  signature_checked: boolean;
}

/** Who the user is to the service, and which methods it has for them. */
interface Identity {
  actor: string;
  role: string;
  methods: string[];
  capsule?: Capsule;
}

/** A page, as the navigation, the keys and the search have it. */
interface Place {
  page: string;
  /** Follows `g`. */
  key: string;
  name: string;
  mark: string;
  /** Shows the same in a terminal. */
  command: string;
  /** A service without this method has no such page. */
  needs?: string;
}

/** A line of a plot. */
interface Stroke {
  /** A custom property of the style. */
  colour: string;
  width?: number;
  dash?: number[];
}

interface Axes {
  textX: (value: number) => string;
  textY: (value: number) => string;
  /** Returns where the times have texts, after the first, at most `count` and one more. */
  ticksX?: (first: number, span: number, count: number) => number[];
}

/** What a job printed: `text` has the bytes `from` to `next` of a stream that ends at `end` so far. */
interface Output {
  from: number;
  next: number;
  end: number;
  text: string;
  running: boolean;
  station: string;
  attempt: number;
}
