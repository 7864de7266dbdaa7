// Lets others have the processors first: those who look at a service aren't on its machine, but a bench's are.
import fs from 'node:fs';
import os from 'node:os';

const LEAST = 19;

const read = (path) => {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return '';  // it has ended, or this kernel has no such file
  }
};

/** Returns the processes that this one has begun, and those that they have. */
function processesBelow(root) {
  const parents = new Map();
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const parent = Number(read(`/proc/${pid}/stat`).split(') ').at(-1).split(' ')[1]);
    parents.set(parent, [...(parents.get(parent) ?? []), Number(pid)]);
  }
  const found = [root];
  for (const each of found) found.push(...(parents.get(each) ?? []));
  return found;
}

/** Gives all processes below `root`, but for `others`, the lowest priority. */
export function giveWay(root, others = []) {
  const own = read('/proc/self/autogroup').split(' ')[0];
  for (const pid of processesBelow(root).filter((each) => each !== process.pid && !others.includes(each))) {
    // Of a session of its own, only the priority of all of it counts (sched(7), autogrouping).
    const group = read(`/proc/${pid}/autogroup`);
    try {
      if (group && !group.startsWith(`${own} `) && !group.endsWith(`nice ${LEAST}\n`)) fs.writeFileSync(`/proc/${pid}/autogroup`, String(LEAST));
      for (const thread of fs.readdirSync(`/proc/${pid}/task`)) os.setPriority(Number(thread), LEAST);
    } catch {
      // It has ended.
    }
  }
}
