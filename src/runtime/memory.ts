import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const windowMs = 5_000;
/** Of one processor. */
const calmShare = 0.05;
const roomBytes = 8 * 2 ** 20;

/** Whether the heap is worth collecting now: not while there is work, and not for a little. */
export function isToCollect(busyShare: number, heapBytes: number, afterLastBytes: number): boolean {
  return busyShare < calmShare && heapBytes > 1.25 * afterLastBytes + roomBytes;
}

/**
 * After a burst, the first list of a large cluster say, V8 keeps several times of what is in use, and as long as little
 * happens it sees no reason to change that. So it is asked to, whenever it is calm again.
 */
export function givingMemoryBack(): Disposable {
  const collect = openCollection();
  let afterLastBytes = 0;
  let used = process.cpuUsage();
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(used);
    used = process.cpuUsage();
    const busyShare = (user + system) / 1000 / windowMs;
    if (!isToCollect(busyShare, heapBytes(), afterLastBytes)) return;
    collect();
    afterLastBytes = heapBytes();
  }, windowMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

const heapBytes = (): number => getHeapStatistics().total_heap_size;

/** `--expose-gc`, for a program that is not always started by its own script. */
export function openCollection(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}
